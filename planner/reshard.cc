#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "planner/replica_choice.h"
#include "planner/strategies.h"

namespace refit {
namespace {

// All parcels that take the same step at the same depth share one transfer per chunk.
struct Edge {
  Hop hop;
  std::vector<ParcelId> parcels;
  std::vector<std::size_t> brought_by;  // edges that bring the parcels to hop.src
  CargoId cargo;
  std::vector<OpId> op_of_chunk;
};

// The edges of one stage, by (depth, src, dst).
class Edges {
 public:
  std::size_t add(const Hop& hop, ParcelId parcel) {
    const std::uint64_t pair =
        (static_cast<std::uint64_t>(hop.src.index()) << 32) | hop.dst.index();
    const auto depth = static_cast<std::size_t>(hop.depth);
    if (depth >= at_.size()) at_.resize(depth + 1);
    const auto [at, is_new] = at_[depth].try_emplace(pair, edges_.size());
    if (is_new) edges_.push_back({hop, {}, {}, {}, {}});
    edges_[at->second].parcels.push_back(parcel);
    return at->second;
  }
  void brought_by(std::size_t edge, std::size_t earlier) {
    std::vector<std::size_t>& list = edges_[edge].brought_by;
    if (!list.empty() && list.back() == earlier) return;  // mostly all parcels come one way
    const std::uint64_t pair = (static_cast<std::uint64_t>(edge) << 32) | earlier;
    if (joined_.insert(pair).second) list.push_back(earlier);
  }
  std::vector<Edge>& all() { return edges_; }

 private:
  std::vector<std::unordered_map<std::uint64_t, std::size_t>> at_;  // [depth], by src and dst
  std::unordered_set<std::uint64_t> joined_;                        // pairs that are in brought_by
  std::vector<Edge> edges_;
};

struct StageEdges {
  Edges network, fanout;
};

StageEdges stage_edges(const StrategyInput& input, const ScheduleBuilder& builder, int stage,
                       const std::vector<SourcePosition>& positions) {
  StageEdges edges;
  struct Reached {
    ParcelId parcel;
    std::size_t edge = 0;
  };
  std::vector<Reached> reached(static_cast<std::size_t>(input.refit.ranks));  // by rank: lately
  for (const ParcelId id : input.parcels[static_cast<std::size_t>(stage)]) {
    const Parcel& parcel = builder.parcels()[id.index()];
    const Way way = choose_way(parcel, positions[id.index()], input.cluster, input.options);
    // The network edge that has brought this parcel to where the hop begins.
    const auto before = [&](const Hop& hop) {
      const Reached& here = reached[hop.src.index()];
      REFIT_CHECK(here.parcel == id);
      return here.edge;
    };
    for (const Hop& hop : way.network) {
      const std::size_t edge = edges.network.add(hop, id);
      if (hop.depth > 0) edges.network.brought_by(edge, before(hop));
      reached[hop.dst.index()] = {id, edge};
    }
    for (const Hop& hop : way.fanout) {
      const std::size_t edge = edges.fanout.add(hop, id);
      if (hop.depth > 0) edges.fanout.brought_by(edge, before(hop));
    }
  }
  return edges;
}

// Edges by depth: position in the pipeline.
std::vector<std::vector<Edge*>> by_depth(Edges& edges) {
  std::vector<std::vector<Edge*>> result;
  for (Edge& edge : edges.all()) {
    const auto depth = static_cast<std::size_t>(edge.hop.depth);
    if (result.size() <= depth) result.resize(depth + 1);
    result[depth].push_back(&edge);
  }
  return result;
}

void emit(std::vector<Edge*>& edges, int chunk, Slot slot, OpId call, std::vector<Edge>& network,
          ScheduleBuilder& builder) {
  std::vector<OpId> after;
  for (Edge* edge : edges) {
    after.clear();
    if (edge->brought_by.empty()) after.push_back(call);
    for (const std::size_t earlier : edge->brought_by) {
      after.push_back(network[earlier].op_of_chunk[static_cast<std::size_t>(chunk)]);
    }
    edge->op_of_chunk.push_back(builder.transfer(slot, edge->hop.src, edge->hop.dst, edge->cargo,
                                                 {chunk, chunk + 1}, after));
  }
}

// A stage is a pipeline: in round t the owners send chunk t, and a rank that hop h reached sends
// chunk t - h on. The NVLink lane runs beside it.
void emit_stage(StageEdges& edges, int stream, int chunks, OpId call, ScheduleBuilder& builder) {
  for (Edges* side : {&edges.network, &edges.fanout}) {
    for (Edge& edge : side->all()) edge.cargo = builder.cargo(edge.parcels);
  }
  auto network = by_depth(edges.network);
  auto fanout = by_depth(edges.fanout);
  const int first_network = builder.next_round(network_lane(stream));
  const int first_nvlink = builder.next_round(nvlink_lane(stream));
  const int rounds = chunks + static_cast<int>(std::max(network.size(), fanout.size()));
  for (int t = 0; t < rounds; ++t) {
    for (int depth = std::max(0, t - chunks + 1); depth <= t; ++depth) {
      const int chunk = t - depth;
      if (depth < static_cast<int>(network.size())) {
        emit(network[static_cast<std::size_t>(depth)], chunk,
             {network_lane(stream), first_network + t}, call, edges.network.all(), builder);
      }
      if (depth < static_cast<int>(fanout.size())) {
        emit(fanout[static_cast<std::size_t>(depth)], chunk,
             {nvlink_lane(stream), first_nvlink + t}, call, edges.network.all(), builder);
      }
    }
  }
}

}  // namespace

void reshard(const StrategyInput& input, ScheduleBuilder& builder) {
  builder.begin_phase("reshard");
  const std::vector<SourcePosition> positions = source_positions(builder.parcels());
  for_each_stage(input, [&](int stage, const StageWork& work, int stream) {
    const int lane = network_lane(stream);

    const std::vector<Rank> everyone = united(work.sources, input.refit.destinations);
    const GroupId sources = builder.group(work.sources);
    convert(lane, work.sources, work.convert_before, builder);
    if (input.conduct.stacks) {
      builder.compute({lane, builder.next_round(lane)}, Work::stack, sources, work.stacked_calls,
                      0);
    }
    builder.compute({lane, builder.next_round(lane)}, Work::pack, sources, work.packed_runs,
                    work.packed_bytes);
    const OpId call = builder.compute({lane, builder.next_round(lane)}, Work::call,
                                      builder.group(everyone), work.calls, 0);

    StageEdges edges = stage_edges(input, builder, stage, positions);
    emit_stage(edges, stream, input.options.chunks, call, builder);
  });
}

}  // namespace refit
