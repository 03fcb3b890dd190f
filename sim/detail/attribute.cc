#include "sim/detail/attribute.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "sim/detail/graph_index.h"
#include "sim/network_parameters.h"

namespace refit::detail {
namespace {

std::size_t parameter_of(Work work) {
  switch (work) {
    case Work::export_tensors:
      return network_parameter("export_tensor");
    case Work::yield:
      return network_parameter("yield_tensor");
    case Work::pack:
      return network_parameter("pack_rate");
    case Work::pause:
      return network_parameter("pause");
    case Work::resume:
      return network_parameter("resume");
    case Work::describe:
      return network_parameter("describe_tensor");
    case Work::stack:
      return network_parameter("stack_call");
    case Work::assemble:
      return network_parameter("assemble_rate");
    case Work::host:
      return network_parameter("host_rate");
    case Work::call:
      return network_parameter("call");
    case Work::land:
      return network_parameter("land_rate");
    case Work::load:
      return network_parameter("load_tensor");
    case Work::pull:
      return network_parameter("pull_tensor");
    case Work::convert:
      return network_parameter("convert_rate");
    case Work::scan:
      return network_parameter("delta_scan");
    case Work::encode:
      return network_parameter("delta_encode");
    case Work::decode:
      return network_parameter("delta_decode");
    case Work::apply:
      return network_parameter("delta_apply");
    case Work::fixed:
    case Work::none:
    case Work::stream:
      return network_parameter("fixed");
  }
  return 0;
}

// When each task ended, those between ops included.
std::vector<double> ends_of(const TaskGraph& graph, const GraphIndex& index,
                            const Timeline& timeline) {
  std::vector<double> ends(graph.tasks(), 0);
  for (const TaskId task : index.order) {
    if (task < graph.ops) {
      ends[task] = timeline[task].end_s;
      continue;
    }
    for (const TaskId before : index.predecessors.of(task))
      ends[task] = std::max(ends[task], ends[before]);
  }
  return ends;
}

class Walk {
 public:
  Walk(const Schedule& schedule, const Cluster& cluster, const TaskGraph& graph)
      : schedule_(schedule),
        cluster_(cluster),
        graph_(graph),
        load_s_(link_bytes(graph_)),
        nic_(network_parameter("nic_efficiency")),
        nvlink_(network_parameter("nvlink_efficiency")),
        stream_(network_parameter("stream_rate")),
        barrier_(network_parameter("barrier")) {
    for (std::size_t l = 0; l < load_s_.size(); ++l)
      load_s_[l] /= graph_.paths.capacity_bytes_per_s[l];
  }

  Attribution run(const Timeline& timeline) {
    REFIT_CHECK(timeline.size() == graph_.ops);
    Attribution result;
    result.parameter_s.assign(network_parameters().size(), 0);
    if (timeline.empty()) return result;
    const GraphIndex index = make_graph_index(graph_);
    const std::vector<double> ends = ends_of(graph_, index, timeline);
    const auto latest = [&](TaskId a, TaskId b) { return ends[a] < ends[b]; };
    TaskId task = *std::max_element(index.order.begin(), index.order.end(), latest);
    result.total_s = ends[task];
    for (;;) {
      const auto before = index.predecessors.of(task);
      const double from =
          before.empty() ? 0 : ends[*std::max_element(before.begin(), before.end(), latest)];
      if (task < graph_.ops) account(task, ends[task] - from, result);
      if (before.empty()) break;
      task = *std::max_element(before.begin(), before.end(), latest);
    }
    return result;
  }

 private:
  void account(TaskId task, double seconds, Attribution& result) const {
    const Op& op = schedule_.ops[task];
    if (op.kind == OpKind::compute) {
      result.parameter_s[parameter_of(op.work)] += seconds;
      return;
    }
    if (op.kind == OpKind::barrier) {
      result.parameter_s[barrier_] += seconds;
      return;
    }
    const double latency_s = std::min(seconds, graph_.delay_s[task]);
    result.latency_s += latency_s;
    const auto path = graph_.paths.of(graph_.path[task]);
    if (path.empty()) return;
    const double wire_s = seconds - latency_s;
    if (op.work == Work::stream && runs_at_its_own_limit(task, wire_s)) {
      result.parameter_s[stream_] += wire_s;
      return;
    }
    // The link that has most to carry on the whole is the one that makes it wait.
    const auto busiest = std::max_element(path.begin(), path.end(), [&](auto& a, auto& b) {
      return load_s_[a.link.index()] < load_s_[b.link.index()];
    });
    const std::size_t link = busiest->link.index();
    const bool nvlink =
        link < cluster_.links().size() && cluster_.links()[link].kind == LinkKind::nvlink;
    result.parameter_s[nvlink ? nvlink_ : nic_] += wire_s;
  }

  // A stream has a link of its own, the last of its path; full all the time, it is what it waits
  // for.
  bool runs_at_its_own_limit(TaskId task, double wire_s) const {
    constexpr double kNearly = 1.01;
    const PathLink& last = graph_.paths.of(graph_.path[task]).back();
    if (last.link.index() < cluster_.links().size()) return false;
    const double rate = graph_.paths.capacity_bytes_per_s[last.link.index()];
    return wire_s <= kNearly * graph_.bytes[task] / rate;
  }

  const Schedule& schedule_;
  const Cluster& cluster_;
  const TaskGraph& graph_;
  std::vector<double> load_s_;  // by link: what it carries in all, at its rate
  const std::size_t nic_, nvlink_, stream_, barrier_;
};

}  // namespace

Attribution attribute(const Schedule& schedule, const Cluster& cluster, const TaskGraph& graph,
                      const Timeline& timeline) {
  return Walk(schedule, cluster, graph).run(timeline);
}

}  // namespace refit::detail
