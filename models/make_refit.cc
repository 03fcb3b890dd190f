#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/block_layout.h"
#include "models/parallelism.h"
#include "models/select_rows.h"

namespace refit {
namespace {

// Tensors that agree in all of this have equal layouts on both sides.
struct ClassKey {
  int source_stage = 0;
  int destination_stage = 0;
  int source_key = 0;
  int destination_key = 0;
  const TensorSpec* tensor = nullptr;

  friend bool operator<(const ClassKey& a, const ClassKey& b) {
    const auto key = [](const ClassKey& k) {
      return std::tie(k.source_stage, k.destination_stage, k.source_key, k.destination_key,
                      k.tensor->role, k.tensor->mtp, k.tensor->dtype, k.tensor->part,
                      k.tensor->experts);
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

// One class, or one for each set of rows within which both layouts are products of sets.
void add_classes(const TensorSpec& tensor, const Members& members,
                 const std::vector<LayoutPart>& sources,
                 const std::vector<LayoutPart>& destinations,
                 const std::vector<Conversion>& conversions, Refit& refit) {
  const std::size_t first = refit.classes.size();
  for (const LayoutPart& from : sources) {
    for (const LayoutPart& to : destinations) {
      const IntervalSet rows = intersect(from.rows, to.rows);
      if (rows.empty()) continue;
      const bool is_first = refit.classes.size() == first;
      const auto tensors = static_cast<std::int64_t>(members.tensors.size());
      const std::int64_t in_checkpoint =
          tensor.experts > 0 ? tensors * rows.size() : (is_first ? tensors : 0);
      // Rows are dim 1 of a class, behind the member.
      refit.classes.push_back({tensor.name, tensor.dtype, tensor.role, tensor.mtp,
                               members.key.source_stage, members.tensors,
                               select_rows(from.layout, 1, places_in(from.rows, rows)),
                               select_rows(to.layout, 1, places_in(to.rows, rows)),
                               static_cast<int>(in_checkpoint), tensor.part, conversions,
                               tensor.scales});
    }
  }
  const std::size_t parts = refit.classes.size() - first;
  for (std::size_t p = 0; parts > 1 && p < parts; ++p)
    refit.classes[first + p].name += fmt::format(" (part {} of {})", p + 1, parts);
}

// Per entry of what travels instead of per element of the weight.
std::vector<Conversion> per_entry(std::vector<Conversion> conversions, const StoredTensor& stored) {
  std::int64_t elements = 1;
  for (const std::int64_t side : stored.block) elements *= side;
  for (Conversion& conversion : conversions) {
    conversion.read_bytes *= static_cast<double>(elements);
    conversion.written_bytes *= static_cast<double>(elements);
  }
  return conversions;
}

}  // namespace

Refit make_refit(const ModelSpec& model, const Parallelism& source, const Parallelism& destination,
                 int ranks, const Edge& edge) {
  std::map<ClassKey, std::size_t> class_at;
  std::vector<Members> classes;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const TensorSpec& tensor = model.tensors[t];
    const ClassKey key{source.stage_of(tensor), destination.stage_of(tensor),
                       source.layout_key(tensor), destination.layout_key(tensor), &tensor};
    const auto [at, is_new] = class_at.try_emplace(key, classes.size());
    if (is_new) classes.push_back({key, {}});
    classes[at->second].tensors.push_back(static_cast<std::int64_t>(t));
  }

  Refit refit;
  refit.ranks = ranks;
  refit.stages = source.stages();
  const Dtype main = main_dtype(model);
  for (const Members& members : classes) {
    const TensorSpec& tensor = *members.key.tensor;
    const int count = static_cast<int>(members.tensors.size());
    const std::vector<LayoutPart> from =
        source.layout_parts(tensor, members.key.source_stage, count);
    const std::vector<LayoutPart> to =
        destination.layout_parts(tensor, members.key.destination_stage, count);
    EdgeTensor sent{model,
                    tensor,
                    form_of(tensor, edge.source.precision, main),
                    {},
                    form_of(tensor, edge.destination.precision, main),
                    source.is_transposed(tensor),
                    destination.is_transposed(tensor)};
    sent.wire = wire_form(sent.source, sent.destination, edge.convert);
    check_blocks(tensor, sent.source, sent.wire, from, {source.gpus(), model.heads});
    check_blocks(tensor, sent.destination, sent.wire, to, {destination.gpus(), model.heads});
    // The weight, then its scales if it travels with some.
    const std::vector<StoredTensor> stored = stored_as(tensor, sent.wire);
    for (std::size_t p = 0; p < stored.size(); ++p) {
      add_classes(stored[p].tensor, members, stored_parts(stored[p], from),
                  stored_parts(stored[p], to),
                  p == 0 ? per_entry(conversions_of(sent, edge), stored[p])
                         : scale_conversions_of(sent, edge),
                  refit);
    }
  }
  refit.sources = all_ranks(refit.classes, &TensorClass::source);
  refit.destinations = all_ranks(refit.classes, &TensorClass::destination);
  return refit;
}

}  // namespace refit
