#include "executor/detail/tcp_rank.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <set>

#include <sys/resource.h>
#include <time.h>

#include "executor/detail/frame.h"
#include "executor/detail/open_links.h"
#include "executor/tcp_transport.h"

namespace refit::detail {
namespace {

enum class Submitted : std::uint32_t { iteration, timeline };

struct OpSpan {
  OpId op;
  std::int32_t zero = 0;
  Span span;
};

double process_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void sleep_until(double steady_s) {
  timespec at{};
  at.tv_sec = static_cast<time_t>(steady_s);
  at.tv_nsec = static_cast<long>((steady_s - std::floor(steady_s)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

std::vector<LinkNeed> needs_of(const RunContext& context, Rank rank) {
  std::set<LinkNeed> needs;
  for (const Move& move : context.moves.moves) {
    if (move.src != rank && move.dst != rank) continue;
    const Rank peer = move.src == rank ? move.dst : move.src;
    needs.insert({context.schedule.ops[move.op.index()].lane, peer,
                  context.cluster.domain(peer) == context.cluster.domain(rank)});
  }
  return {needs.begin(), needs.end()};
}

class TcpRank {
 public:
  TcpRank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
          RankControl& control)
      : context_(context), options_(options), control_(control) {
    OpenLinks opened = open_links(control, *tcp.network, needs_of(context, control.rank()),
                                  {tcp.socket_buffer_bytes, tcp.congestion_control});
    one_host_ = opened.one_host;
    auto transport = std::make_unique<TcpTransport>(control.rank(), std::move(opened.links),
                                                    context.moves.moves.size(), &control);
    tcp_ = transport.get();
    transport_ = std::move(transport);
    if (tcp.wrap) transport_ = tcp.wrap(control.rank(), std::move(transport_));
    control.while_waiting([this] { tcp_->check_links(); });
  }
  ~TcpRank() { control_.while_waiting(nullptr); }
  TcpRank(const TcpRank&) = delete;
  TcpRank& operator=(const TcpRank&) = delete;

  void run() {
    try {
      control_.enter(RankPhase::preparing);
      RankMemory memory(context_.refit, context_.schedule, control_.rank());
      const RankProgram program = rank_program(context_.schedule, context_.moves, control_.rank());
      for (int i = 0; i < options_.warmup + options_.iterations; ++i) run_once(i, program, memory);
      // Nobody closes a connection that another still reads.
      control_.barrier();
    } catch (const std::exception& error) {
      // With the connections still open: closing them first would look like this rank's death to
      // peers that know nothing yet.
      control_.note(tcp_->report());
      throw RankFailure(control_.agree(error));
    }
  }

 private:
  void run_once(int i, const RankProgram& program, RankMemory& memory) {
    const std::uint64_t seed = options_.seed * 1000003 + static_cast<std::uint64_t>(i);
    control_.enter(RankPhase::preparing);
    memory.prepare(seed);
    tcp_->begin(static_cast<std::uint32_t>(i));

    // On one host the steady clock (CLOCK_MONOTONIC) is common to all processes, in any network
    // namespace: all start at one moment, and times of different ranks can be compared. Across
    // hosts each rank counts from when it hears the start; then durations are right, and the
    // timeline is shifted by how long the start took to arrive.
    const double start = control_.barrier();
    if (one_host_) sleep_until(start);
    const double zero = one_host_ ? start : steady_clock_s();
    control_.enter(RankPhase::moving);
    const double cpu_begin = process_cpu_s();
    memory.copy_owned();
    const Timeline timeline = run_rank(context_, program, memory, *transport_, zero);
    const double seconds = steady_clock_s() - zero;
    const double cpu = process_cpu_s() - cpu_begin;
    control_.barrier();  // a rank that checks would take processor time from those that still move

    control_.enter(RankPhase::checking);
    std::vector<WrongByte> examples;
    const std::int64_t wrong = options_.check ? memory.count_wrong(seed, examples) : 0;
    submit(i, seconds, cpu, wrong, examples);
    if (i + 1 == options_.warmup + options_.iterations) submit(timeline);
  }

  void submit(int i, double seconds, double cpu, std::int64_t wrong,
              const std::vector<WrongByte>& examples) {
    std::string out;
    put(out, Submitted::iteration);
    put(out, static_cast<std::int32_t>(i));
    put(out, seconds);
    put(out, cpu);
    put(out, wrong);
    put(out, static_cast<std::uint32_t>(examples.size()));
    for (const WrongByte& example : examples) {
      put_text(out, example.tensor);
      put(out, example.element);
    }
    control_.submit(out);
  }

  void submit(const Timeline& timeline) {
    std::string out;
    put(out, Submitted::timeline);
    for (std::size_t op = 0; op < timeline.size(); ++op) {
      if (timeline[op] == Span{}) continue;
      put(out, OpSpan{OpId(static_cast<std::int64_t>(op)), 0, timeline[op]});
    }
    control_.submit(out);
  }

  const RunContext& context_;
  const ExecuteOptions& options_;
  RankControl& control_;
  bool one_host_ = false;
  std::unique_ptr<Transport> transport_;
  TcpTransport* tcp_ = nullptr;
};

}  // namespace

void run_tcp_rank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
                  RankControl& control) {
  TcpRank(context, options, tcp, control).run();
}

TcpResults::TcpResults(const RunContext& context, const ExecuteOptions& options)
    : options_(options) {
  result_.transport = "tcp";
  result_.ranks = context.schedule.ranks;
  result_.largest_rank_bytes = largest_rank_bytes(context.moves, context.schedule.ranks);
  result_.environment = machine_environment();
  result_.iterations.resize(static_cast<std::size_t>(std::max(0, options.iterations)));
  result_.timeline.resize(context.schedule.ops.size());
}

void TcpResults::add(Rank rank, std::string_view in) {
  if (take<Submitted>(in) == Submitted::timeline) {
    while (!in.empty()) {
      const auto entry = take<OpSpan>(in);
      if (entry.op.value < 0 || entry.op.index() >= result_.timeline.size())
        throw Error(ErrorCode::environment, "a rank has timed an op that is not in the schedule");
      Span& merged = result_.timeline[entry.op.index()];
      if (merged == Span{}) merged = entry.span;
      merged.start_s = std::min(merged.start_s, entry.span.start_s);
      merged.end_s = std::max(merged.end_s, entry.span.end_s);
    }
    return;
  }
  const auto i = take<std::int32_t>(in) - options_.warmup;
  const auto seconds = take<double>(in);
  const auto cpu = take<double>(in);
  const auto wrong = take<std::int64_t>(in);
  result_.wrong_bytes += wrong;
  for (auto n = take<std::uint32_t>(in); n > 0; --n) {
    WrongByte example;
    example.rank = rank;
    example.tensor = take_text(in);
    example.element = take<std::int64_t>(in);
    if (result_.wrong_examples.size() < kMostExamples) result_.wrong_examples.push_back(example);
  }
  if (i < 0) return;  // warm-up
  if (static_cast<std::size_t>(i) >= result_.iterations.size())
    throw Error(ErrorCode::environment, "a rank has run an iteration that nobody asked for");
  Iteration& iteration = result_.iterations[static_cast<std::size_t>(i)];
  iteration.wrong_bytes += wrong;
  result_.cpu_s += cpu;
  if (seconds <= iteration.seconds) return;
  iteration.seconds = seconds;
  iteration.slowest = rank;
}

Measurement TcpResults::finish() { return std::move(result_); }

}  // namespace refit::detail
