#include "models/fsdp.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/detail/fsdp_side.h"
#include "models/nearest_fit.h"

namespace refit {
namespace {

using detail::class_shape;
using detail::plan_split;
using detail::refuse;

class Fsdp : public detail::FsdpSide {
 public:
  Fsdp(const ModelSpec& model, const FsdpOptions& options)
      : FsdpSide(model, options),
        options_(options),
        etp_(options.expert_tensor.value_or(options.expert > 1 ? 1 : options.tensor)) {
    if (model.experts == 0) return;
    if (options.expert > 1 && options.stacked_experts == false) {
      refuse(
          "stacked_experts: expert parallelism divides one stacked parameter; leave this out, or "
          "use expert: 1");
    }
    if (etp_ != 1 && etp_ != options.tensor) {
      refuse(fmt::format("expert_tensor: {} is neither 1 nor tensor, which is {}; use one of them",
                         etp_, options.tensor));
    }
    const int copy = stage_ranks() / options.replicate;
    const int fixed =
        detail::dividing_product({{"expert", options.expert}, {"expert_tensor", etp_}}, copy,
                                 "ranks of one copy of a stage");
    detail::check_whole_experts(model, options.expert);
    shard_ranks_ = copy / fixed;
    // FSDP would leave ranks without experts, so that it turns to the next dim.
    deals_inside_experts_ = options.expert > 1 && shard_ranks_ * options.expert > model.experts;
  }

 private:
  Layout expert_layout(const TensorSpec& tensor, int stage, int members) const override {
    const int ep = options_.expert;
    const Mesh mesh(first_of(stage),
                    {{"dp_replicate", options_.replicate, shard_ranks_ * ep * etp_},
                     {"ep", ep, etp_},
                     {"etp", etp_, 1},
                     {"ep_shard", shard_ranks_, ep * etp_}});
    std::vector<Placement> placements(4);
    if (ep > 1) placements[1] = shard(1, Split::even());
    for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
      const TensorDim& dim = tensor.dims[d];
      if (dim.axis == Axis::ffn) placements[2] = shard(static_cast<int>(d) + 1, plan_split(dim));
    }
    placements[3] = dealt(is_stacked(tensor) && !deals_inside_experts_ ? 0 : 1);
    // FSDP pads a first dim but no other.
    if (deals_inside_experts_) placements[3].split = Split::even();
    try {
      return Layout(class_shape(tensor, members), mesh, std::move(placements));
    } catch (const Error&) {
      refuse_expert(tensor);
    }
  }

  bool is_stacked(const TensorSpec& tensor) const {
    if (tensor.experts == 0) return true;
    return options_.stacked_experts.value_or(options_.expert > 1);
  }

  [[noreturn]] void refuse_expert(const TensorSpec& tensor) const {
    for (const TensorDim& dim : tensor.dims) {
      for (const std::int64_t block : dim.blocks) {
        if (dim.axis != Axis::ffn || block % etp_ == 0) continue;
        refuse(fmt::format("expert_tensor: {} rows of {} do not divide evenly into {}", block,
                           tensor.name, etp_));
      }
    }
    const std::int64_t rows = tensor.dims[1].size;
    const std::int64_t piece = tensor.dims[1].axis == Axis::ffn ? rows / etp_ : rows;
    const int ranks = shard_ranks_ * options_.expert;
    const auto fits = [&](int ep) {
      if (ranks % ep != 0 || tensor.dims[0].size % ep != 0) return false;
      return ep > 1 && piece % (ranks / ep) == 0;
    };
    refuse(fmt::format(
        "expert: FSDP over {} ranks cuts each expert of {}, as there are more ranks than experts, "
        "but {} rows do not divide evenly into {}; use {}",
        shard_ranks_, tensor.name, piece, shard_ranks_, nearest_fit(options_.expert, ranks, fits)));
  }

  FsdpOptions options_;
  int etp_ = 1;
  int shard_ranks_ = 1;
  bool deals_inside_experts_ = false;
};

}  // namespace

std::unique_ptr<Parallelism> fsdp(const ModelSpec& model, const FsdpOptions& options) {
  return std::make_unique<Fsdp>(model, options);
}

}  // namespace refit
