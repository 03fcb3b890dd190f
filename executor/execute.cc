#include "executor/execute.h"

#include <memory>

#include "executor/inproc_transport.h"
#include "executor/thread_run.h"

namespace refit {
namespace {

class InprocSeat : public RankSeat {
 public:
  explicit InprocSeat(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  MemorySpace& memory() override { return host_memory(); }
  Transport& transport() override { return *transport_; }

 private:
  std::unique_ptr<Transport> transport_;
};

}  // namespace

Measurement execute_inproc(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                           const ExecuteOptions& options) {
  InprocHub hub(schedule.ranks);
  ThreadRunParts parts;
  parts.transport = "inproc";
  parts.seat = [&](Rank rank, const Moves&) {
    return std::make_unique<InprocSeat>(hub.transport(rank));
  };
  parts.abort = [&](const std::string& reason) { hub.abort(reason); };
  return run_on_threads(schedule, refit, cluster, options, parts);
}

}  // namespace refit
