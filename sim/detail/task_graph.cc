#include "sim/detail/task_graph.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "sim/detail/alike_ranks.h"
#include "sim/detail/collective_path.h"
#include "sim/detail/key_numbers.h"
#include "sim/detail/lane_order.h"
#include "sim/detail/op_cost.h"
#include "topology/route.h"

namespace refit::detail {
namespace {

// The store that a transfer goes to or comes from.
const StoreSpec* store_of(const Op& op, const Cluster& cluster) {
  if (cluster.spec().stores.empty()) return nullptr;
  const StoreSpec* to = cluster.store(op.dst);
  return to != nullptr ? to : cluster.store(op.src);
}

// What a transfer waits for before its bytes flow: each part's request; who reads an object first
// asks the manifest whether it is there.
double request_seconds(const Op& op, const Cluster& cluster) {
  if (op.kind != OpKind::transfer) return 0;
  const StoreSpec* store = store_of(op, cluster);
  if (store == nullptr) return 0;
  const std::int64_t asks = cluster.store(op.src) != nullptr ? 1 : 0;
  return static_cast<double>(store_requests(*store, op.bytes).turns + asks) *
         store->request_latency_s;
}

// Gives each distinct path of links a number and a latency.
class PathTable {
 public:
  PathTable(const Schedule& schedule, const Cluster& cluster, const NetworkModel& model,
            TaskGraph& graph)
      : cluster_(cluster),
        stream_bytes_per_s_(model.stream_bytes_per_s),
        graph_(graph),
        collectives_(schedule, cluster) {
    latency_s_ = {0};
  }

  PathId of(const Op& op) {
    if (op.kind == OpKind::transfer) {
      const StoreSpec* store = store_of(op, cluster_);
      return store != nullptr ? of_store(op, *store) : of_pair(op.src, op.dst);
    }
    const CollectivePath& collective = collectives_.of(op);
    const bool stream = op.work == Work::stream && stream_bytes_per_s_ > 0;
    const auto [found, first] =
        of_collective_.try_emplace({&collective, stream ? op.lane : kNoStream}, next());
    if (!first) return found->second;
    std::vector<PathLink> links = collective.links;
    // Links of its own, as fast as its flows over a WAN are, and as one stream is.
    if (collective.flow_bytes_per_s > 0)
      links.push_back({own_link(collective.flow_bytes_per_s), 1});
    if (stream) links.push_back({own_link(collective.rails * stream_bytes_per_s_), 1});
    add(links, collective.latency_s);
    return found->second;
  }

  double latency_s(PathId id) const { return latency_s_[id]; }

 private:
  static constexpr int kNoStream = -1;

  PathId next() const { return static_cast<PathId>(latency_s_.size()); }

  PathId of_pair(Rank src, Rank dst) {
    if (src == dst) return 0;  // a device copy
    const auto block = (static_cast<std::uint64_t>(src.index()) << 32) | (dst.index() / kBlock);
    const std::uint32_t number = blocks_.of(mixed(block));
    if (number == of_block_.size()) of_block_.emplace_back();
    PathId& path = of_block_[number][dst.index() % kBlock];
    if (path == 0) {
      path = next();
      const Route way = route(cluster_, src, dst);
      links_.clear();
      for (const LinkId link : way.links) links_.push_back({link, 1});
      if (way.flow_bytes_per_s > 0) links_.push_back({own_link(way.flow_bytes_per_s), 1});
      add(links_, way.latency_s);
    }
    return path;
  }

  // A client's connections to a store are a link of their own, for each direction. An object of few
  // parts has few of them, and with these another one.
  PathId of_store(const Op& op, const StoreSpec& store) {
    const int connections = store_requests(store, op.bytes).connections;
    const bool all = connections == store.connections;
    PathId& known = of_store_[{op.src, op.dst}];
    if (all && known != 0) return known;
    const PathId path = next();
    if (all) known = path;
    const Route way = route(cluster_, op.src, op.dst);
    double one = store.connection_bytes_per_s;
    if (way.flow_bytes_per_s > 0) one = std::min(one, way.flow_bytes_per_s);
    const auto [client, fresh] = store_links_.try_emplace({op.src, op.dst}, LinkId{0});
    if (fresh) client->second = own_link(one * store.connections);
    links_.clear();
    for (const LinkId link : way.links) links_.push_back({link, 1});
    links_.push_back({client->second, 1});
    if (!all) links_.push_back({own_link(one * connections), 1});
    add(links_, way.latency_s);
    return path;
  }

  LinkId own_link(double bytes_per_s) {
    std::vector<double>& rates = graph_.paths.capacity_bytes_per_s;
    rates.push_back(bytes_per_s);
    return LinkId{static_cast<std::int64_t>(rates.size()) - 1};
  }

  void add(const std::vector<PathLink>& links, double latency_s) {
    graph_.paths.add(links);
    latency_s_.push_back(latency_s);
  }

  const Cluster& cluster_;
  const double stream_bytes_per_s_;
  TaskGraph& graph_;
  CollectivePaths collectives_;
  std::vector<double> latency_s_;
  // Paths from one source to neighbouring destinations stand together, since plans often go through
  // destinations in order. 0: none yet.
  static constexpr std::size_t kBlock = 16;
  KeyNumbers blocks_;
  std::vector<std::array<PathId, kBlock>> of_block_;
  std::map<std::pair<const CollectivePath*, int>, PathId> of_collective_;  // and lane of a stream
  std::map<std::pair<Rank, Rank>, PathId> of_store_;  // with all connections; 0: none yet
  std::map<std::pair<Rank, Rank>, LinkId> store_links_;
  std::vector<PathLink> links_;  // scratch
};

void order_op(const Schedule& schedule, const AlikeRanks& alike, const Op& op, TaskId task,
              LaneOrder& order) {
  for (const OpId before : schedule.after_of(op)) {
    REFIT_CHECK(before.index() < task);  // verify has seen it
    order.after(task, static_cast<TaskId>(before.value));
  }
  if (const LaneWindow* window = schedule.window_of(op.lane);
      window != nullptr && op.kind == OpKind::transfer) {
    order.queue(task, op.lane, true, window->send[op.src.index()], op.src);
    order.queue(task, op.lane, false, window->receive[op.dst.index()], op.dst);
    return;
  }
  if (op.kind == OpKind::transfer) {
    order.place(task, op.lane, op.round, op.src);
    order.place(task, op.lane, op.round, op.dst);
    return;
  }
  for (const Rank rank : alike.of(op.group)) {
    if (op.kind == OpKind::barrier) {
      order.barrier(task, rank);
    } else {
      order.place(task, op.lane, op.round, rank);
    }
  }
  // The root works too, even if the group does not list it.
  if (op.kind == OpKind::broadcast) order.place(task, op.lane, op.round, alike.first_like(op.src));
}

std::vector<double> capacities(const Cluster& cluster, const NetworkModel& model) {
  std::vector<double> rates;
  rates.reserve(cluster.links().size());
  for (const Link& link : cluster.links()) {
    const bool nvlink = link.kind == LinkKind::nvlink;
    rates.push_back(link.bandwidth_bytes_per_s *
                    (nvlink ? model.nvlink_efficiency : model.nic_efficiency));
  }
  return rates;
}

// What a message costs before its first byte flows, by the kind of its way.
double message_seconds(const Op& op, PathId path, const TaskGraph& graph, const Cluster& cluster,
                       const NetworkModel& model) {
  if (op.kind == OpKind::barrier) return 0;
  bool nvlink = false;
  for (const PathLink& crossed : graph.paths.of(path)) {
    if (crossed.link.index() >= cluster.links().size()) continue;
    if (cluster.link(crossed.link).kind != LinkKind::nvlink) return model.nic_message_s;
    nvlink = true;
  }
  return nvlink ? model.nvlink_message_s : 0;
}

// All of a group wait for the slowest.
double slowest(const std::vector<Rank>& ranks, const Cluster& cluster) {
  double times = 1;
  if (!cluster.has_slow_ranks()) return times;
  for (const Rank rank : ranks) times = std::max(times, cluster.slowness(rank));
  return times;
}

// Each op's path, delay and bytes.
void set_work(const Schedule& schedule, const Cluster& cluster, const NetworkModel& model,
              TaskGraph& graph) {
  PathTable paths(schedule, cluster, model, graph);
  const CodingRates coding =
      schedule.coding ? coding_rates(*schedule.coding, model) : CodingRates{};
  for (const Op& op : schedule.ops) {
    const PathId path = moves_bytes(op) ? paths.of(op) : 0;
    double delay_s = (model.latencies ? paths.latency_s(path) + request_seconds(op, cluster) : 0) +
                     message_seconds(op, path, graph, cluster, model);
    if (op.kind == OpKind::compute) {
      const std::vector<Rank>& ranks = schedule.groups[op.group.index()].ranks;
      delay_s = compute_seconds(op, ranks.size(), model, coding) * slowest(ranks, cluster);
    }
    if (op.kind == OpKind::barrier)
      delay_s = barrier_seconds(schedule.groups[op.group.index()].ranks.size(), model);
    graph.path.push_back(path);
    graph.delay_s.push_back(delay_s);
    graph.bytes.push_back(moves_bytes(op) ? static_cast<double>(op.bytes) : 0);
  }
}

}  // namespace

TaskGraph make_task_graph(const Schedule& schedule, const Cluster& cluster,
                          const NetworkModel& model) {
  REFIT_CHECK(schedule.ops.size() < std::numeric_limits<TaskId>::max() / 2);
  if (schedule.ranks > cluster.ranks()) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("schedule: {} ranks do not fit on the cluster's {} GPUs{}", schedule.ranks,
                    cluster.ranks(), cluster.spec().stores.empty() ? "" : " and stores"));
  }
  TaskGraph graph;
  graph.ops = schedule.ops.size();
  graph.paths.capacity_bytes_per_s = capacities(cluster, model);

  set_work(schedule, cluster, model, graph);
  const AlikeRanks alike(schedule);
  LaneOrder order(schedule.ranks, schedule.lanes, static_cast<TaskId>(graph.ops));
  for (std::size_t i = 0; i < graph.ops; ++i)
    order_op(schedule, alike, schedule.ops[i], static_cast<TaskId>(i), order);

  graph.path.resize(order.tasks(), 0);
  graph.delay_s.resize(order.tasks(), 0);
  graph.bytes.resize(order.tasks(), 0);
  set_edges(order.edges(), graph);
  return graph;
}

void set_edges(std::span<const Edge> edges, TaskGraph& graph) {
  graph.in_degree.assign(graph.tasks(), 0);
  graph.successor_begin.assign(graph.tasks() + 1, 0);
  for (const Edge& edge : edges) {
    ++graph.in_degree[edge.task];
    ++graph.successor_begin[edge.before + 1];
  }
  std::partial_sum(graph.successor_begin.begin(), graph.successor_begin.end(),
                   graph.successor_begin.begin());
  std::vector<std::uint32_t> next(graph.successor_begin.begin(), graph.successor_begin.end() - 1);
  REFIT_CHECK(edges.size() < std::numeric_limits<std::uint32_t>::max());
  graph.successors.resize(edges.size());
  for (const Edge& edge : edges) graph.successors[next[edge.before]++] = edge.task;
}

std::vector<bool> used_paths(const TaskGraph& graph) {
  std::vector<bool> used(graph.paths.size(), false);
  for (TaskId task = 0; task < graph.tasks(); ++task)
    if (graph.moves_bytes(task)) used[graph.path[task]] = true;
  return used;
}

std::vector<bool> used_links(const TaskGraph& graph) {
  const std::vector<bool> paths = used_paths(graph);
  std::vector<bool> used(graph.paths.capacity_bytes_per_s.size(), false);
  for (PathId path = 0; path < paths.size(); ++path) {
    if (!paths[path]) continue;
    for (const PathLink& crossed : graph.paths.of(path)) used[crossed.link.index()] = true;
  }
  return used;
}

std::vector<double> link_bytes(const TaskGraph& graph) {
  std::vector<double> bytes_of_path(graph.paths.size(), 0);
  for (std::size_t t = 0; t < graph.tasks(); ++t) bytes_of_path[graph.path[t]] += graph.bytes[t];
  std::vector<double> bytes(graph.paths.capacity_bytes_per_s.size(), 0);
  for (std::size_t p = 0; p < graph.paths.size(); ++p) {
    for (const PathLink& crossed : graph.paths.of(static_cast<PathId>(p))) {
      bytes[crossed.link.index()] += crossed.weight * bytes_of_path[p];
    }
  }
  return bytes;
}

}  // namespace refit::detail
