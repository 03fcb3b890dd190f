#include "executor/detail/tcp_rank.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "executor/detail/frame.h"
#include "executor/detail/open_links.h"
#include "executor/fault_trigger.h"
#include "executor/tcp_transport.h"
#include "schedule/recovery.h"

namespace refit::detail {
namespace {

enum class Submitted : std::uint32_t { iteration, fault };

void add_needs(const RunContext& context, Rank rank, std::set<LinkNeed>& needs) {
  for (const std::uint32_t m : context.moves.of_rank.of(rank)) {
    const Move& move = context.moves.moves[m];
    const Rank peer = move.src == rank ? move.dst : move.src;
    needs.insert({context.schedule.ops[move.op.index()].lane, peer,
                  context.cluster.domain(peer) == context.cluster.domain(rank)});
  }
}

// What every rank has by transfers. A collective's bytes lie in a bucket until all of them are
// there; what it brought counts as missing.
Holdings holdings_of(const RunContext& context, const std::vector<RankReport>& reports) {
  Holdings holdings(context.schedule.parcels);
  for (std::size_t m = 0; m < context.moves.moves.size(); ++m) {
    const Move& move = context.moves.moves[m];
    const Op& op = context.schedule.ops[move.op.index()];
    const auto& received = reports[move.dst.index()].received;
    if (op.kind != OpKind::transfer || m / 64 >= received.size()) continue;
    if (received[m / 64] >> (m % 64) & 1) holdings.add(context.schedule, op, move.dst);
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

class TcpRank {
 public:
  TcpRank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
          RankControl& control)
      : context_(context), options_(options), tcp_options_(tcp), control_(control) {
    std::set<LinkNeed> needs;
    add_needs(context, control.rank(), needs);
    connect(needs, context.moves.moves.size());
  }
  ~TcpRank() { control_.while_waiting(nullptr); }
  TcpRank(const TcpRank&) = delete;
  TcpRank& operator=(const TcpRank&) = delete;

  void run() {
    std::optional<RankMemory> memory;
    Verdict verdict;
    try {
      control_.enter(RankPhase::preparing);
      memory.emplace(context_.refit, context_.schedule, control_.rank(), host_memory(), true);
      const RankProgram program = rank_program(context_.schedule, context_.moves, control_.rank());
      for (int i = 0; i < options_.warmup + options_.iterations; ++i) run_once(i, program, *memory);
      // Nobody closes a connection that another still reads.
      control_.barrier();
      return;
    } catch (const std::exception& error) {
      // With the connections still open: closing them first would look like this rank's death to
      // peers that know nothing yet.
      RankReport report = tcp_->report();
      report.resumable = resumable_;
      report.unreachable = unreachable_suspects();
      control_.note(std::move(report));
      verdict = control_.agree(error);
      if (verdict.reports.empty()) abort(verdict.failure, memory);
    }
    // All survivors have the verdict coming: nobody reads the old connections any more.
    try {
      complete(verdict, *memory);
    } catch (const std::exception& error) {
      control_.note({});
      abort(control_.agree(error).failure, memory);
    }
  }

 private:
  [[noreturn]] void abort(const Failure& failure, const std::optional<RankMemory>& memory) const {
    if (tcp_options_.aborted && memory) tcp_options_.aborted(*memory, committed_seed_);
    throw RankFailure(failure);
  }

  void connect(const std::set<LinkNeed>& needs, std::size_t moves) {
    control_.while_waiting(nullptr);
    transport_.reset();
    OpenLinks opened =
        open_links(control_, *tcp_options_.network, {needs.begin(), needs.end()},
                   {tcp_options_.socket_buffer_bytes, tcp_options_.congestion_control});
    one_host_ = opened.one_host;
    auto transport =
        std::make_unique<TcpTransport>(control_.rank(), std::move(opened.links), moves, &control_);
    tcp_ = transport.get();
    transport_ = std::move(transport);
    if (tcp_options_.wrap) transport_ = tcp_options_.wrap(control_.rank(), std::move(transport_));
    control_.while_waiting([this] { tcp_->check_links(); });
  }

  // Of two ranks whose connection broke: whom this one can't reach on that kind of link either.
  std::vector<Rank> unreachable_suspects() const {
    std::vector<Rank> unreachable;
    const std::vector<Rank>& suspects = control_.suspects();
    if (suspects.size() != 2) return unreachable;
    const auto domain = [&](Rank rank) { return context_.cluster.domain(rank); };
    const bool by_nvlink = domain(suspects[0]) == domain(suspects[1]);
    if (by_nvlink && domain(control_.rank()) != domain(suspects[0])) return unreachable;
    for (const Rank rank : suspects) {
      if (rank == control_.rank()) return {};
      if (!tcp_options_.network->reaches(rank, by_nvlink)) unreachable.push_back(rank);
    }
    return unreachable;
  }

  // Brings what is missing from ranks that live. Every survivor makes the same plan.
  void complete(const Verdict& verdict, RankMemory& memory) {
    control_.enter(RankPhase::preparing);
    const bool anew = tcp_options_.policy == FaultPolicy::rebuild;
    const Rank gone = verdict.failure.rank;
    std::vector<bool> lost(static_cast<std::size_t>(context_.schedule.ranks), false);
    lost[gone.index()] = true;
    const Recovery recovery = plan_recovery(
        context_.schedule, context_.refit, context_.cluster, lost,
        anew ? Holdings(context_.schedule.parcels) : holdings_of(context_, verdict.reports));
    if (!recovery.unserved.empty()) throw unserved(verdict.failure, recovery.unserved);

    const Moves moves =
        write_out(recovery.schedule, context_.refit, context_.cluster, options_.moves);
    const RunContext context{recovery.schedule, context_.refit, context_.cluster, moves};
    std::set<LinkNeed> needs;
    if (anew) add_needs(context_, control_.rank(), needs);
    add_needs(context, control_.rank(), needs);
    std::erase_if(needs, [&](const LinkNeed& need) { return need.peer == gone; });
    connect(needs, moves.moves.size());
    reconnected_s_ = steady_clock_s();
    memory.follow(recovery.schedule);
    const RankProgram program = rank_program(recovery.schedule, moves, control_.rank());
    control_.enter(RankPhase::moving);
    // A rank that was still at the start counts from the loss; others have seen more of it.
    if (!started_s_) memory.copy_owned();
    const double zero = started_s_.value_or(verdict.noticed_s);
    run_rank(context, program, memory, *transport_, zero);
    const double seconds = steady_clock_s() - zero;
    const double cpu = process_cpu_s() - cpu_begin_s_;
    control_.barrier();

    control_.enter(RankPhase::checking);
    submit(verdict, zero, recovery.dropped, moves);
    check_and_submit({*resumable_, seconds, cpu, 0, {}, {}}, memory);
    // As in run().
    control_.barrier();
  }

  void run_once(int i, const RankProgram& program, RankMemory& memory) {
    control_.enter(RankPhase::preparing);
    memory.prepare(options_.seed_of(i));
    tcp_->begin(static_cast<std::uint32_t>(i));
    cpu_begin_s_ = process_cpu_s();
    started_s_.reset();
    if (tcp_options_.policy != FaultPolicy::fail) resumable_ = i;

    // On one host the steady clock (CLOCK_MONOTONIC) is common to all processes, in any network
    // namespace: all start at one moment, and times of different ranks can be compared. Across
    // hosts each rank counts from when it hears the start; then durations are right, and the
    // timeline is shifted by how long the start took to arrive.
    const double start = control_.barrier();
    if (one_host_) sleep_until(start);
    const double zero = one_host_ ? start : steady_clock_s();
    control_.enter(RankPhase::moving);
    cpu_begin_s_ = process_cpu_s();
    started_s_ = zero;
    const std::unique_ptr<FaultTrigger> fault = injected(i, zero);
    memory.copy_owned();
    Timeline timeline = run_rank(context_, program, memory, *transport_, zero);
    const double seconds = steady_clock_s() - zero;
    const double cpu = process_cpu_s() - cpu_begin_s_;
    control_.barrier();  // a rank that checks would take processor time from those that still move
    resumable_.reset();

    control_.enter(RankPhase::checking);
    const bool last = i + 1 == options_.warmup + options_.iterations;
    check_and_submit({i, seconds, cpu, 0, {}, last ? std::move(timeline) : Timeline{}}, memory);
  }

  // The fault that is to come over this rank, if there is one, in the first timed iteration.
  std::unique_ptr<FaultTrigger> injected(int i, double zero) {
    const auto& fault = tcp_options_.inject;
    if (!fault || i != options_.warmup || fault->rank != control_.rank()) return nullptr;
    const auto act = [this, fault = *fault] {
      if (fault.kind != FaultKind::dark) {
        kill(getpid(), fault.kind == FaultKind::killed ? SIGKILL : SIGSTOP);
        return;
      }
      if (fault.place != FaultPlace::nvlink) tcp_options_.network->darken(fault.rank, false);
      if (fault.place != FaultPlace::nic && context_.cluster.nvlink_out(fault.rank))
        tcp_options_.network->darken(fault.rank, true);
    };
    if (fault->at_s > 0) return std::make_unique<FaultTrigger>(zero + fault->at_s, act);
    act();  // a thread might come too late for a refit of microseconds
    return nullptr;
  }

  // Weights are committed on all ranks or on none.
  void check_and_submit(RankIteration measured, RankMemory& memory) {
    const std::uint64_t seed = options_.seed_of(measured.iteration);
    if (options_.check) measured.wrong_bytes = memory.count_wrong(seed, measured.examples);
    std::string out;
    put(out, Submitted::iteration);
    put(out, measured);
    control_.submit(out);
    if (control_.sum(static_cast<double>(measured.wrong_bytes)) > 0) return;
    memory.commit();
    committed_seed_ = seed;
  }

  void submit(const Verdict& verdict, double zero, const std::vector<Rank>& dropped,
              const Moves& moves) {
    const RankReport report = tcp_->report();
    std::int64_t bytes = 0;
    for (std::size_t m = 0; m < moves.moves.size(); ++m)
      if (report.received[m / 64] >> (m % 64) & 1) bytes += moves.moves[m].bytes();
    std::string out;
    put(out, Submitted::fault);
    put(out, *resumable_);
    put(out, verdict.failure.rank);
    put_text(out, verdict.failure.reason);
    put(out, verdict.noticed_s - zero);
    put(out, reconnected_s_ - zero);
    put(out, bytes);
    for (const Rank rank : dropped) put(out, rank);
    control_.submit(out);
  }

  const RunContext& context_;
  const ExecuteOptions& options_;
  const TcpOptions& tcp_options_;
  RankControl& control_;
  bool one_host_ = false;
  // The iteration whose sources are filled and whose bytes are not checked yet: a lost rank can be
  // done without.
  std::optional<std::int32_t> resumable_;
  std::optional<double> started_s_;  // when its moves began
  double cpu_begin_s_ = 0;
  std::optional<std::uint64_t> committed_seed_;
  double reconnected_s_ = 0;  // after a loss
  std::unique_ptr<Transport> transport_;
  TcpTransport* tcp_ = nullptr;
};

}  // namespace

void run_tcp_rank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
                  RankControl& control) {
  TcpRank(context, options, tcp, control).run();
}

TcpResults::TcpResults(const RunContext& context, const ExecuteOptions& options, FaultPolicy policy)
    : warmup_(options.warmup), policy_(policy), results_("tcp", context, options) {
  results_.measurement.environment = machine_environment();
}

void TcpResults::add_fault(std::string_view in) {
  const auto i = std::max(0, take<std::int32_t>(in) - warmup_);
  Measurement& result = results_.measurement;
  FaultRecord fault;
  fault.policy = policy_;
  fault.lost = take<Rank>(in);
  fault.reason = take_text(in);
  fault.detected_s = take<double>(in);
  fault.reconnected_s = take<double>(in);
  fault.recovered_bytes = take<std::int64_t>(in);
  while (!in.empty()) fault.dropped.push_back(take<Rank>(in));
  if (result.fault) {
    fault.detected_s = std::max(fault.detected_s, result.fault->detected_s);
    fault.reconnected_s = std::max(fault.reconnected_s, result.fault->reconnected_s);
    fault.recovered_bytes += result.fault->recovered_bytes;
  }
  result.fault = std::move(fault);
  result.iterations.resize(static_cast<std::size_t>(i) + 1);  // the last
}

void TcpResults::add(Rank rank, std::string_view in) {
  if (take<Submitted>(in) == Submitted::fault) return add_fault(in);
  results_.add(rank, in);
}

Measurement TcpResults::finish() { return std::move(results_.measurement); }

}  // namespace refit::detail
