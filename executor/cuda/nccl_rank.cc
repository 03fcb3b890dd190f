#include "executor/cuda/nccl_rank.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "executor/cuda/device_memory.h"
#include "executor/cuda/gpu_environment.h"
#include "executor/cuda/nccl_wire.h"
#include "executor/detail/frame.h"
#include "executor/detail/process_rank.h"

namespace refit {
namespace {

using detail::put;
using detail::put_text;
using detail::take;
using detail::take_text;

// What a seat tells its results.
enum class Told : std::uint32_t { times, facts };

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

class NcclSeat : public detail::ProcessSeat {
 public:
  NcclSeat(const RunContext& context, const CudaOptions& options, const NcclPlace& place,
           RankControl& control)
      : context_(context), options_(options), place_(place), control_(control) {}

  void connect() override {
    const std::vector<Rank> all = all_ranks(context_.schedule.ranks);
    wire_.emplace(self(), all, lanes_of(context_), shared_id(all.front()),
                  NcclWireOptions{options_.timeout_s, [this] { look(); }, context_.schedule.ctas});
    make_transport(context_);
  }

  void reconnect(const RunContext& recovery, Rank lost) override {
    std::vector<Rank> rest = wire_->members();
    std::erase(rest, lost);
    if (options_.policy == FaultPolicy::shrink && shrink(lost, rest, lanes_of(recovery))) {
      how_ = "smaller by ncclCommShrink after the loss";
    } else {
      wire_->rebuild(rest, lanes_of(recovery), shared_id(rest.front()));
      how_ = "made anew after the loss";
    }
    // What was broken off may still be unpacked, into memory that the recovery is about to fill.
    waves_->drain();
    make_transport(recovery);
  }

  bool one_host() const override { return place_.one_host; }
  MemorySpace& memory() override { return space_; }
  Transport& transport() override { return *transport_; }
  void begin_iteration() override { waves_->begin(); }

  void end_iteration(const Schedule& schedule, double zero_s, OpTimes& times) override {
    times_ = waves_->take_times();
    use_device_times(schedule, waves_->take_op_times(zero_s), times);
  }

  RankReport report() override { return waves_ != nullptr ? waves_->report() : RankReport{}; }

  // NCCL knows that some peer is gone, seldom which one; the control connection is about to know.
  void await_cause() override {
    if (wire_ && !wire_->is_broken()) return;
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

  // Before anything is freed: kernels that wait for a peer would hold the device.
  void abort(const std::string& reason) noexcept override {
    if (wire_) wire_->abort(reason);
  }

  std::string measured() override {
    std::string out;
    put(out, Told::times);
    put(out, times_);
    return out;
  }

  std::string facts() override {
    if (self() != wire_->members().front()) return {};
    Facts facts = gpu_facts(place_.device);
    facts.emplace_back("nccl", nccl_version());
    for (auto& fact : nic_facts()) facts.push_back(std::move(fact));
    if (!how_.empty()) facts.emplace_back("communicators", how_);
    std::string out;
    put(out, Told::facts);
    for (const auto& [key, value] : facts) {
      put_text(out, key);
      put_text(out, value);
    }
    return out;
  }

 private:
  Rank self() const { return control_.rank(); }
  static int lanes_of(const RunContext& plan) { return std::max(plan.schedule.lanes, 1); }

  std::string shared_id(Rank maker) {
    return control_.all_gather(self() == maker ? NcclWire::make_id() : std::string())
        .at(maker.index());
  }

  bool all_say(const std::vector<Rank>& rest, bool yes) {
    return control_.sum(yes ? 1 : 0) == static_cast<double>(rest.size());
  }

  // False on all survivors if it can't be done on one.
  bool shrink(Rank lost, const std::vector<Rank>& rest, int lanes) {
    wire_->revoke();
    if (!all_say(rest, wire_->can_shrink())) return false;
    bool done = true;
    try {
      wire_->shrink({lost}, lanes);
    } catch (const Error&) {
      done = false;
    }
    return all_say(rest, done);
  }

  void make_transport(const RunContext& plan) {
    const auto levels = move_levels(plan.schedule, plan.moves);
    waves_ = nullptr;
    transport_.reset();
    auto waves = std::make_unique<WaveTransport>(
        plan.moves, waves_of(plan.schedule, plan.moves, levels, self()), self(), *wire_,
        WaveOptions{options_.piece_bytes, options_.timeout_s});
    waves_ = waves.get();
    transport_ = options_.wrapped(self(), std::move(waves));
  }

  // A look at the control connection costs a system call, and waits turn much faster than that.
  void look() {
    control_.turned();
    const double now = steady_clock_s();
    if (now < next_look_s_) return;
    next_look_s_ = now + control_.tick_s() / 10;
    control_.check();
  }

  const RunContext& context_;
  const CudaOptions& options_;
  const NcclPlace& place_;
  RankControl& control_;
  DeviceMemory space_;
  std::optional<NcclWire> wire_;
  std::unique_ptr<Transport> transport_;
  WaveTransport* waves_ = nullptr;
  WaveTimes times_;
  std::string how_;  // communicators were made after a loss
  double next_look_s_ = 0;
};

}  // namespace

void run_nccl_rank(const RunContext& context, const CudaOptions& options, const NcclPlace& place,
                   RankControl& control) {
  control.enter(RankPhase::preparing);
  use_gpu(control.rank(), place.device);
  NcclSeat seat(context, options, place, control);
  detail::run_process_rank(context, options.run, options, control, seat);
}

NcclResults::NcclResults(const RunContext& context, const CudaOptions& options)
    : RankResults("nccl", context, options.run, options.policy),
      times_(static_cast<std::size_t>(context.schedule.ranks)) {}

void NcclResults::add_of_seat(Rank rank, std::string_view in) {
  if (take<Told>(in) == Told::times) {
    times_.at(rank.index()) = take<WaveTimes>(in);
    return;
  }
  while (!in.empty()) {
    std::string key = take_text(in);
    measurement_.environment.emplace_back(std::move(key), take_text(in));
  }
}

Measurement NcclResults::finish() {
  for (auto& fact : wave_facts(busiest(times_)))
    measurement_.environment.push_back(std::move(fact));
  return RankResults::finish();
}

}  // namespace refit
