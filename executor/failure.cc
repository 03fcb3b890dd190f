#include "executor/failure.h"

#include <fmt/format.h>

#include "executor/detail/frame.h"

namespace refit {
namespace {

constexpr std::uint64_t kNoMove = ~std::uint64_t{0};
constexpr std::int32_t kNotResumable = -1;

std::string text_of(const Failure& failure) {
  if (!failure.move)
    return fmt::format("rank {}, {}: {}", failure.rank.value, to_string(failure.phase),
                       failure.reason);
  return fmt::format("rank {}, move {}: {}", failure.rank.value, *failure.move, failure.reason);
}

}  // namespace

RankFailure::RankFailure(Failure failure)
    : Error(failure.code, text_of(failure)), failure_(std::move(failure)) {}

std::string_view to_string(RankPhase phase) {
  switch (phase) {
    case RankPhase::starting:
      return "starting";
    case RankPhase::preparing:
      return "preparing content";
    case RankPhase::waiting:
      return "waiting for the others";
    case RankPhase::moving:
      return "moving bytes";
    case RankPhase::checking:
      return "checking content";
  }
  return "";
}

std::string encode(const Failure& failure) {
  std::string out;
  detail::put(out, failure.rank);
  detail::put(out, failure.phase);
  detail::put(out, failure.move ? *failure.move : kNoMove);
  detail::put(out, failure.code);
  detail::put_text(out, failure.reason);
  return out;
}

Failure decode_failure(std::string_view in) {
  Failure failure;
  failure.rank = detail::take<Rank>(in);
  failure.phase = detail::take<RankPhase>(in);
  const auto move = detail::take<std::uint64_t>(in);
  if (move != kNoMove) failure.move = static_cast<std::uint32_t>(move);
  failure.code = detail::take<ErrorCode>(in);
  failure.reason = detail::take_text(in);
  return failure;
}

std::string encode(const RankReport& report) {
  std::string out;
  detail::put(out, report.resumable.value_or(kNotResumable));
  detail::put(out, static_cast<std::uint64_t>(report.received.size()));
  for (const std::uint64_t word : report.received) detail::put(out, word);
  detail::put(out, static_cast<std::uint64_t>(report.unreachable.size()));
  for (const Rank rank : report.unreachable) detail::put(out, rank);
  for (const RankReport::Open& open : report.open) detail::put(out, open);
  return out;
}

RankReport decode_report(std::string_view in) {
  RankReport report;
  const auto resumable = detail::take<std::int32_t>(in);
  if (resumable != kNotResumable) report.resumable = resumable;
  for (auto words = detail::take<std::uint64_t>(in); words > 0; --words)
    report.received.push_back(detail::take<std::uint64_t>(in));
  for (auto ranks = detail::take<std::uint64_t>(in); ranks > 0; --ranks)
    report.unreachable.push_back(detail::take<Rank>(in));
  while (!in.empty()) report.open.push_back(detail::take<RankReport::Open>(in));
  return report;
}

}  // namespace refit
