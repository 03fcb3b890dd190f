#include <memory>
#include <mutex>

#include "executor/cuda/device_memory.h"
#include "executor/cuda/execute_cuda.h"
#include "executor/cuda/gpu_environment.h"
#include "executor/cuda/local_wire.h"
#include "executor/cuda/wave_transport.h"
#include "executor/thread_run.h"

namespace refit {
namespace {

class VirtualRank : public RankSeat {
 public:
  VirtualRank(std::unique_ptr<Wire> wire, const Moves& moves, std::vector<Wave> waves, Rank rank,
              const WaveOptions& options, WaveTimes& times)
      : wire_(std::move(wire)),
        transport_(moves, std::move(waves), rank, *wire_, options),
        times_(times) {}

  MemorySpace& memory() override { return memory_; }
  Transport& transport() override { return transport_; }
  void begin_iteration() override { transport_.begin(); }
  void end_iteration(const Schedule& schedule, double clock_zero_s, OpTimes& times) override {
    times_ = transport_.take_times();
    use_device_times(schedule, transport_.take_op_times(clock_zero_s), times);
  }

 private:
  DeviceMemory memory_;
  std::unique_ptr<Wire> wire_;
  WaveTransport transport_;
  WaveTimes& times_;
};

}  // namespace

int count_gpus() { return require_gpus(); }

Measurement execute_cuda_local(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                               const CudaOptions& options) {
  require_gpus();
  LocalHub hub;
  std::once_flag leveled;
  std::vector<std::uint32_t> levels;
  std::vector<WaveTimes> times(static_cast<std::size_t>(schedule.ranks));
  ThreadRunParts parts;
  parts.transport = "cuda";
  parts.seat = [&](Rank rank, const Moves& moves) {
    cuda_check(cudaSetDevice(options.device), "cudaSetDevice");
    std::call_once(leveled, [&] { levels = move_levels(schedule, moves); });
    return std::make_unique<VirtualRank>(
        hub.wire(rank), moves, waves_of(schedule, moves, levels, rank), rank,
        WaveOptions{options.piece_bytes, options.timeout_s}, times[rank.index()]);
  };
  parts.abort = [&](const std::string& reason) { hub.abort(reason); };
  Measurement result = run_on_threads(schedule, refit, cluster, options.run, parts);
  for (auto& fact : gpu_facts(options.device)) result.environment.push_back(std::move(fact));
  for (auto& fact : wave_facts(busiest(times))) result.environment.push_back(std::move(fact));
  return result;
}

}  // namespace refit
