#include "executor/detail/process_rank.h"

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "executor/detail/rank_results.h"
#include "executor/fault_trigger.h"
#include "schedule/recovery.h"

namespace refit::detail {
namespace {

// What every rank has by transfers. A collective's bytes lie in a bucket until all of them are
// there; what it brought counts as missing.
Holdings holdings_of(const RunContext& context, const std::vector<RankReport>& reports) {
  Holdings holdings(context.schedule.parcels);
  for (std::size_t m = 0; m < context.moves.moves.size(); ++m) {
    const Move& move = context.moves.moves[m];
    const Op& op = context.schedule.ops[move.op.index()];
    if (op.kind == OpKind::transfer && reports[move.dst.index()].has(m))
      holdings.add(context.schedule, op, move.dst);
  }
  return holdings;
}

// Survivors can't complete the refit: some bytes were with the lost rank alone.
RankFailure unserved(Failure loss, const std::vector<std::string>& tensors) {
  loss.code = ErrorCode::check_failed;
  loss.reason = fmt::format(
      "{}; no other rank has all bytes of {}: the refit is not complete, destinations are not "
      "committed",
      loss.reason, fmt::join(tensors, ", "));
  return RankFailure(std::move(loss));
}

class ProcessRank {
 public:
  ProcessRank(const RunContext& context, const ExecuteOptions& options, const LossOptions& loss,
              RankControl& control, ProcessSeat& seat)
      : context_(context), options_(options), loss_(loss), control_(control), seat_(seat) {}

  void run() {
    std::optional<RankMemory> memory;
    Verdict verdict;
    try {
      seat_.connect();
      control_.enter(RankPhase::preparing);
      memory.emplace(context_.refit, context_.schedule, control_.rank(), seat_.memory(), true);
      const RankProgram program = rank_program(context_.schedule, context_.moves, control_.rank());
      for (int i = 0; i < options_.warmup + options_.iterations; ++i) run_once(i, program, *memory);
      leave();
      return;
    } catch (const std::exception& error) {
      // With the connections still open: closing them first would look like this rank's death to
      // peers that know nothing yet.
      seat_.await_cause();
      RankReport report = seat_.report();
      report.resumable = resumable_;
      control_.note(std::move(report));
      verdict = control_.agree(error);
      if (verdict.reports.empty()) abort(verdict.failure, memory);
    }
    // All survivors have the verdict coming: nobody reads the old connections any more.
    try {
      complete(verdict, *memory);
    } catch (const std::exception& error) {
      const bool is_verdict = dynamic_cast<const RankFailure*>(&error) != nullptr;
      if (!is_verdict) seat_.await_cause();
      control_.note({});
      abort(control_.agree(error).failure, memory);
    }
  }

 private:
  [[noreturn]] void abort(const Failure& failure, const std::optional<RankMemory>& memory) {
    seat_.abort(failure.reason);
    if (loss_.aborted && memory) loss_.aborted(*memory, committed_seed_);
    throw RankFailure(failure);
  }

  void leave() {
    submit_of_seat(seat_.facts());
    // Nobody closes a connection that another still uses.
    control_.barrier();
  }

  // Brings what is missing from ranks that live. Every survivor makes the same plan.
  void complete(const Verdict& verdict, RankMemory& memory) {
    control_.enter(RankPhase::preparing);
    const bool anew = loss_.policy == FaultPolicy::rebuild;
    std::vector<bool> lost(static_cast<std::size_t>(context_.schedule.ranks), false);
    lost[verdict.failure.rank.index()] = true;
    const Recovery recovery = plan_recovery(
        context_.schedule, context_.refit, context_.cluster, lost,
        anew ? Holdings(context_.schedule.parcels) : holdings_of(context_, verdict.reports));
    if (!recovery.unserved.empty()) throw unserved(verdict.failure, recovery.unserved);

    const Moves moves =
        write_out(recovery.schedule, context_.refit, context_.cluster, options_.moves);
    const RunContext context{recovery.schedule, context_.refit, context_.cluster, moves};
    seat_.reconnect(context, verdict.failure.rank);
    const double reconnected_s = steady_clock_s();
    memory.follow(recovery.schedule);
    const RankProgram program = rank_program(recovery.schedule, moves, control_.rank());
    control_.enter(RankPhase::moving);
    // A rank that was still at the start counts from the loss; others have seen more of it.
    if (!started_s_) memory.copy_owned();
    const double zero = started_s_.value_or(verdict.noticed_s);
    OpTimes times = run_rank(context, program, memory, seat_.transport(), zero);
    const double seconds = steady_clock_s() - zero;
    const double cpu = process_cpu_s() - cpu_begin_s_;
    control_.barrier();

    control_.enter(RankPhase::checking);
    seat_.end_iteration(recovery.schedule, zero, times);
    const RankReport report = seat_.report();
    RankFault fault{*resumable_,
                    verdict.failure.rank,
                    verdict.failure.reason,
                    verdict.noticed_s - zero,
                    reconnected_s - zero,
                    0,
                    recovery.dropped};
    for (std::size_t m = 0; m < moves.moves.size(); ++m)
      if (report.has(m)) fault.recovered_bytes += moves.moves[m].bytes();
    control_.submit(submission(fault));
    check_and_submit({*resumable_, seconds, cpu, 0, {}, {}}, memory);
    leave();
  }

  void run_once(int i, const RankProgram& program, RankMemory& memory) {
    control_.enter(RankPhase::preparing);
    memory.prepare(options_.seed_of(i));
    seat_.begin_iteration();
    cpu_begin_s_ = process_cpu_s();
    started_s_.reset();
    if (loss_.goes_on()) resumable_ = i;

    // On one host the steady clock (CLOCK_MONOTONIC) is common to all processes, in any network
    // namespace: all start at one moment, and times of different ranks can be compared. Across
    // hosts each rank counts from when it hears the start; then durations are right, and the
    // timeline is shifted by how long the start took to arrive.
    const double start = control_.barrier();
    if (seat_.one_host()) sleep_until(start);
    const double zero = seat_.one_host() ? start : steady_clock_s();
    control_.enter(RankPhase::moving);
    cpu_begin_s_ = process_cpu_s();
    started_s_ = zero;
    const std::unique_ptr<FaultTrigger> fault = injected(i, zero);
    memory.copy_owned();
    OpTimes times = run_rank(context_, program, memory, seat_.transport(), zero);
    const double seconds = steady_clock_s() - zero;
    const double cpu = process_cpu_s() - cpu_begin_s_;
    control_.barrier();  // a rank that checks would take processor time from those that still move
    resumable_.reset();

    control_.enter(RankPhase::checking);
    seat_.end_iteration(context_.schedule, zero, times);
    const bool last = i + 1 == options_.warmup + options_.iterations;
    check_and_submit({i, seconds, cpu, 0, {}, last ? std::move(times) : OpTimes{}}, memory);
  }

  // The fault that is to come over this rank, if there is one, in the first timed iteration.
  std::unique_ptr<FaultTrigger> injected(int i, double zero) {
    const auto& fault = loss_.inject;
    if (!fault || i != options_.warmup || fault->rank != control_.rank()) return nullptr;
    const auto act = [this, fault = *fault] {
      if (fault.kind == FaultKind::dark) return seat_.darken(fault);
      kill(getpid(), fault.kind == FaultKind::killed ? SIGKILL : SIGSTOP);
    };
    if (fault->at_s > 0) return std::make_unique<FaultTrigger>(zero + fault->at_s, act);
    act();  // a thread might come too late for a refit of microseconds
    return nullptr;
  }

  void submit_of_seat(const std::string& words) {
    if (!words.empty()) control_.submit(submission(words));
  }

  // Weights are committed on all ranks or on none.
  void check_and_submit(RankIteration measured, RankMemory& memory) {
    const std::uint64_t seed = options_.seed_of(measured.iteration);
    if (options_.check) measured.wrong_bytes = memory.count_wrong(seed, measured.examples);
    control_.submit(submission(measured));
    submit_of_seat(seat_.measured());
    if (control_.sum(static_cast<double>(measured.wrong_bytes)) > 0) return;
    memory.commit();
    committed_seed_ = seed;
  }

  const RunContext& context_;
  const ExecuteOptions& options_;
  const LossOptions& loss_;
  RankControl& control_;
  ProcessSeat& seat_;
  // The iteration whose sources are filled and whose bytes are not checked yet: a lost rank can be
  // done without.
  std::optional<std::int32_t> resumable_;
  std::optional<double> started_s_;  // when its moves began
  double cpu_begin_s_ = 0;
  std::optional<std::uint64_t> committed_seed_;
};

}  // namespace

void run_process_rank(const RunContext& context, const ExecuteOptions& options,
                      const LossOptions& loss, RankControl& control, ProcessSeat& seat) {
  ProcessRank(context, options, loss, control, seat).run();
}

}  // namespace refit::detail
