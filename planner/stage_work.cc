#include "planner/stage_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "planner/contiguous_runs.h"

namespace refit {
namespace {

// Expert matrices of one layer that one rank holds; 1 for tensors that are no experts.
std::int64_t local_experts(const TensorClass& c) {
  if (c.role != Role::routed_expert || c.shape().size() < 4) return 1;
  std::int64_t most = 0;
  for (const IntervalSet& piece : c.source.dim_pieces(1).pieces)
    most = std::max(most, piece.size());
  return most;
}

bool is_sharded(const Layout& layout) {
  for (std::size_t a = 0; a < layout.placements().size(); ++a) {
    if (layout.placements()[a].sharded && layout.mesh().axes()[a].size > 1) return true;
  }
  return false;
}

// Parts that a tensor is cut into, replicas not counted.
std::int64_t distinct_shards(const Layout& layout) {
  std::int64_t shards = 1;
  for (int d = 0; d < static_cast<int>(layout.shape().size()); ++d)
    shards *= static_cast<std::int64_t>(layout.dim_pieces(d).pieces.size());
  return shards;
}

// Trainers keep gate and up, and q, k and v, as one parameter each: only the first of them counts.
bool rides_along(const TensorClass& c, const std::set<std::pair<int, std::string>>& parts) {
  const auto has = [&](const char* part) {
    return parts.contains({static_cast<int>(c.role), part});
  };
  if (c.part == "up") return has("gate");
  return (c.part == "k" || c.part == "v") && has("q");
}

double share_of(std::size_t c, std::span<const double> shares) {
  return shares.empty() ? 1 : shares[c];
}

constexpr double kMostRuns = std::numeric_limits<std::int32_t>::max();  // that an op counts

using Classes = std::vector<const TensorClass*>;

ConvertWork convert_work(int all_ranks, const Classes& classes, EdgeSide side) {
  ConvertWork work;
  std::vector<double> bytes;  // by rank; empty while there is nothing to convert
  for (const TensorClass* c : classes) {
    double per_element = 0;
    for (const Conversion& conversion : c->conversions) {
      if (conversion.side != side) continue;
      per_element += conversion.read_bytes + conversion.written_bytes;
      work.steps += c->checkpoint_tensors;
    }
    if (per_element <= 0) continue;
    bytes.resize(static_cast<std::size_t>(all_ranks), 0);
    const Layout& layout = side == EdgeSide::source ? c->source : c->destination;
    const std::vector<Rank> ranks = layout.mesh().ranks();
    const std::vector<std::int64_t> elements = layout.elements_by_index();
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      bytes[ranks[r].index()] += per_element * static_cast<double>(elements[r]);
    }
  }
  if (!bytes.empty()) work.bytes = std::llround(*std::max_element(bytes.begin(), bytes.end()));
  return work;
}

}  // namespace

ConvertWork convert_work(const Refit& refit, const std::vector<bool>& mine, EdgeSide side) {
  Classes classes;
  for (std::size_t i = 0; i < refit.classes.size(); ++i) {
    if (mine[i]) classes.push_back(&refit.classes[i]);
  }
  return convert_work(refit.ranks, classes, side);
}

std::vector<StageWork> stage_work(const Refit& refit, const std::vector<bool>& mine,
                                  std::span<const double> shares) {
  std::vector<StageWork> stages(static_cast<std::size_t>(refit.stages));
  std::vector<double> stacked_calls(stages.size(), 0), runs(stages.size(), 0);
  std::set<std::pair<int, std::string>> parts;
  std::vector<Classes> classes(stages.size());
  std::vector<const Mesh*> last_mesh(stages.size(), nullptr);
  for (const TensorClass& c : refit.classes) parts.insert({static_cast<int>(c.role), c.part});
  for (std::size_t i = 0; i < refit.classes.size(); ++i) {
    if (!mine[i]) continue;
    const TensorClass& c = refit.classes[i];
    StageWork& stage = stages[static_cast<std::size_t>(c.stage)];
    classes[static_cast<std::size_t>(c.stage)].push_back(&c);
    const auto members = static_cast<std::int64_t>(c.members.size());
    const std::int64_t experts = local_experts(c);
    stage.bytes += c.bytes();
    stage.calls += members;
    stage.shard_calls += members * distinct_shards(c.source);
    stage.checkpoint_tensors += c.checkpoint_tensors;
    if (c.role == Role::routed_expert) {
      stacked_calls[static_cast<std::size_t>(c.stage)] +=
          static_cast<double>(members) * share_of(i, shares);
    }
    if (!rides_along(c, parts)) {
      const int hops = (refit.stages > 1 ? 1 : 0) + (is_sharded(c.source) ? 1 : 0);
      stage.exports += members * experts * std::max(1, hops);
    }
    std::int64_t largest = 1;
    for (int d = 0; d < static_cast<int>(c.shape().size()); ++d) {
      std::int64_t side = 0;
      for (const IntervalSet& piece : c.source.dim_pieces(d).pieces)
        side = std::max(side, piece.size());
      largest *= side;
    }
    runs[static_cast<std::size_t>(c.stage)] += contiguous_runs(c.source, c.destination);
    stage.packed_bytes += largest * bytes_per_element(c.dtype);
    // Classes of a stage mostly share a mesh.
    const Mesh& mesh = c.source.mesh();
    if (last_mesh[static_cast<std::size_t>(c.stage)] != nullptr &&
        *last_mesh[static_cast<std::size_t>(c.stage)] == mesh) {
      continue;
    }
    last_mesh[static_cast<std::size_t>(c.stage)] = &mesh;
    const std::vector<Rank> ranks = mesh.ranks();
    stage.sources.insert(stage.sources.end(), ranks.begin(), ranks.end());
  }
  for (StageWork& stage : stages) {
    std::sort(stage.sources.begin(), stage.sources.end());
    stage.sources.erase(std::unique(stage.sources.begin(), stage.sources.end()),
                        stage.sources.end());
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    stages[s].stacked_calls = std::llround(stacked_calls[s]);
    stages[s].packed_runs = static_cast<std::int64_t>(std::min(runs[s], kMostRuns));
    stages[s].convert_before = convert_work(refit.ranks, classes[s], EdgeSide::source);
    stages[s].convert_after = convert_work(refit.ranks, classes[s], EdgeSide::destination);
  }
  return stages;
}

std::int64_t checkpoint_tensors(const Refit& refit, const std::vector<bool>& mine) {
  std::int64_t tensors = 0;
  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    if (mine[c]) tensors += refit.classes[c].checkpoint_tensors;
  }
  return tensors;
}

LandWork land_work(const Refit& refit, const std::vector<bool>& mine,
                   std::span<const double> shares) {
  struct Landed {
    std::int64_t bytes = 0;
    double runs = 0;
  };
  std::vector<Landed> landed(static_cast<std::size_t>(refit.ranks));
  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    if (!mine[c]) continue;
    const TensorClass& tensor_class = refit.classes[c];
    const Layout& layout = tensor_class.destination;
    const std::vector<Rank> ranks = layout.mesh().ranks();
    const std::vector<std::int64_t> elements = layout.elements_by_index();
    const double share = share_of(c, shares);
    const double runs = share * contiguous_runs(layout, tensor_class.source);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      Landed& rank = landed[ranks[i].index()];
      rank.bytes += std::llround(share * static_cast<double>(elements[i]) *
                                 bytes_per_element(tensor_class.dtype));
      rank.runs += runs;
    }
  }
  LandWork work{0, 1};
  for (const Landed& rank : landed) {
    work.bytes = std::max(work.bytes, rank.bytes);
    work.runs = std::max<std::int64_t>(work.runs, std::llround(std::min(rank.runs, kMostRuns)));
  }
  return work;
}

}  // namespace refit
