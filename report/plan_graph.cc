#include "report/plan_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"
#include "report/drawing.h"

namespace refit {
namespace {

// Hairs that carry little between them hide what carries much.
constexpr double kTellingShare = 0.95;

void draw_edge(Drawing& drawing, Drawing::Node from, Drawing::Node to, double bytes,
               double largest) {
  drawing.edge(from, to, {{"label", format_bytes(bytes)}, {"penwidth", width_of(bytes, largest)}});
}

Drawing start(const Schedule& schedule, const char* shape, const std::string& notes) {
  Drawing drawing(fmt::format("Plan: {}\\l{}Arrows are as wide as their bytes.\\l",
                              plain(schedule.strategy), notes),
                  {{"shape", shape}, {"style", "filled"}, {"fillcolor", kNeitherColour}},
                  // Lighter than the numbers that stand on them.
                  {{"color", "#6b7f95"}, {"arrowsize", "0.6"}});
  drawing.set(drawing.root(), {{"rankdir", "LR"}});
  return drawing;
}

std::vector<Drawing::Node> draw_ranks(Drawing& drawing, const Refit& refit,
                                      const Cluster& cluster) {
  const Sides sides(refit, cluster);
  const std::vector<double> none(static_cast<std::size_t>(cluster.domains() * cluster.domains()));
  std::vector<Drawing::Node> nodes(static_cast<std::size_t>(refit.ranks), nullptr);
  for (const DomainGroup& group : group_traffic(refit, cluster, none, 1).groups) {
    Drawing::Graph box = drawing.box(
        drawing.root(), fmt::format("domain_{}", group.first),
        {{"label", plain(group.words())}, {"style", "filled"}, {"color", group.side.colour()}});
    for (const Rank rank : cluster.domain_ranks(DomainId{group.first})) {
      if (!sides.knows(rank)) continue;
      nodes[rank.index()] = drawing.node(
          box, fmt::format("rank {}", rank.value),
          {{"label", fmt::format("{}", rank.value)}, {"fillcolor", sides.of(rank).colour()}});
    }
  }
  return nodes;
}

void draw_transfers(Drawing& drawing, const Schedule& schedule,
                    const std::vector<Drawing::Node>& nodes) {
  std::map<std::pair<Rank, Rank>, double> bytes;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer) bytes[{op.src, op.dst}] += static_cast<double>(op.bytes);
  }
  double largest = 0;
  for (const auto& [pair, sum] : bytes) largest = std::max(largest, sum);
  for (const auto& [pair, sum] : bytes) {
    draw_edge(drawing, nodes[pair.first.index()], nodes[pair.second.index()], sum, largest);
  }
}

// One node per kind and group. Edges without arrows join an all-gather with its ranks; a broadcast
// has arrows from its roots, with their bytes, and to its ranks.
void draw_collectives(Drawing& drawing, const Schedule& schedule,
                      const std::vector<Drawing::Node>& nodes) {
  struct Sum {
    double bytes = 0;
    std::map<Rank, double> by_root;
  };
  std::map<std::pair<OpKind, GroupId>, Sum> sums;
  double largest = 0;
  for (const Op& op : schedule.ops) {
    if (op.kind != OpKind::all_gather && op.kind != OpKind::broadcast) continue;
    Sum& sum = sums[{op.kind, op.group}];
    sum.bytes += static_cast<double>(op.bytes);
    if (op.kind == OpKind::broadcast) {
      double& root = sum.by_root[op.src];
      root += static_cast<double>(op.bytes);
      largest = std::max(largest, root);
    }
  }
  for (const auto& [key, sum] : sums) {
    const auto& [kind, group_id] = key;
    const Group& group = schedule.groups[group_id.index()];
    Drawing::Node node =
        drawing.node(drawing.root(), fmt::format("{} {}", to_string(kind), group_id.value),
                     {{"label", fmt::format("{}\n{} ranks, {}", to_string(kind), group.ranks.size(),
                                            format_bytes(sum.bytes))},
                      {"shape", "box"}});
    for (const auto& [root, bytes] : sum.by_root) {
      draw_edge(drawing, nodes[root.index()], node, bytes, largest);
    }
    for (const Rank rank : group.ranks) {
      if (sum.by_root.contains(rank)) continue;
      if (kind == OpKind::all_gather) {
        drawing.edge(nodes[rank.index()], node, {{"style", "dashed"}, {"dir", "none"}});
      } else {
        drawing.edge(node, nodes[rank.index()], {{"style", "dashed"}});
      }
    }
  }
}

}  // namespace

std::vector<GroupTraffic::Pair> telling_pairs(const GroupTraffic& traffic) {
  std::vector<GroupTraffic::Pair> pairs = traffic.pairs();
  double sum = 0;
  for (const GroupTraffic::Pair& pair : pairs) sum += pair.bytes;
  double drawn = 0;
  std::size_t count = 0;
  while (count < std::min(pairs.size(), kMostEdges) &&
         (drawn < kTellingShare * sum || pairs[count].bytes == pairs[count - 1].bytes))
    drawn += pairs[count++].bytes;
  pairs.resize(count);
  return pairs;
}

bool draws_by_rank(const Schedule& schedule, const Refit& refit) {
  if (refit.ranks > kMostRanksDrawn) return false;
  std::set<std::pair<Rank, Rank>> transfers;
  std::set<std::pair<OpKind, GroupId>> collectives;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer) transfers.insert({op.src, op.dst});
    if (is_collective(op)) collectives.insert({op.kind, op.group});
  }
  std::size_t edges = transfers.size();
  for (const auto& [kind, group] : collectives)
    edges += schedule.groups[group.index()].ranks.size();
  return edges <= kMostEdges;
}

std::string rank_graph(const Schedule& schedule, const Refit& refit, const Cluster& cluster) {
  REFIT_CHECK(schedule.ranks <= refit.ranks && refit.ranks <= cluster.ranks());
  Drawing drawing = start(schedule, "circle", "");
  const std::vector<Drawing::Node> nodes = draw_ranks(drawing, refit, cluster);
  draw_transfers(drawing, schedule, nodes);
  draw_collectives(drawing, schedule, nodes);
  return drawing.text();
}

std::string domain_graph(const Schedule& schedule, const GroupTraffic& traffic, bool all_pairs) {
  const std::vector<GroupTraffic::Pair> every = traffic.pairs();
  const std::vector<GroupTraffic::Pair> pairs = all_pairs ? every : telling_pairs(traffic);
  std::string notes = group_words(traffic);
  if (!notes.empty()) notes += "\\l";
  if (pairs.size() < every.size()) {
    double drawn = 0, sum = 0;
    for (const GroupTraffic::Pair& pair : pairs) drawn += pair.bytes;
    for (const GroupTraffic::Pair& pair : every) sum += pair.bytes;
    notes +=
        fmt::format("Drawn: the {} largest of {} pairs. The others move {}, {:.1f} % of all.\\l",
                    pairs.size(), format_count(static_cast<std::int64_t>(every.size())),
                    format_bytes(sum - drawn), 100 * (sum - drawn) / sum);
  }
  const double largest = every.empty() ? 0 : every.front().bytes;
  Drawing drawing = start(schedule, "box", notes);
  std::vector<Drawing::Node> nodes;
  for (std::size_t g = 0; g < traffic.groups.size(); ++g) {
    const DomainGroup& group = traffic.groups[g];
    std::string label = plain(group.words());
    if (traffic.nvlink[g] > 0) label += fmt::format("\n{} inside", format_bytes(traffic.nvlink[g]));
    if (traffic.at(g, g) > 0)
      label += fmt::format("\n{} between these domains", format_bytes(traffic.at(g, g)));
    nodes.push_back(drawing.node(drawing.root(), group.name(),
                                 {{"label", label}, {"fillcolor", group.side.colour()}}));
  }
  for (const GroupTraffic::Pair& pair : pairs)
    draw_edge(drawing, nodes[pair.from], nodes[pair.to], pair.bytes, largest);
  return drawing.text();
}

}  // namespace refit
