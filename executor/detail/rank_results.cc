#include "executor/detail/rank_results.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "executor/detail/frame.h"

namespace refit::detail {
namespace {

// Most ops do not concern a rank: only those that do are sent.
struct OpSpan {
  OpId op;
  std::int32_t zero = 0;
  Span span;
};

bool concerns(const Span& span) { return span != Span{}; }

Timeline take_timeline(std::string_view& in, std::size_t ops) {
  Timeline timeline;
  const auto count = take<std::uint32_t>(in);
  if (count > 0) timeline.resize(ops);
  for (std::uint32_t n = 0; n < count; ++n) {
    const auto entry = take<OpSpan>(in);
    if (entry.op.value < 0 || entry.op.index() >= ops)
      throw Error(ErrorCode::environment, "a rank has timed an op that is not in the schedule");
    timeline[entry.op.index()] = entry.span;
  }
  return timeline;
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
  measured.timeline = take_timeline(in, ops);
  return measured;
}

}  // namespace

void put(std::string& out, const RankIteration& measured) {
  put(out, measured.iteration);
  put(out, measured.seconds);
  put(out, measured.cpu_s);
  put(out, measured.wrong_bytes);
  put(out, static_cast<std::uint32_t>(measured.examples.size()));
  for (const WrongByte& example : measured.examples) {
    put_text(out, example.tensor);
    put(out, example.element);
  }
  put(out, static_cast<std::uint32_t>(std::ranges::count_if(measured.timeline, concerns)));
  for (std::size_t op = 0; op < measured.timeline.size(); ++op) {
    if (!concerns(measured.timeline[op])) continue;
    put(out, OpSpan{OpId(static_cast<std::int64_t>(op)), 0, measured.timeline[op]});
  }
}

RankResults::RankResults(std::string transport, const RunContext& context,
                         const ExecuteOptions& options)
    : warmup_(options.warmup) {
  measurement.transport = std::move(transport);
  measurement.ranks = context.schedule.ranks;
  measurement.largest_rank_bytes = largest_rank_bytes(context.moves, context.schedule.ranks);
  measurement.iterations.resize(static_cast<std::size_t>(std::max(0, options.iterations)));
  measurement.timeline.resize(context.schedule.ops.size());
}

void RankResults::add(Rank rank, std::string_view& in) {
  const RankIteration measured = take_iteration(rank, in, measurement.timeline.size());
  measurement.wrong_bytes += measured.wrong_bytes;
  for (const WrongByte& example : measured.examples) {
    if (measurement.wrong_examples.size() < kMostExamples)
      measurement.wrong_examples.push_back(example);
  }
  if (!measured.timeline.empty()) merge_timeline(measured.timeline, measurement.timeline);
  int i = measured.iteration - warmup_;
  if (measurement.fault) i = std::max(0, i);  // the iteration of a fault counts wherever it was
  if (i < 0) return;                          // warm-up
  if (static_cast<std::size_t>(i) >= measurement.iterations.size())
    throw Error(ErrorCode::environment, "a rank has run an iteration that nobody asked for");
  Iteration& iteration = measurement.iterations[static_cast<std::size_t>(i)];
  iteration.wrong_bytes += measured.wrong_bytes;
  measurement.cpu_s += measured.cpu_s;
  if (measured.seconds <= iteration.seconds) return;
  iteration.seconds = measured.seconds;
  iteration.slowest = rank;
}

}  // namespace refit::detail
