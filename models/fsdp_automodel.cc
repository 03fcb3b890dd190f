#include <fmt/format.h>

#include "models/detail/fsdp_side.h"
#include "models/fsdp.h"
#include "models/nearest_fit.h"
#include "models/precision.h"

namespace refit {
namespace {

using detail::refuse;

class Automodel : public detail::FsdpSide {
 public:
  Automodel(const ModelSpec& model, const AutomodelOptions& options)
      : FsdpSide(model, options), options_(options) {
    const int data = stage_ranks() / (options.tensor * options.context);
    if (options.replicate > 1 && options.replicate == data) {
      refuse(fmt::format(
          "replicate: {} leaves nothing to shard over; Automodel wants fewer copies than the {} "
          "data parallel ranks; use {}",
          options.replicate, data,
          nearest_fit(options.replicate, data - 1, [&](int n) { return data % n == 0; })));
    }
    if (model.experts == 0) return;
    if (options.tensor > 1) {
      refuse(
          fmt::format("tensor: {} is not to be had with experts, which Automodel trains without "
                      "tensor parallelism; use 1",
                      options.tensor));
    }
    detail::dividing_product({{"expert", options.expert}}, stage_ranks(),
                             "ranks of a pipeline stage");
    detail::check_whole_experts(model, options.expert);
  }

  // Checkpoints list [out, in]; gpt-oss has what Automodel has.
  bool is_transposed(const TensorSpec& tensor) const override {
    return tensor.dims.size() == 3 && on_expert_grid(tensor) && input_dim(tensor) == 2;
  }

 private:
  Layout expert_layout(const TensorSpec& tensor, int stage, int members) const override {
    const int ep = options_.expert;
    if (ep == 1) return undivided(tensor, stage, members);
    const int shards = stage_ranks() / ep;
    const Mesh mesh(first_of(stage), {{"ep_shard", shards, ep}, {"ep", ep, 1}});
    std::vector<Placement> placements{replicate(), shard(1, Split::even())};
    if (shards > 1) {
      // Dim 1 as it is stored; FSDP pads a first dim but no other.
      const int dim = tensor.dims.size() == 3 ? static_cast<int>(input_dim(tensor)) : 1;
      check_even(tensor, dim, shards);
      placements[0] = shard(dim + 1, Split::even());
    }
    return Layout(detail::class_shape(tensor, members), mesh, std::move(placements));
  }

  // Without expert parallelism experts are parameters like others: whole ones are dealt out.
  Layout undivided(const TensorSpec& tensor, int stage, int members) const {
    const int shards = stage_ranks() / options_.replicate;
    const Mesh mesh(first_of(stage),
                    {{"dp_replicate", options_.replicate, shards}, {"shard", shards, 1}});
    return Layout(detail::class_shape(tensor, members), mesh, {replicate(), dealt(0)});
  }

  void check_even(const TensorSpec& tensor, int dim, int shards) const {
    const std::int64_t rows = tensor.dims[static_cast<std::size_t>(dim)].size;
    if (rows % shards == 0) return;
    const int ranks = stage_ranks();
    const std::int64_t experts = tensor.dims[0].size;
    const auto fits = [&](int ep) {
      return ranks % ep == 0 && experts % ep == 0 && rows % (ranks / ep) == 0;
    };
    refuse(
        fmt::format("expert: {} leaves {} ranks to cut dim 1 of {}, and {} rows do not divide "
                    "evenly into {}; use {}",
                    options_.expert, shards, tensor.name, rows, shards,
                    nearest_fit(options_.expert, ranks, fits)));
  }

  AutomodelOptions options_;
};

}  // namespace

std::unique_ptr<Parallelism> automodel(const ModelSpec& model, const AutomodelOptions& options) {
  return std::make_unique<Automodel>(model, options);
}

}  // namespace refit
