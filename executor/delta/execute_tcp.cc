#include <memory>
#include <optional>
#include <utility>

#include "executor/clock.h"
#include "executor/delta/delta_results.h"
#include "executor/delta/execute_delta.h"
#include "executor/delta/run_versions.h"
#include "executor/detail/tcp_rank.h"
#include "executor/processes.h"

namespace refit {
namespace {

class ProcessDeltaSeat : public DeltaSeat {
 public:
  ProcessDeltaSeat(const TcpOptions& tcp, RankControl& control) : tcp_(tcp), control_(control) {}

  std::vector<std::string> all_gather(std::string_view blob) override {
    return control_.all_gather(blob);
  }

  // Each version's moves have connections of their own: which ones are needed depends on sizes.
  Transport& connect(const RunContext& context) override {
    seat_.reset();
    seat_ = detail::tcp_seat(context, tcp_, control_);
    seat_->connect();
    seat_->begin_iteration();
    return seat_->transport();
  }

  double start() override {
    const double start = control_.barrier();
    // Without moves (through an object store) nobody has asked whether all are on one machine.
    if (!seat_) return steady_clock_s();
    if (seat_->one_host()) sleep_until(start);
    control_.enter(RankPhase::moving);
    return seat_->one_host() ? start : steady_clock_s();
  }

  void end() override {
    control_.barrier();
    control_.enter(RankPhase::checking);
  }

  void submit(std::string_view result) override { control_.submit(result); }

  RankReport report() { return seat_ ? seat_->report() : RankReport{}; }
  void await_cause() {
    if (seat_) seat_->await_cause();
  }

 private:
  const TcpOptions& tcp_;
  RankControl& control_;
  std::unique_ptr<detail::ProcessSeat> seat_;
};

void run_rank_process(const DeltaPlan& plan, const TcpOptions& tcp, RankControl& control) {
  ProcessDeltaSeat seat(tcp, control);
  try {
    control.enter(RankPhase::preparing);
    run_versions(plan, control.rank(), seat);
    control.barrier();  // nobody closes a connection that another still uses
  } catch (const std::exception& error) {
    // With the connections still open: closing them first would look like this rank's death.
    seat.await_cause();
    control.note(seat.report());
    throw RankFailure(control.agree(error).failure);
  }
}

DeltaMeasurement run(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                     const std::optional<RankEnvironment>& place, const DeltaRunOptions& options,
                     const TcpOptions& tcp) {
  mode_of(schedule);
  check_ranks(schedule, cluster, place);
  const DeltaGeometry geometry(refit, schedule, options.segment_elements);
  const Moves planned = write_out(schedule, refit, cluster, options.moves);
  const RunContext context{schedule, refit, cluster, planned};
  const DeltaPlan plan{schedule, refit, cluster, geometry, options};
  ProcessOptions processes;
  processes.network = tcp.network;
  processes.failure = tcp.failure;
  detail::DeltaResults results("tcp", context, options);
  run_processes(
      context, place, processes,
      [&](RankControl& control, RankNetwork& network) {
        TcpOptions own = tcp;
        own.network = &network;
        run_rank_process(plan, own, control);
      },
      [&](Rank rank, std::string_view blob) { results.add(rank, blob); });
  const bool has_all = !place || place->rank == Rank(0);
  return has_all ? results.put_together() : DeltaMeasurement{};
}

}  // namespace

DeltaMeasurement execute_delta_tcp(const Schedule& schedule, const Refit& refit,
                                   const Cluster& cluster, const DeltaRunOptions& options,
                                   const TcpOptions& tcp) {
  return run(schedule, refit, cluster, std::nullopt, options, tcp);
}

DeltaMeasurement execute_delta_tcp_rank(const RankEnvironment& place, const Schedule& schedule,
                                        const Refit& refit, const Cluster& cluster,
                                        const DeltaRunOptions& options, const TcpOptions& tcp) {
  return run(schedule, refit, cluster, place, options, tcp);
}

}  // namespace refit
