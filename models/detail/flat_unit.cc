#include "models/detail/flat_unit.h"

#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "models/detail/training_ranks.h"

namespace refit::detail {
namespace {

// Experts with the same borders share a part.
void add_share(FlatShares& shares, int expert, std::vector<IntervalSet> rows) {
  const IntervalSet number = expert < 0 ? Interval{} : Interval{expert, expert + std::int64_t{1}};
  for (FlatShares::Part& part : shares.parts) {
    if (part.rows != rows) continue;
    std::vector<Interval> experts = part.experts.intervals();
    experts.insert(experts.end(), number.intervals().begin(), number.intervals().end());
    part.experts = IntervalSet::of(std::move(experts));
    return;
  }
  shares.parts.push_back({number, std::move(rows)});
}

void pack_bucket(const std::vector<Parameter>& parameters, int ranks, const Tensors& tensors,
                 const FlatRules& rules, std::vector<FlatShares>& shares) {
  std::vector<FlatParameter> shapes;
  for (const Parameter& p : parameters) shapes.push_back(p.shape());
  try {
    const FlatBucket bucket(std::move(shapes), ranks);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      const Parameter& parameter = parameters[p];
      std::vector<std::vector<IntervalSet>> by_tensor(parameter.tensors.size());
      for (const IntervalSet& rows : bucket.rows_by_rank(static_cast<int>(p))) {
        const auto of = tensor_rows(parameter, rows, tensors, rules);
        for (std::size_t t = 0; t < of.size(); ++t) by_tensor[t].push_back(of[t]);
      }
      for (std::size_t t = 0; t < by_tensor.size(); ++t)
        add_share(shares[parameter.tensors[t]], parameter.expert, std::move(by_tensor[t]));
    }
  } catch (const Error& error) {
    refuse(fmt::format("gpus: the flat buffer of {} can't be divided among {} ranks: {}",
                       tensors[parameters.front().tensors.front()]->name, ranks, error.what()));
  }
}

}  // namespace

std::vector<FlatShares> pack_layer(const Tensors& tensors, const FlatRules& rules) {
  std::map<std::pair<bool, Dtype>, std::vector<Parameter>> buckets;
  for (Parameter& p : layer_parameters(tensors, rules)) {
    const TensorSpec& tensor = *tensors[p.tensors.front()];
    buckets[{on_expert_grid(tensor), tensor.dtype}].push_back(std::move(p));
  }
  std::vector<FlatShares> shares(tensors.size());
  for (const auto& [kind, parameters] : buckets) {
    const int ranks = kind.first ? rules.expert_shard_ranks : rules.shard_ranks;
    pack_bucket(parameters, ranks, tensors, rules, shares);
  }
  return shares;
}

std::vector<FlatShares> pack_rest(const Tensors& tensors, const FlatRules& rules,
                                  std::int64_t bucket_elements, bool tied_embeddings) {
  std::map<Dtype, std::vector<Parameter>> open;
  std::vector<FlatShares> shares(tensors.size());
  const auto close = [&](std::vector<Parameter>& bucket) {
    if (!bucket.empty()) pack_bucket(bucket, rules.shard_ranks, tensors, rules, shares);
    bucket.clear();
  };
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const FlatParameter shape = local_shape(*tensors[t], rules);
    const bool alone = tied_embeddings && tensors[t]->role == Role::embedding;
    std::vector<Parameter>& bucket = open[tensors[t]->dtype];
    if (alone) close(bucket);
    bucket.push_back({{t}, {shape.rows}, shape.width});
    std::int64_t elements = 0;
    for (const Parameter& p : bucket) elements += p.shape().elements();
    if (alone || elements >= bucket_elements) close(bucket);
  }
  for (auto& [dtype, bucket] : open) close(bucket);
  return shares;
}

}  // namespace refit::detail
