#include "tests/sim/flow_graphs.h"

#include <algorithm>
#include <cmath>

namespace refit::test {

using detail::TaskGraph;
using detail::TaskId;

LinkId FlowGraphWriter::link(double bytes_per_s) {
  graph_.paths.capacity_bytes_per_s.push_back(bytes_per_s);
  return LinkId{static_cast<std::int64_t>(graph_.paths.capacity_bytes_per_s.size()) - 1};
}

PathId FlowGraphWriter::path(std::span<const PathLink> links) { return graph_.paths.add(links); }

TaskId FlowGraphWriter::task(PathId path, double bytes, double delay_s,
                             std::span<const TaskId> after) {
  const auto task = static_cast<TaskId>(graph_.path.size());
  graph_.path.push_back(path);
  graph_.bytes.push_back(bytes);
  graph_.delay_s.push_back(delay_s);
  for (const TaskId before : after) edges_.push_back({before, task});
  return task;
}

void FlowGraphWriter::change(double at_s, LinkId link, double bytes_per_s) {
  graph_.changes.push_back({at_s, link, bytes_per_s});
}

TaskGraph FlowGraphWriter::finish() {
  graph_.ops = graph_.tasks();
  detail::set_edges(edges_, graph_);
  std::ranges::stable_sort(graph_.changes, {}, &detail::LinkChange::at_s);
  return std::move(graph_);
}

Fabric::Fabric(const FabricShape& shape, FlowGraphWriter& graph) : shape_(shape), graph_(graph) {
  for (int gpu = 0; gpu < shape.gpus; ++gpu) {
    out_.push_back(graph.link(shape.nic_bytes_per_s));
    in_.push_back(graph.link(shape.nic_bytes_per_s));
  }
  if (shape.gpus_per_leaf == 0) return;
  const int leaves = (shape.gpus + shape.gpus_per_leaf - 1) / shape.gpus_per_leaf;
  for (int cable = 0; cable < leaves * shape.spines; ++cable) {
    up_.push_back(graph.link(shape.cable_bytes_per_s));
    down_.push_back(graph.link(shape.cable_bytes_per_s));
  }
}

std::vector<PathLink> Fabric::links(int src, int dst) const {
  std::vector<PathLink> links{{out_[static_cast<std::size_t>(src)], 1}};
  if (shape_.gpus_per_leaf > 0) {
    const int from = src / shape_.gpus_per_leaf, to = dst / shape_.gpus_per_leaf;
    // Any mixing of the pair will do that looks random and is not.
    const std::uint64_t pair =
        (static_cast<std::uint64_t>(src) << 32 | static_cast<std::uint64_t>(dst));
    const std::uint64_t mixed = (pair ^ pair >> 29) * 0x9E3779B97F4A7C15U;
    const int spine = static_cast<int>((mixed >> 33) % static_cast<std::uint64_t>(shape_.spines));
    if (from != to) {
      links.push_back({up_[static_cast<std::size_t>(from * shape_.spines + spine)], 1});
      links.push_back({down_[static_cast<std::size_t>(to * shape_.spines + spine)], 1});
    }
  }
  links.push_back({in_[static_cast<std::size_t>(dst)], 1});
  return links;
}

PathId Fabric::path(int src, int dst) {
  const auto pair = static_cast<std::uint64_t>(src) << 32 | static_cast<std::uint64_t>(dst);
  const auto [found, first] = paths_.try_emplace(pair, 0);
  if (first) found->second = graph_.path(links(src, dst));
  return found->second;
}

namespace {

// Tasks are numbered round by round, as the ops of a plan are.
template <class Send>
void in_rounds(int senders, int rounds, FlowGraphWriter& graph, Send&& send) {
  for (int round = 0; round < rounds; ++round) {
    for (int src = 0; src < senders; ++src) {
      const auto [path, bytes] = send(round, src);
      if (round == 0) {
        graph.task(path, bytes);
      } else {
        graph.task(path, bytes, 0,
                   static_cast<TaskId>(graph.so_far().tasks()) - static_cast<TaskId>(senders));
      }
    }
  }
}

}  // namespace

TaskGraph shifted_rounds(const FabricShape& shape, int rounds, double bytes) {
  FlowGraphWriter graph;
  Fabric fabric(shape, graph);
  const int half = shape.gpus / 2;
  in_rounds(half, rounds, graph, [&](int round, int src) {
    return std::pair(fabric.path(src, half + (src + round) % half), bytes);
  });
  return graph.finish();
}

TaskGraph random_m2n(const FabricShape& shape, int rounds, std::uint32_t seed) {
  std::mt19937 random(seed);
  FlowGraphWriter graph;
  Fabric fabric(shape, graph);
  const int half = shape.gpus / 2;
  in_rounds(half, rounds, graph, [&](int /*round*/, int src) {
    const int dst = half + static_cast<int>(random() % static_cast<unsigned>(half));
    const double bytes = 1e6 + static_cast<double>(random() % 254'000'000U);
    return std::pair(fabric.path(src, dst), bytes);
  });
  return graph.finish();
}

namespace {

class RandomFlowGraph {
 public:
  RandomFlowGraph(std::uint32_t seed, const Hardships& hard) : random_(seed), hard_(hard) {}

  TaskGraph make(Traffic traffic, Wires wires) {
    shape_.gpus = 8 << pick(3);
    if (wires == Wires::clos || wires == Wires::oversubscribed) {
      shape_.gpus_per_leaf = 4;
      shape_.spines = 4;
      shape_.cable_bytes_per_s =
          wires == Wires::clos ? shape_.nic_bytes_per_s : shape_.nic_bytes_per_s / 2;
    }
    Fabric fabric(shape_, graph_);
    fabric_ = &fabric;
    write(traffic);
    TaskGraph graph = graph_.finish();
    if (wires == Wires::uneven) {
      for (double& capacity : graph.paths.capacity_bytes_per_s) capacity *= between(0.2, 2);
    }
    return graph;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(double p) { return between(0, 1) < p; }
  double between(double low, double high) {
    return low + (high - low) * (static_cast<double>(random_()) / 4294967296.0);
  }
  // A few sizes come up often, so that flows end together.
  double bytes() {
    if (chance(0.05)) return 0;
    return chance(0.4) ? 64e6 : std::floor(between(1e6, 512e6));
  }
  double delay_s() { return hard_.delays && chance(0.6) ? 1e-6 * (1 + pick(200)) : 0; }

  PathId path(int src, int dst) {
    const bool weighted = hard_.weights && chance(0.3);
    const bool capped = hard_.caps && chance(0.3);
    if (!weighted && !capped) return fabric_->path(src, dst);
    std::vector<PathLink> links = fabric_->links(src, dst);
    if (weighted) {
      const double unit = chance(0.5) ? 1 : 0.25;  // of a flow that is a share of a larger one
      for (PathLink& crossed : links) crossed.weight = unit * (1 + pick(3));
      links[static_cast<std::size_t>(pick(2))].weight = unit;  // SimGrid takes whole multiples
    }
    if (capped) {
      links.push_back({graph_.link(between(0.05, 0.9) * shape_.nic_bytes_per_s), links[0].weight});
    }
    return graph_.path(links);
  }

  TaskId send(int src, int dst, std::span<const TaskId> after = {}) {
    return graph_.task(path(src, dst), bytes(), delay_s(), after);
  }

  void write(Traffic traffic) {
    const int half = shape_.gpus / 2;
    const auto receiver = [&] { return half + pick(half); };
    const int each = traffic == Traffic::chains ? 3 + pick(18) : 2 + pick(6);
    for (int src = 0; src < half; ++src) {
      std::vector<TaskId> sent;
      const int shift = pick(half);
      for (int i = 0; i < each; ++i) {
        switch (traffic) {
          case Traffic::burst:
            send(src, receiver());
            break;
          case Traffic::chains:
            // Half of the time to the same receiver again, so that a flow may be handed over.
            if (i == 0 || chance(0.5)) dst_ = receiver();
            sent.push_back(send(src, dst_, std::span(sent).last(std::min(sent.size(), 1UL))));
            break;
          case Traffic::m2n:
            sent.push_back(send(src, half + (src + shift + i) % half,
                                std::span(sent)
                                    .first(sent.size() < 2 ? 0 : sent.size() - 1)
                                    .last(sent.size() < 2 ? 0 : 1)));
            break;
        }
      }
    }
    write_changes();
  }

  // Within the time that the case takes without them: some 10 ms per transfer in a row.
  void write_changes() {
    const auto any_link = [&] {
      const std::size_t links = graph_.so_far().paths.capacity_bytes_per_s.size();
      return LinkId{pick(static_cast<int>(links))};
    };
    for (int i = 0; hard_.rate_changes && i < 6; ++i) {
      const LinkId link = any_link();
      graph_.change(between(0, 0.05), link, between(0.1, 3) * graph_.capacity(link));
    }
    for (int i = 0; hard_.failures && i < 3; ++i) {
      const LinkId link = any_link();
      const double at_s = chance(0.1) ? 0 : between(0, 0.03);
      graph_.change(at_s, link, 0);
      if (chance(0.7))
        graph_.change(at_s + between(0, 0.05), link, between(0.5, 1.5) * graph_.capacity(link));
    }
  }

  std::mt19937 random_;
  Hardships hard_;
  FabricShape shape_;
  FlowGraphWriter graph_;
  Fabric* fabric_ = nullptr;
  int dst_ = 0;
};

}  // namespace

TaskGraph random_flow_graph(std::uint32_t seed, Traffic traffic, Wires wires,
                            const Hardships& hard) {
  return RandomFlowGraph(seed, hard).make(traffic, wires);
}

}  // namespace refit::test
