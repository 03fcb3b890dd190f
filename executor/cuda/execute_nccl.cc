#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "executor/cuda/device_memory.h"
#include "executor/cuda/execute_cuda.h"
#include "executor/cuda/gpu_environment.h"
#include "executor/cuda/nccl_wire.h"
#include "executor/cuda/wave_transport.h"
#include "executor/run_rank.h"

namespace refit {
namespace {

template <class Value>
void append(std::string& text, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Value>
Value take(std::string_view& text) {
  Value value;
  REFIT_CHECK(text.size() >= sizeof value);
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return value;
}

// What one rank tells the others after an iteration. All run the same program on machines of one
// kind, so bytes as they are will do.
struct Outcome {
  double seconds = 0;
  std::int64_t wrong_bytes = 0;
  WaveTimes times;
  std::vector<WrongByte> examples;
  Timeline timeline;

  std::string encode() const {
    std::string text;
    append(text, seconds);
    append(text, wrong_bytes);
    append(text, times);
    append(text, examples.size());
    for (const WrongByte& example : examples) {
      append(text, example.rank);
      append(text, example.element);
      append(text, example.tensor.size());
      text += example.tensor;
    }
    append(text, timeline.size());
    for (const Span& span : timeline) append(text, span);
    return text;
  }

  static Outcome decode(std::string_view text) {
    Outcome outcome;
    outcome.seconds = take<double>(text);
    outcome.wrong_bytes = take<std::int64_t>(text);
    outcome.times = take<WaveTimes>(text);
    for (auto left = take<std::size_t>(text); left > 0; --left) {
      WrongByte example;
      example.rank = take<Rank>(text);
      example.element = take<std::int64_t>(text);
      const auto length = take<std::size_t>(text);
      REFIT_CHECK(length <= text.size());
      example.tensor = text.substr(0, length);
      text.remove_prefix(length);
      outcome.examples.push_back(std::move(example));
    }
    const auto spans = take<std::size_t>(text);
    REFIT_CHECK(spans * sizeof(Span) == text.size());
    for (std::size_t i = 0; i < spans; ++i) outcome.timeline.push_back(take<Span>(text));
    return outcome;
  }
};

class NcclRun {
 public:
  NcclRun(const Schedule& schedule, const Refit& refit, const Cluster& cluster, Rank self,
          const Gathering& gathering, const CudaOptions& options)
      : schedule_(schedule),
        self_(self),
        gathering_(gathering),
        options_(options),
        moves_(write_out(schedule, refit, cluster, options.run.moves)),
        context_{schedule, refit, cluster, moves_},
        program_(rank_program(schedule, moves_, self)),
        memory_(refit, schedule, self, space_),
        wire_(self, schedule.ranks, std::max(schedule.lanes, 1), shared_id(),
              NcclWireOptions{options.timeout_s, gathering.check}),
        transport_(moves_, waves_of(schedule, moves_, move_levels(schedule, moves_), self), self,
                   wire_, WaveOptions{options.piece_bytes, options.timeout_s}) {}

  Measurement run() {
    result_.transport = "nccl";
    result_.ranks = schedule_.ranks;
    result_.largest_rank_bytes = largest_rank_bytes(moves_, schedule_.ranks);
    try {
      for (int i = 0; i < options_.run.warmup + options_.run.iterations; ++i) run_once(i);
    } catch (const std::exception& error) {
      // Before anything is freed: kernels that wait for a peer would hold the device.
      wire_.abort(error.what());
      throw;
    }
    return std::move(result_);
  }

 private:
  std::string shared_id() const {
    return gathering_.all_gather(self_ == Rank(0) ? NcclWire::make_id() : std::string()).front();
  }

  void run_once(int i) {
    const std::uint64_t seed = options_.run.seed * 1000003 + static_cast<std::uint64_t>(i);
    memory_.prepare(seed);
    gathering_.all_gather("");
    const double begin = steady_clock_s();
    memory_.copy_owned();
    Outcome mine;
    mine.timeline = run_rank(context_, program_, memory_, transport_, begin);
    mine.seconds = steady_clock_s() - begin;
    mine.times = transport_.take_times();
    if (options_.run.check) mine.wrong_bytes = memory_.count_wrong(seed, mine.examples);
    merge(i, gathering_.all_gather(mine.encode()));
  }

  void merge(int i, const std::vector<std::string>& outcomes) {
    Iteration now;
    Timeline timeline(schedule_.ops.size());
    std::vector<WaveTimes> times;
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      const Outcome outcome = Outcome::decode(outcomes[r]);
      if (outcome.seconds > now.seconds) {
        now.seconds = outcome.seconds;
        now.slowest = Rank(static_cast<std::int64_t>(r));
      }
      now.wrong_bytes += outcome.wrong_bytes;
      for (const WrongByte& example : outcome.examples) {
        if (result_.wrong_examples.size() < kMostExamples)
          result_.wrong_examples.push_back(example);
      }
      merge_timeline(outcome.timeline, timeline);
      times.push_back(outcome.times);
    }
    result_.wrong_bytes += now.wrong_bytes;
    if (i < options_.run.warmup) return;
    result_.iterations.push_back(now);
    result_.timeline = std::move(timeline);
    result_.environment = wave_facts(busiest(times));
  }

  const Schedule& schedule_;
  Rank self_;
  const Gathering& gathering_;
  const CudaOptions& options_;
  Moves moves_;
  RunContext context_;
  RankProgram program_;
  DeviceMemory space_;
  RankMemory memory_;
  NcclWire wire_;
  WaveTransport transport_;
  Measurement result_;
};

}  // namespace

Measurement execute_nccl(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         Rank self, const Gathering& gathering, const CudaOptions& options) {
  const int devices = require_gpus();
  if (options.device < 0 || options.device >= devices) {
    throw Error(
        ErrorCode::environment,
        fmt::format("rank {} wants GPU {} and there are {}; start as many ranks per machine "
                    "as it has GPUs",
                    self.value, options.device, devices));
  }
  cuda_check(cudaSetDevice(options.device), "cudaSetDevice");
  Measurement result = NcclRun(schedule, refit, cluster, self, gathering, options).run();
  Facts facts = machine_environment();
  for (auto& fact : gpu_facts(options.device)) facts.push_back(std::move(fact));
  facts.emplace_back("nccl", nccl_version());
  for (auto& fact : result.environment) facts.push_back(std::move(fact));
  result.environment = std::move(facts);
  std::string text;
  for (const auto& [key, value] : result.environment) text += key + '\n' + value + '\n';
  result.environment.clear();
  std::string first = gathering.all_gather(text).front();
  for (std::size_t at = 0; at < first.size();) {
    const std::size_t key_end = first.find('\n', at), value_end = first.find('\n', key_end + 1);
    result.environment.emplace_back(first.substr(at, key_end - at),
                                    first.substr(key_end + 1, value_end - key_end - 1));
    at = value_end + 1;
  }
  return result;
}

}  // namespace refit
