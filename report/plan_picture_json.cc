#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/json_number.h"
#include "report/plan_picture.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

Json rounded(double value) {
  return json_number(std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr));
}

Json links_json(const LinkPicture& picture) {
  Json kinds = Json::array();
  for (const LinkHistogram& kind : picture.kinds)
    kinds.push_back(
        {{"kind", to_string(kind.kind)}, {"unused", kind.unused}, {"links", kind.links}});
  Json hottest = Json::array();
  for (const LinkLoad& link : picture.hottest)
    hottest.push_back({{"name", link.name},
                       {"kind", to_string(link.kind)},
                       {"bytes", rounded(link.bytes)},
                       {"utilisation", rounded(link.utilisation)}});
  // A list per number, since the names would be most of the page.
  Json ranks = {{"nvlink_in", Json::array()},
                {"nvlink_out", Json::array()},
                {"nic_in", Json::array()},
                {"nic_out", Json::array()}};
  for (const RankPorts& rank : picture.ranks) {
    ranks["nvlink_in"].push_back(rounded(rank.nvlink_in));
    ranks["nvlink_out"].push_back(rounded(rank.nvlink_out));
    ranks["nic_in"].push_back(rounded(rank.nic_in));
    ranks["nic_out"].push_back(rounded(rank.nic_out));
  }
  return {
      {"kinds", std::move(kinds)}, {"hottest", std::move(hottest)}, {"ranks", std::move(ranks)}};
}

Json pairs_json(const TransferPairs& level) {
  Json pairs = Json::array();
  for (const TransferPairs::Pair& pair : level.pairs)
    pairs.push_back({pair.from, pair.to, rounded(pair.bytes)});
  return {{"pairs", std::move(pairs)},
          {"left_out", level.left_out},
          {"left_out_bytes", rounded(level.left_out_bytes)}};
}

Json transfers_json(const TransferPicture& picture) {
  Json inside = Json::array();
  for (const double bytes : picture.inside) inside.push_back(rounded(bytes));
  return {{"domains_per_group", picture.domains_per_group},
          {"groups", pairs_json(picture.groups)},
          {"domains", pairs_json(picture.domains)},
          {"ranks", pairs_json(picture.ranks)},
          {"inside", std::move(inside)}};
}

// A bar is [start, length, activity, track, phase, bytes, peer, op, work]; times in millionths of
// the whole, `peer` the other rank of a transfer, the ranks of anything else.
Json bar_json(const TimelineBar& bar, const Schedule& schedule, double end_s) {
  const Op& op = schedule.ops[bar.op.index()];
  const auto tick = [&](double seconds) {
    return end_s > 0 ? std::llround(1e6 * seconds / end_s) : 0;
  };
  const auto others = [&]() -> std::int64_t {
    if (op.kind != OpKind::transfer)
      return static_cast<std::int64_t>(schedule.groups[op.group.index()].ranks.size());
    return bar.activity == Activity::send ? op.dst.value : op.src.value;
  };
  const long long start = tick(bar.span.start_s);
  return {start,
          tick(bar.span.end_s) - start,
          static_cast<int>(bar.activity),
          bar.track,
          op.phase,
          op.bytes,
          others(),
          bar.op.value,
          op.kind == OpKind::compute ? static_cast<int>(op.work) : 0};
}

// Shares of 1 as letters, A none to Z all: a letter per part of the time.
std::string letters(const std::vector<double>& shares) {
  std::string text;
  for (const double share : shares) {
    const auto step = share <= 0 ? 0 : std::max(1L, std::lround(25 * share));
    text += static_cast<char>('A' + step);
  }
  return text;
}

Json timeline_json(const TimelinePicture& picture, const Schedule& schedule) {
  Json lanes = Json::array();
  for (const LaneRow& row : picture.lanes) {
    Json bars = Json::array();
    for (const TimelineBar& bar : row.bars) bars.push_back(bar_json(bar, schedule, picture.end_s));
    lanes.push_back({{"rank", row.rank.value},
                     {"lane", row.lane},
                     {"tracks", row.tracks},
                     {"left_out", row.left_out},
                     {"bars", std::move(bars)}});
  }
  Json groups = Json::array();
  for (const GroupRow& row : picture.groups) {
    Json busy = Json::array();
    for (const std::vector<double>& shares : row.busy) busy.push_back(letters(shares));
    groups.push_back({{"first", row.first.value}, {"ranks", row.ranks}, {"busy", std::move(busy)}});
  }
  Json activities = Json::array();
  for (std::size_t a = 0; a < kActivities; ++a)
    activities.push_back(to_string(static_cast<Activity>(a)));
  Json works = Json::array();
  for (int w = 0; w <= static_cast<int>(Work::stream); ++w)
    works.push_back(to_string(static_cast<Work>(w)));
  Json phases = Json::array();
  for (const Phase& phase : schedule.phases) phases.push_back(phase.name);
  return {{"end_s", json_number(picture.end_s)}, {"activities", std::move(activities)},
          {"works", std::move(works)},           {"phases", std::move(phases)},
          {"lanes", std::move(lanes)},           {"groups", std::move(groups)}};
}

Json phases_json(const PlanPicture& picture, const Schedule& schedule) {
  Json phases = Json::array();
  for (std::size_t p = 0; p < picture.phase_traffic.size(); ++p) {
    const TrafficTotals& traffic = picture.phase_traffic[p];
    phases.push_back({{"name", schedule.phases[p].name},
                      {"logical_bytes", traffic.logical_bytes},
                      {"network_bytes", json_number(traffic.network_bytes)},
                      {"nvlink_bytes", json_number(traffic.nvlink_bytes)},
                      {"node_bytes", json_number(traffic.node_bytes)},
                      {"local_bytes", json_number(traffic.local_bytes)}});
  }
  return phases;
}

}  // namespace

std::string plan_picture_json(const PlanPicture& picture, const Schedule& schedule) {
  const Json document = {{"strategy", picture.strategy},
                         {"links", links_json(picture.links)},
                         {"transfers", transfers_json(picture.transfers)},
                         {"timeline", timeline_json(picture.timeline, schedule)},
                         {"traffic_by_phase", phases_json(picture, schedule)}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace refit
