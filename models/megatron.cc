#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/error.h"
#include "models/parallelism.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void check_degree(const char* key, int degree, int gpus) {
  if (degree < 1) refuse(fmt::format("{}: {} is not a degree; use 1 or more", key, degree));
  if (gpus % degree != 0) {
    std::vector<int> divisors;
    for (int d = 1; d <= gpus && divisors.size() < 16; ++d) {
      if (gpus % d == 0) divisors.push_back(d);
    }
    refuse(fmt::format("{}: {} does not divide {} ranks; use one of {}", key, degree, gpus,
                       fmt::join(divisors, ", ")));
  }
}

void check_stage_size(const char* key, int layers) {
  if (layers < 0) refuse(fmt::format("{}: {} is no number of layers; use 0 or more", key, layers));
}

class Megatron : public Parallelism {
 public:
  Megatron(const ModelSpec& model, const MegatronOptions& options)
      : options_(options),
        heads_(model.heads),
        stage_layers_(megatron_stage_layers(model.layers, options)),
        dense_(Rank{}, {}),
        expert_(Rank{}, {}) {
    const int etp = options.expert_tensor.value_or(options.tensor);
    check_degree("tensor", options.tensor, options.gpus);
    check_degree("pipeline", options.pipeline, options.gpus);
    const int stage = options.gpus / options.pipeline;
    check_product("tensor x context", options.tensor, options.context, stage);
    if (model.experts > 0) check_product("expert x expert_tensor", options.expert, etp, stage);
    check_heads(model.heads, options.tensor);
    if (model.experts > 0 && model.experts % options.expert != 0) {
      refuse(fmt::format("expert: {} does not divide {} experts; Megatron needs equal shares",
                         options.expert, model.experts));
    }
    dense_ = Mesh::row_major(options.first, {{"pp", options.pipeline},
                                             {"dp", stage / (options.tensor * options.context)},
                                             {"cp", options.context},
                                             {"tp", options.tensor}});
    const int expert_ranks = model.experts > 0 ? options.expert * etp : 1;
    expert_ = Mesh::row_major(options.first, {{"pp", options.pipeline},
                                              {"edp", stage / expert_ranks},
                                              {"ep", model.experts > 0 ? options.expert : 1},
                                              {"etp", model.experts > 0 ? etp : 1}});
    int layer = 0;
    for (std::size_t s = 0; s < stage_layers_.size(); ++s) {
      for (int i = 0; i < stage_layers_[s]; ++i, ++layer)
        stage_of_layer_.push_back(static_cast<int>(s));
    }
  }

  int gpus() const override { return options_.gpus; }
  int stages() const override { return options_.pipeline; }
  const std::vector<int>& stage_layers() const override { return stage_layers_; }

  int stage_of(const TensorSpec& tensor) const override {
    if (tensor.mtp) return options_.pipeline - 1;
    if (tensor.layer) return stage_of_layer_.at(static_cast<std::size_t>(*tensor.layer));
    return tensor.role == Role::embedding ? 0 : options_.pipeline - 1;
  }

  Layout layout(const TensorSpec& tensor, int stage, int members) const override {
    const bool expert = on_expert_grid(tensor);
    const Mesh mesh = (expert ? expert_ : dense_).slice("pp", stage);
    std::vector<std::int64_t> shape{members};
    std::vector<Placement> placements(3);  // dp, cp, tp or edp, ep, etp
    try {
      for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
        const TensorDim& dim = tensor.dims[d];
        shape.push_back(dim.size);
        const int at = static_cast<int>(d) + 1;
        if (dim.axis == Axis::expert) {
          placements[1] = shard(at, Split::even());
        } else if (dim.axis != Axis::none) {
          placements[2] = shard(at, tensor_split(tensor, dim));
        }
      }
      // A column-parallel matrix here, which generation engines mostly replicate: so no axis of its
      // own.
      if (tensor.part == "mtp_proj") placements[2] = shard(1, Split::even());
      return Layout(std::move(shape), mesh, std::move(placements));
    } catch (const Error& error) {
      refuse(fmt::format("{}: {} can't be cut by {} ranks: {}", expert ? "expert_tensor" : "tensor",
                         tensor.name, mesh.axes()[2].size, error.what()));
    }
  }

 private:
  void check_product(const char* key, int a, int b, int stage) const {
    const std::int64_t product = std::int64_t{a} * b;
    if (a < 1 || b < 1 || stage % product != 0) {
      refuse(fmt::format(
          "{}: {} ranks do not divide the {} ranks of a pipeline stage ({} ranks / pipeline {})",
          key, product, stage, options_.gpus, options_.pipeline));
    }
  }

  Split tensor_split(const TensorSpec& tensor, const TensorDim& dim) const {
    if (dim.axis == Axis::vocab) {
      return Split::padded(round_up(dim.size, options_.vocab_divisible_by * options_.tensor));
    }
    const bool in_fused_qkv =
        tensor.part == "q" || tensor.part == "k" || tensor.part == "v" || tensor.part == "qkv";
    if (in_fused_qkv && heads_.kv_heads > 0 && tensor.role == Role::attention)
      return qkv_split(tensor, dim);
    return dim.blocks.empty() ? Split::even() : Split::blocks(dim.blocks);
  }

  Split qkv_split(const TensorSpec& tensor, const TensorDim& dim) const {
    if (heads_.kv_heads % options_.tensor == 0) {
      return dim.blocks.empty() ? Split::even() : Split::blocks(dim.blocks);
    }
    std::vector<IntervalSet> pieces;
    for (int t = 0; t < options_.tensor; ++t) {
      const QkvRows rows = megatron_qkv_rows(heads_, options_.tensor, t);
      if (tensor.part == "qkv") {
        pieces.push_back(stack({rows.q, rows.k, rows.v}, dim.blocks));
      } else {
        pieces.push_back(tensor.part == "q" ? rows.q : tensor.part == "k" ? rows.k : rows.v);
      }
    }
    return Split::table(std::move(pieces));
  }

  MegatronOptions options_;
  HeadGroups heads_;
  std::vector<int> stage_layers_;
  std::vector<int> stage_of_layer_;
  Mesh dense_;
  Mesh expert_;
};

}  // namespace

std::vector<int> megatron_stage_layers(int layers, const MegatronOptions& options) {
  const int stages = options.pipeline;
  if (stages < 1) refuse(fmt::format("pipeline: {} is not a degree; use 1 or more", stages));
  if (!options.stage_layers.empty()) {
    if (options.first_stage_layers || options.last_stage_layers) {
      refuse(
          "stage_layers: every stage is written out; leave out first_stage_layers and "
          "last_stage_layers");
    }
    for (const int size : options.stage_layers) check_stage_size("stage_layers", size);
    const std::int64_t sum =
        std::accumulate(options.stage_layers.begin(), options.stage_layers.end(), std::int64_t{0});
    if (static_cast<int>(options.stage_layers.size()) != stages || sum != layers) {
      refuse(fmt::format(
          "stage_layers: {} stages with {} layers are written out, but pipeline is {} and the "
          "model has {} layers",
          options.stage_layers.size(), sum, stages, layers));
    }
    return options.stage_layers;
  }
  const int first = options.first_stage_layers.value_or(0);
  const int last = options.last_stage_layers.value_or(0);
  check_stage_size("first_stage_layers", first);
  check_stage_size("last_stage_layers", last);
  const int fixed = (options.first_stage_layers ? 1 : 0) + (options.last_stage_layers ? 1 : 0);
  const int middle = stages - fixed;
  const std::int64_t rest = std::int64_t{layers} - first - last;
  if (middle < 0 || rest < 0) {
    refuse(fmt::format(
        "pipeline: {} layers over {} stages can't have {} in the first and {} in the last; "
        "set only what fits",
        layers, stages, first, last));
  }
  if ((middle == 0 && rest != 0) || (middle > 0 && rest % middle != 0)) {
    refuse(
        fmt::format("pipeline: {} layers{} do not divide evenly over {} stages; set "
                    "first_stage_layers and last_stage_layers so that the rest does",
                    rest, fixed > 0 ? " that are left for the middle" : "", middle));
  }
  std::vector<int> sizes;
  if (options.first_stage_layers) sizes.push_back(first);
  for (int s = 0; s < middle; ++s) sizes.push_back(static_cast<int>(rest / middle));
  if (options.last_stage_layers) sizes.push_back(last);
  return sizes;
}

QkvRows megatron_qkv_rows(const HeadGroups& heads, int tensor, int tensor_rank) {
  const std::int64_t d = heads.head_dim;
  const int per_group = heads.q_heads / heads.kv_heads;
  const std::int64_t group_rows = ((heads.gated ? 2 : 1) * per_group + 2) * d;
  const std::int64_t total = heads.kv_heads * group_rows;
  if (total % tensor != 0) {
    refuse(
        fmt::format("a fused QKV matrix of {} rows does not divide evenly into {}", total, tensor));
  }
  const Interval mine{total / tensor * tensor_rank, total / tensor * (tensor_rank + 1)};

  std::vector<Interval> q, k, v;
  std::int64_t fused = 0;  // first row of the block in the fused matrix
  const auto take = [&](std::vector<Interval>& rows, std::int64_t checkpoint_row) {
    const Interval held{std::max(mine.begin, fused), std::min(mine.end, fused + d)};
    if (held.begin < held.end) {
      rows.push_back({checkpoint_row + held.begin - fused, checkpoint_row + held.end - fused});
    }
    fused += d;
  };
  // A gated checkpoint alternates query and gate head by head; Megatron groups each kind.
  const std::int64_t q_rows = heads.gated ? 2 * d : d;
  for (int g = 0; g < heads.kv_heads; ++g) {
    for (int i = 0; i < per_group; ++i) take(q, (g * per_group + i) * q_rows);
    for (int i = 0; heads.gated && i < per_group; ++i) take(q, (g * per_group + i) * q_rows + d);
    take(k, g * d);
    take(v, g * d);
  }
  return {IntervalSet::of(std::move(q)), IntervalSet::of(std::move(k)),
          IntervalSet::of(std::move(v))};
}

std::unique_ptr<Parallelism> megatron(const ModelSpec& model, const MegatronOptions& options) {
  return std::make_unique<Megatron>(model, options);
}

}  // namespace refit
