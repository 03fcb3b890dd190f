#include "models/megatron_fsdp.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "models/detail/flat_unit.h"
#include "models/detail/training_ranks.h"
#include "models/nearest_fit.h"

namespace refit {
namespace {

using detail::FlatRules;
using detail::FlatShares;
using detail::refuse;

std::vector<int> stages_of(const ModelSpec& model, const MegatronFsdpOptions& options) {
  detail::dividing_product({{"pipeline", options.pipeline}}, options.gpus, "ranks of this side");
  if (options.stage_layers.empty() && model.layers % options.pipeline != 0) {
    refuse(fmt::format(
        "pipeline: {} layers do not divide evenly over {} stages; write "
        "stage_layers, or use {}",
        model.layers, options.pipeline, nearest_fit(options.pipeline, options.gpus, [&](int n) {
          return options.gpus % n == 0 && model.layers % n == 0;
        })));
  }
  return detail::written_stages_or_even(model, options.pipeline, options.stage_layers);
}

class MegatronFsdp : public detail::StagedSide {
 public:
  MegatronFsdp(const ModelSpec& model, const MegatronFsdpOptions& options)
      : StagedSide(options.gpus, stages_of(model, options)), options_(options) {
    check(model);
    const int stage = options.gpus / options.pipeline;
    const int copy = stage / options.replicate;
    rules_.parameters = options.parameters;
    rules_.heads = model.heads;
    rules_.heads.q_heads /= options.tensor;
    rules_.heads.kv_heads /= options.tensor;
    rules_.tensor = options.tensor;
    if (options.parameters == MegatronFsdpOptions::Parameters::megatron)
      rules_.vocab_multiple = options.vocab_divisible_by.value_or(1) * options.tensor;
    rules_.local_experts = model.experts / options.expert;
    rules_.shard_ranks = copy / options.tensor;
    rules_.expert_shard_ranks = copy / options.expert;
    pack(model);
  }

  int layout_key(const TensorSpec& tensor) const override { return shares_at_.at(tensor.name); }

  Layout layout(const TensorSpec& tensor, int stage, int members) const override {
    std::vector<LayoutPart> parts = layout_parts(tensor, stage, members);
    if (parts.size() > 1) {
      refuse(
          fmt::format("engine: experts of {} are cut at different rows, so that there is no one "
                      "layout; ask for its parts",
                      tensor.name));
    }
    return std::move(parts.front().layout);
  }

  std::vector<LayoutPart> layout_parts(const TensorSpec& tensor, int stage,
                                       int members) const override {
    const Rank first(options_.first.value + stage * (gpus() / stages()));
    const FlatShares& shares = shares_[static_cast<std::size_t>(layout_key(tensor))];
    std::vector<std::int64_t> shape{members};
    for (const TensorDim& dim : tensor.dims) shape.push_back(dim.size);
    const IntervalSet all = Interval{0, shape[1]};
    if (!detail::is_packed_by_expert(tensor, rules_)) {
      const bool padded = !shares.parts.empty() && tensor.dims[0].axis == Axis::vocab;
      return {{all, padded ? vocab_layout(std::move(shape), first, shares.parts.front())
                           : dense_layout(tensor, std::move(shape), first, shares)}};
    }
    std::vector<LayoutPart> parts;
    for (const FlatShares::Part& part : shares.parts) {
      const IntervalSet experts = on_all_ranks(part.experts);
      shape[1] = experts.size();
      parts.push_back({experts, expert_layout(shape, first, part)});
    }
    return parts;
  }

 private:
  void check(const ModelSpec& model) const {
    const bool as_checkpoint = options_.parameters == MegatronFsdpOptions::Parameters::checkpoint;
    const int stage = options_.gpus / options_.pipeline;
    detail::dividing_product({{"replicate", options_.replicate},
                              {"context", options_.context},
                              {"tensor", options_.tensor}},
                             stage, "ranks of a pipeline stage");
    for (const auto& [key, degree] :
         {std::pair("tensor", options_.tensor), std::pair("expert", options_.expert)}) {
      if (!as_checkpoint || degree == 1) continue;
      refuse(
          fmt::format("{}: {} is not to be had with parameters: checkpoint, which are those of "
                      "modules that know no such degree; use 1",
                      key, degree));
    }
    const HeadGroups& heads = model.heads;
    const auto fits = [&](int n) { return heads.q_heads % n == 0 && heads.kv_heads % n == 0; };
    if (!fits(options_.tensor)) {
      refuse(
          fmt::format("tensor: {} does not divide {} attention and {} key/value heads, and flat "
                      "buffers are described for whole heads; use {}",
                      options_.tensor, heads.q_heads, heads.kv_heads,
                      nearest_fit(options_.tensor, heads.q_heads, fits)));
    }
    for (const TensorSpec& tensor : model.tensors) {
      if (!tensor.mtp) continue;
      refuse(
          fmt::format("engine: how {} is packed is not described, as all of multi-token "
                      "prediction; leave `mtp` of the model out",
                      tensor.name));
    }
    if (model.experts == 0) return;
    if (options_.expert_tensor.value_or(options_.tensor) != 1) {
      refuse(
          fmt::format("{}: experts would be cut by {} ranks{}, and flat buffers are described "
                      "for whole ones; write expert_tensor: 1",
                      options_.expert_tensor ? "expert_tensor" : "tensor x expert_tensor",
                      options_.expert_tensor.value_or(options_.tensor),
                      options_.expert_tensor ? "" : ", as tensor says"));
    }
    detail::dividing_product({{"replicate", options_.replicate}, {"expert", options_.expert}},
                             stage, "ranks of a pipeline stage");
    detail::check_whole_experts(model, options_.expert);
  }

  // Layers of one kind are packed alike: each kind is packed once.
  void pack(const ModelSpec& model) {
    std::map<std::pair<bool, int>, std::vector<const TensorSpec*>> units;  // a layer, or a stage
    for (const TensorSpec& tensor : model.tensors) {
      const bool in_layer = tensor.layer.has_value();
      units[{in_layer, in_layer ? *tensor.layer : stage_of(tensor)}].push_back(&tensor);
    }
    std::map<std::string, int> known;  // kind of layer, to the shares of its first tensor
    for (const auto& [unit, tensors] : units) {
      const auto next = static_cast<int>(shares_.size());
      const auto at = unit.first ? known.try_emplace(kind_of(tensors), next).first->second : next;
      if (at == next) {
        std::vector<FlatShares> packed =
            unit.first ? detail::pack_layer(tensors, rules_)
                       : detail::pack_rest(tensors, rules_, options_.bucket_elements,
                                           model.tied_embeddings);
        for (FlatShares& shares : packed) shares_.push_back(std::move(shares));
      }
      for (std::size_t t = 0; t < tensors.size(); ++t)
        shares_at_[tensors[t]->name] = at + static_cast<int>(t);
    }
  }

  // All that packing asks for.
  static std::string kind_of(const std::vector<const TensorSpec*>& tensors) {
    std::string kind;
    for (const TensorSpec* tensor : tensors) {
      kind += fmt::format("{} {} {} {} {}:", static_cast<int>(tensor->role), tensor->part,
                          static_cast<int>(tensor->dtype), tensor->experts,
                          tensor->name.find("post_attention") != std::string::npos);
      for (const TensorDim& dim : tensor->dims) {
        kind += fmt::format(" {}/{}", dim.size, static_cast<int>(dim.axis));
        for (const std::int64_t block : dim.blocks) kind += fmt::format("+{}", block);
      }
      kind += "\n";
    }
    return kind;
  }

  // Local expert e of every expert parallel rank.
  IntervalSet on_all_ranks(const IntervalSet& local) const {
    std::vector<Interval> experts;
    for (int ep = 0; ep < options_.expert; ++ep) {
      const std::int64_t begin = std::int64_t{ep} * rules_.local_experts;
      for (const Interval& e : local.intervals())
        experts.push_back({begin + e.begin, begin + e.end});
    }
    return IntervalSet::of(std::move(experts));
  }

  Layout expert_layout(std::vector<std::int64_t> shape, Rank first,
                       const FlatShares::Part& part) const {
    const int ep = options_.expert, shards = rules_.expert_shard_ranks;
    const Mesh mesh(
        first,
        {{"dp_replicate", options_.replicate, shards * ep}, {"ep", ep, 1}, {"shard", shards, ep}});
    return Layout(std::move(shape), mesh,
                  {replicate(), shard(1, Split::even()), shard(2, Split::table(part.rows))});
  }

  Layout dense_layout(const TensorSpec& tensor, std::vector<std::int64_t> shape, Rank first,
                      const FlatShares& shares) const {
    const int tp = options_.tensor, shards = rules_.shard_ranks;
    const Mesh mesh(
        first,
        {{"dp_replicate", options_.replicate, shards * tp}, {"tp", tp, 1}, {"shard", shards, tp}});
    std::vector<Placement> placements(3);
    const int cut = on_expert_grid(tensor) ? -1 : detail::tensor_dim(tensor);
    if (cut >= 0) {
      const TensorDim& dim = tensor.dims[static_cast<std::size_t>(cut)];
      placements[1] =
          shard(cut + 1, dim.blocks.empty() ? Split::even() : Split::blocks(dim.blocks));
    }
    // A buffer is not packed: all ranks have it.
    if (!shares.parts.empty()) placements[2] = shard(1, Split::table(shares.parts.front().rows));
    return Layout(std::move(shape), mesh, std::move(placements));
  }

  // The rows of the last tensor parallel rank end in padding, which is packed like others but is
  // nobody's: no split of what tp leaves can say that, so one table does.
  Layout vocab_layout(std::vector<std::int64_t> shape, Rank first,
                      const FlatShares::Part& part) const {
    const int tp = options_.tensor, shards = rules_.shard_ranks;
    const std::int64_t rows = shape[1];
    const std::int64_t multiple = rules_.vocab_multiple;
    const std::int64_t local = (rows + multiple - 1) / multiple * multiple / tp;
    std::vector<Rank> ranks;
    std::vector<IntervalSet> pieces;
    for (int copy = 0; copy < options_.replicate; ++copy) {
      for (int t = 0; t < tp; ++t) {
        for (int s = 0; s < shards; ++s) {
          ranks.emplace_back(first.value + (copy * shards + s) * tp + t);
          if (copy > 0) continue;
          std::vector<Interval> mine;
          for (const Interval& r : part.rows[static_cast<std::size_t>(s)].intervals()) {
            mine.push_back(
                {std::min(rows, t * local + r.begin), std::min(rows, t * local + r.end)});
          }
          pieces.push_back(IntervalSet::of(std::move(mine)));
        }
      }
    }
    return Layout(std::move(shape),
                  Mesh(std::move(ranks),
                       {{"dp_replicate", options_.replicate, 1}, {"tp x shard", tp * shards, 1}}),
                  {replicate(), shard(1, Split::table(std::move(pieces)))});
  }

  MegatronFsdpOptions options_;
  FlatRules rules_;
  std::vector<FlatShares> shares_;
  std::unordered_map<std::string, int> shares_at_;
};

}  // namespace

std::unique_ptr<Parallelism> megatron_fsdp(const ModelSpec& model,
                                           const MegatronFsdpOptions& options) {
  return std::make_unique<MegatronFsdp>(model, options);
}

}  // namespace refit
