#include "executor/cuda/nccl_rank.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "executor/cuda/device_memory.h"
#include "executor/cuda/gpu_environment.h"
#include "executor/cuda/nccl_wire.h"
#include "executor/detail/frame.h"

namespace refit {
namespace {

using detail::put;
using detail::put_text;
using detail::take;
using detail::take_text;

enum class Submitted : std::uint32_t { iteration, environment };

void use_gpu(Rank self, int device) {
  const int devices = require_gpus();
  if (device < 0 || device >= devices) {
    throw Error(
        ErrorCode::environment,
        fmt::format("rank {} wants GPU {} and there are {}; start as many ranks per machine "
                    "as it has GPUs",
                    self.value, device, devices));
  }
  cuda_check(cudaSetDevice(device), "cudaSetDevice");
}

std::vector<Rank> all_ranks(int count) {
  std::vector<Rank> ranks;
  for (int r = 0; r < count; ++r) ranks.push_back(Rank(r));
  return ranks;
}

class NcclRank {
 public:
  NcclRank(const RunContext& context, const CudaOptions& options, const NcclSeat& seat,
           RankControl& control)
      : context_(context),
        options_(options),
        seat_(seat),
        control_(control),
        program_(rank_program(context.schedule, context.moves, control.rank())),
        memory_(context.refit, context.schedule, control.rank(), space_) {}

  void run() {
    try {
      connect();
      for (int i = 0; i < options_.run.warmup + options_.run.iterations; ++i) run_once(i);
      if (control_.rank() == Rank(0)) submit_environment();
      // Nobody leaves while another still talks to it.
      control_.barrier();
    } catch (const std::exception& error) {
      if (transport_) control_.note(transport_->report());
      if (!wire_ || wire_->is_broken()) await_cause();
      // Before anything is freed: kernels that wait for a peer would hold the device.
      if (wire_) wire_->abort(error.what());
      throw;
    }
  }

 private:
  void connect() {
    const Rank self = control_.rank();
    const std::string id =
        control_.all_gather(self == Rank(0) ? NcclWire::make_id() : std::string()).front();
    wire_.emplace(self, all_ranks(context_.schedule.ranks), std::max(context_.schedule.lanes, 1),
                  id, NcclWireOptions{options_.timeout_s, [this] { look(); }});
    const auto levels = move_levels(context_.schedule, context_.moves);
    transport_.emplace(context_.moves, waves_of(context_.schedule, context_.moves, levels, self),
                       self, *wire_, WaveOptions{options_.piece_bytes, options_.timeout_s});
  }

  // A look at the control connection costs a system call, and waits turn much faster than that.
  void look() {
    control_.turned();
    const double now = steady_clock_s();
    if (now < next_look_s_) return;
    next_look_s_ = now + control_.tick_s() / 10;
    control_.check();
  }

  // NCCL knows that some peer is gone, seldom which one; the control connection is about to know.
  void await_cause() {
    const double end = steady_clock_s() + 2 * control_.options().timeout_s;
    try {
      while (steady_clock_s() < end) {
        control_.turned();
        control_.check();
        detail::wait_readable(control_.fd(), control_.tick_s());
      }
    } catch (const Error&) {  // it knows
    }
  }

  void run_once(int i) {
    const std::uint64_t seed = options_.run.seed_of(i);
    control_.enter(RankPhase::preparing);
    memory_.prepare(seed);
    transport_->begin();
    const double start = control_.barrier();
    if (seat_.one_host) sleep_until(start);
    const double zero = seat_.one_host ? start : steady_clock_s();
    control_.enter(RankPhase::moving);
    memory_.copy_owned();
    Timeline timeline = run_rank(context_, program_, memory_, *transport_, zero);
    const double seconds = steady_clock_s() - zero;
    control_.barrier();  // a rank that checks may slow down those that still move
    control_.enter(RankPhase::checking);
    detail::RankIteration measured;
    measured.iteration = i;
    measured.seconds = seconds;
    if (options_.run.check) measured.wrong_bytes = memory_.count_wrong(seed, measured.examples);
    const WaveTimes times = transport_->take_times();
    use_device_times(context_.schedule, transport_->take_op_times(zero), timeline);
    if (i + 1 == options_.run.warmup + options_.run.iterations)
      measured.timeline = std::move(timeline);

    std::string out;
    put(out, Submitted::iteration);
    put(out, times);
    put(out, measured);
    control_.submit(out);
  }

  void submit_environment() {
    Facts facts = machine_environment();
    for (auto& fact : gpu_facts(seat_.device)) facts.push_back(std::move(fact));
    facts.emplace_back("nccl", nccl_version());
    for (auto& fact : nic_facts()) facts.push_back(std::move(fact));
    std::string out;
    put(out, Submitted::environment);
    for (const auto& [key, value] : facts) {
      put_text(out, key);
      put_text(out, value);
    }
    control_.submit(out);
  }

  const RunContext& context_;
  const CudaOptions& options_;
  const NcclSeat& seat_;
  RankControl& control_;
  RankProgram program_;
  DeviceMemory space_;
  RankMemory memory_;
  std::optional<NcclWire> wire_;
  std::optional<WaveTransport> transport_;
  double next_look_s_ = 0;
};

}  // namespace

void run_nccl_rank(const RunContext& context, const CudaOptions& options, const NcclSeat& seat,
                   RankControl& control) {
  control.enter(RankPhase::preparing);
  use_gpu(control.rank(), seat.device);
  NcclRank(context, options, seat, control).run();
}

NcclResults::NcclResults(const RunContext& context, const CudaOptions& options)
    : results_("nccl", context, options.run),
      times_(static_cast<std::size_t>(context.schedule.ranks)) {}

void NcclResults::add(Rank rank, std::string_view in) {
  if (take<Submitted>(in) == Submitted::iteration) {
    times_.at(rank.index()) = take<WaveTimes>(in);
    results_.add(rank, in);
    return;
  }
  while (!in.empty()) {
    std::string key = take_text(in);
    results_.measurement.environment.emplace_back(std::move(key), take_text(in));
  }
}

Measurement NcclResults::finish() {
  for (auto& fact : wave_facts(busiest(times_)))
    results_.measurement.environment.push_back(std::move(fact));
  return std::move(results_.measurement);
}

}  // namespace refit
