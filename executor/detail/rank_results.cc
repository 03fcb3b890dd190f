#include "executor/detail/rank_results.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "executor/detail/frame.h"

namespace refit::detail {
namespace {

enum class Submitted : std::uint32_t { iteration, fault, of_seat };

// An OpTime without a hole in it.
struct OpSpan {
  OpId op;
  std::int32_t zero = 0;
  Span span;
};

OpTimes take_times(std::string_view& in, std::size_t ops) {
  OpTimes times;
  for (auto n = take<std::uint32_t>(in); n > 0; --n) {
    const auto entry = take<OpSpan>(in);
    if (entry.op.value < 0 || entry.op.index() >= ops)
      throw Error(ErrorCode::environment, "a rank has timed an op that is not in the schedule");
    times.push_back({entry.op, entry.span});
  }
  return times;
}

RankIteration take_iteration(Rank rank, std::string_view& in, std::size_t ops) {
  RankIteration measured;
  measured.iteration = take<std::int32_t>(in);
  measured.seconds = take<double>(in);
  measured.cpu_s = take<double>(in);
  measured.wrong_bytes = take<std::int64_t>(in);
  for (auto n = take<std::uint32_t>(in); n > 0; --n) {
    WrongByte example;
    example.rank = rank;
    example.tensor = take_text(in);
    example.element = take<std::int64_t>(in);
    measured.examples.push_back(std::move(example));
  }
  measured.times = take_times(in, ops);
  return measured;
}

}  // namespace

std::string submission(const RankIteration& measured) {
  std::string out;
  put(out, Submitted::iteration);
  put(out, measured.iteration);
  put(out, measured.seconds);
  put(out, measured.cpu_s);
  put(out, measured.wrong_bytes);
  put(out, static_cast<std::uint32_t>(measured.examples.size()));
  for (const WrongByte& example : measured.examples) {
    put_text(out, example.tensor);
    put(out, example.element);
  }
  put(out, static_cast<std::uint32_t>(measured.times.size()));
  for (const auto& [op, span] : measured.times) put(out, OpSpan{op, 0, span});
  return out;
}

std::string submission(const RankFault& fault) {
  std::string out;
  put(out, Submitted::fault);
  put(out, fault.iteration);
  put(out, fault.lost);
  put_text(out, fault.reason);
  put(out, fault.detected_s);
  put(out, fault.reconnected_s);
  put(out, fault.recovered_bytes);
  for (const Rank rank : fault.dropped) put(out, rank);
  return out;
}

std::string submission(const std::string& of_seat) {
  std::string out;
  put(out, Submitted::of_seat);
  return out + of_seat;
}

RankResults::RankResults(std::string transport, const RunContext& context,
                         const ExecuteOptions& options, FaultPolicy policy)
    : warmup_(options.warmup), policy_(policy) {
  measurement_.transport = std::move(transport);
  measurement_.ranks = context.schedule.ranks;
  measurement_.largest_rank_bytes = largest_rank_bytes(context.moves, context.schedule.ranks);
  measurement_.iterations.resize(static_cast<std::size_t>(std::max(0, options.iterations)));
  measurement_.timeline.resize(context.schedule.ops.size());
  measurement_.environment = machine_environment();
}

void RankResults::add(Rank rank, std::string_view in) {
  switch (take<Submitted>(in)) {
    case Submitted::iteration:
      return add_iteration(rank, in);
    case Submitted::fault:
      return add_fault(in);
    case Submitted::of_seat:
      return add_of_seat(rank, in);
  }
  throw Error(ErrorCode::environment, "a rank has submitted what nobody asked for");
}

void RankResults::add_iteration(Rank rank, std::string_view in) {
  const RankIteration measured = take_iteration(rank, in, measurement_.timeline.size());
  measurement_.wrong_bytes += measured.wrong_bytes;
  for (const WrongByte& example : measured.examples) {
    if (measurement_.wrong_examples.size() < kMostExamples)
      measurement_.wrong_examples.push_back(example);
  }
  merge(measured.times, measurement_.timeline);
  int i = measured.iteration - warmup_;
  if (measurement_.fault) i = std::max(0, i);  // the iteration of a fault counts wherever it was
  if (i < 0) return;                           // warm-up
  if (static_cast<std::size_t>(i) >= measurement_.iterations.size())
    throw Error(ErrorCode::environment, "a rank has run an iteration that nobody asked for");
  Iteration& iteration = measurement_.iterations[static_cast<std::size_t>(i)];
  iteration.wrong_bytes += measured.wrong_bytes;
  measurement_.cpu_s += measured.cpu_s;
  if (measured.seconds <= iteration.seconds) return;
  iteration.seconds = measured.seconds;
  iteration.slowest = rank;
}

void RankResults::add_fault(std::string_view in) {
  const auto i = std::max(0, take<std::int32_t>(in) - warmup_);
  FaultRecord fault;
  fault.policy = policy_;
  fault.lost = take<Rank>(in);
  fault.reason = take_text(in);
  fault.detected_s = take<double>(in);
  fault.reconnected_s = take<double>(in);
  fault.recovered_bytes = take<std::int64_t>(in);
  while (!in.empty()) fault.dropped.push_back(take<Rank>(in));
  if (const auto& known = measurement_.fault) {
    fault.detected_s = std::max(fault.detected_s, known->detected_s);
    fault.reconnected_s = std::max(fault.reconnected_s, known->reconnected_s);
    fault.recovered_bytes += known->recovered_bytes;
  }
  measurement_.fault = std::move(fault);
  measurement_.iterations.resize(static_cast<std::size_t>(i) + 1);  // the last
}

}  // namespace refit::detail
