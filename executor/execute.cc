#include "executor/execute.h"

#include <memory>

#include "executor/inproc_transport.h"
#include "executor/thread_run.h"

namespace refit {
namespace {

class InprocSeat : public RankSeat {
 public:
  InprocSeat(InprocHub& hub, Rank rank) : hub_(hub), transport_(hub.transport(rank)) {}

  MemorySpace& memory() override { return host_memory(); }
  Transport& transport() override { return *transport_; }
  void begin_iteration() override { hub_.enter(); }
  void end_iteration(const Schedule&, double, OpTimes&) override { hub_.leave(); }

 private:
  InprocHub& hub_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace

Measurement execute_inproc(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                           const ExecuteOptions& options) {
  InprocHub hub(schedule.ranks);
  ThreadRunParts parts;
  parts.transport = "inproc";
  parts.seat = [&](Rank rank, const Moves&) { return std::make_unique<InprocSeat>(hub, rank); };
  parts.abort = [&](const std::string& reason) { hub.abort(reason); };
  return run_on_threads(schedule, refit, cluster, options, parts);
}

}  // namespace refit
