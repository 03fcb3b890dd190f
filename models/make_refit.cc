#include <algorithm>
#include <map>

#include "models/parallelism.h"

namespace refit {
namespace {

// Tensors that agree in all of this have equal layouts on both sides.
struct ClassKey {
  int source_stage = 0;
  int destination_stage = 0;
  const TensorSpec* tensor = nullptr;

  friend bool operator<(const ClassKey& a, const ClassKey& b) {
    const auto key = [](const ClassKey& k) {
      return std::tie(k.source_stage, k.destination_stage, k.tensor->role, k.tensor->mtp,
                      k.tensor->dtype, k.tensor->part, k.tensor->experts);
    };
    if (key(a) != key(b)) return key(a) < key(b);
    const auto& x = a.tensor->dims;
    const auto& y = b.tensor->dims;
    return std::lexicographical_compare(
        x.begin(), x.end(), y.begin(), y.end(), [](const TensorDim& l, const TensorDim& r) {
          return std::tie(l.size, l.axis, l.blocks) < std::tie(r.size, r.axis, r.blocks);
        });
  }
};

struct Members {
  ClassKey key;
  std::vector<std::int64_t> tensors;
  int checkpoint_tensors = 0;
};

std::vector<Rank> all_ranks(const std::vector<TensorClass>& classes, Layout TensorClass::*side) {
  std::vector<Rank> ranks;
  std::vector<const Mesh*> seen;
  for (const TensorClass& c : classes) {
    const Mesh& mesh = (c.*side).mesh();
    const auto same = [&](const Mesh* other) { return *other == mesh; };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    seen.push_back(&mesh);
    const std::vector<Rank> more = mesh.ranks();
    ranks.insert(ranks.end(), more.begin(), more.end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

Refit make_refit(const ModelSpec& model, const Parallelism& source, const Parallelism& destination,
                 int ranks) {
  std::map<ClassKey, std::size_t> class_at;
  std::vector<Members> classes;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const TensorSpec& tensor = model.tensors[t];
    const ClassKey key{source.stage_of(tensor), destination.stage_of(tensor), &tensor};
    const auto [at, is_new] = class_at.try_emplace(key, classes.size());
    if (is_new) classes.push_back({key, {}, 0});
    classes[at->second].tensors.push_back(static_cast<std::int64_t>(t));
    classes[at->second].checkpoint_tensors += tensor.checkpoint_tensors();
  }

  Refit refit;
  refit.ranks = ranks;
  refit.stages = source.stages();
  for (Members& members : classes) {
    const TensorSpec& tensor = *members.key.tensor;
    const int count = static_cast<int>(members.tensors.size());
    refit.classes.push_back({tensor.name, tensor.dtype, tensor.role, tensor.mtp,
                             members.key.source_stage, std::move(members.tensors),
                             source.layout(tensor, members.key.source_stage, count),
                             destination.layout(tensor, members.key.destination_stage, count),
                             members.checkpoint_tensors, tensor.part});
  }
  refit.sources = all_ranks(refit.classes, &TensorClass::source);
  refit.destinations = all_ranks(refit.classes, &TensorClass::destination);
  return refit;
}

}  // namespace refit
