#include "models/megatron.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "models/megatron_grids.h"
#include "models/megatron_stages.h"
#include "models/nearest_fit.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::int64_t fused_qkv_rows(const HeadGroups& heads) {
  const std::int64_t in_group = (heads.gated ? 2 : 1) * (heads.q_heads / heads.kv_heads) + 2;
  return heads.kv_heads * in_group * heads.head_dim;
}

// Megatron shares out whole heads of recurrent layers, and whole groups of them.
void check_recurrent_heads(const ModelSpec& model, int tensor) {
  const LinearHeads& heads = model.linear_heads;
  const std::pair<int, const char*> counts[] = {{heads.heads, "heads of recurrent layers"},
                                                {heads.key_heads, "key heads of delta nets"},
                                                {heads.mamba_groups, "groups of Mamba heads"}};
  const auto fits = [&](int n) {
    return heads_fit(model.heads, n) &&
           std::all_of(std::begin(counts), std::end(counts),
                       [&](const auto& c) { return c.first % n == 0; });
  };
  for (const auto& [count, what] : counts) {
    if (count % tensor == 0) continue;
    refuse(fmt::format("tensor: {} does not divide the {} {}; use {}", tensor, count, what,
                       nearest_fit(tensor, heads.heads, fits)));
  }
}

class Megatron : public Parallelism {
 public:
  Megatron(const ModelSpec& model, const MegatronOptions& options)
      : options_(options),
        heads_(model.heads),
        stages_(megatron_stages(model, options)),
        grids_(megatron_grids(model, options)),
        expert_tensor_hint_(refit::expert_tensor_hint(model, options)) {
    check_heads(model.heads, options.tensor);
    check_recurrent_heads(model, options.tensor);
    if (model.experts > 0 && model.experts % options.expert != 0) {
      const int sharers =
          grids_.experts.size() / options.pipeline / options.expert_tensor.value_or(options.tensor);
      const auto fits = [&](int n) { return model.experts % n == 0 && sharers % n == 0; };
      refuse(
          fmt::format("expert: {} does not divide {} experts; Megatron needs equal shares, use {}",
                      options.expert, model.experts, nearest_fit(options.expert, sharers, fits)));
    }
  }

  int gpus() const override { return options_.gpus; }
  int stages() const override { return options_.pipeline; }
  const std::vector<int>& stage_layers() const override { return stages_.layers; }

  int stage_of(const TensorSpec& tensor) const override {
    if (tensor.mtp) return stages_.mtp;
    if (tensor.layer) return stages_.stage_of_layer.at(static_cast<std::size_t>(*tensor.layer));
    if (tensor.role == Role::embedding) return 0;
    // Part of the last layer in Megatron, though a checkpoint lists it behind all layers.
    if (tensor.part == "output_residual") return stages_.stage_of_layer.back();
    return tensor.role == Role::norm ? stages_.final_norm : options_.pipeline - 1;
  }

  Layout layout(const TensorSpec& tensor, int stage, int members) const override {
    const Mesh mesh = (on_expert_grid(tensor) ? grids_.experts : grids_.dense).slice("pp", stage);
    const int ranks = mesh.axes()[kTensorAxis].size;
    std::vector<std::int64_t> shape{members};
    std::vector<Placement> placements(3);  // dp, cp, tp or edp, ep, etp
    for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
      const TensorDim& dim = tensor.dims[d];
      shape.push_back(dim.size);
      const int at = static_cast<int>(d) + 1;
      if (dim.axis == Axis::expert) {
        placements[kExpertAxis] = shard(at, Split::even());
      } else if (is_cut(tensor, d)) {
        check_rows(tensor, dim, ranks);
        placements[kTensorAxis] = shard(at, tensor_split(tensor, dim));
      }
    }
    return Layout(std::move(shape), mesh, std::move(placements));
  }

 private:
  // Of a grid without pp.
  static constexpr std::size_t kExpertAxis = 1, kTensorAxis = 2;

  static bool is_cut(const TensorSpec& tensor, std::size_t d) {
    // A column-parallel matrix here, which generation engines mostly replicate: so no axis of its
    // own.
    if (tensor.part == "mtp_proj") return d == 0;
    return tensor.dims[d].axis != Axis::none && tensor.dims[d].axis != Axis::expert;
  }

  // Whether these are rows of the fused matrix of softmax attention.
  bool in_fused_qkv(const TensorSpec& tensor) const {
    const bool qkv =
        tensor.part == "q" || tensor.part == "k" || tensor.part == "v" || tensor.part == "qkv";
    return qkv && heads_.kv_heads > 0 && tensor.role == Role::attention;
  }

  bool is_padded(const TensorDim& dim) const {
    return dim.axis == Axis::vocab && options_.vocab_divisible_by;
  }

  void check_rows(const TensorSpec& tensor, const TensorDim& dim, int ranks) const {
    if (is_padded(dim)) return;
    std::vector<std::int64_t> parts = dim.blocks;
    if (parts.empty()) parts.push_back(dim.size);
    const bool fused = in_fused_qkv(tensor) && heads_.kv_heads % ranks != 0;
    if (fused) parts = {fused_qkv_rows(heads_)};
    const auto share = [&](int n) {
      return std::all_of(parts.begin(), parts.end(), [&](auto rows) { return rows % n == 0; });
    };
    if (share(ranks)) return;
    const auto odd = std::find_if(parts.begin(), parts.end(), [&](auto p) { return p % ranks; });
    const bool expert = on_expert_grid(tensor);
    const int stage = options_.gpus / options_.pipeline;
    const auto fits = [&](int n) {
      return share(n) && stage % n == 0 && (expert || heads_fit(heads_, n));
    };
    refuse(fmt::format("{}: {} can't be cut by {} ranks: {} rows{} do not divide evenly; use {}{}",
                       expert ? "expert_tensor" : "tensor", tensor.name, ranks, *odd,
                       fused ? " of the fused QKV matrix" : "", nearest_fit(ranks, stage, fits),
                       expert ? expert_tensor_hint_ : ""));
  }

  Split tensor_split(const TensorSpec& tensor, const TensorDim& dim) const {
    if (is_padded(dim)) {
      return Split::padded(round_up(dim.size, *options_.vocab_divisible_by * options_.tensor));
    }
    if (in_fused_qkv(tensor) && heads_.kv_heads % options_.tensor != 0) {
      return qkv_split(tensor, dim);
    }
    return dim.blocks.empty() ? Split::even() : Split::blocks(dim.blocks);
  }

  // Fewer KV groups than ranks: the fused matrix is cut inside groups.
  Split qkv_split(const TensorSpec& tensor, const TensorDim& dim) const {
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
  MegatronStages stages_;
  MegatronGrids grids_;
  std::string expert_tensor_hint_;
};

}  // namespace

QkvRows megatron_qkv_rows(const HeadGroups& heads, int tensor, int tensor_rank) {
  const std::int64_t total = fused_qkv_rows(heads);
  if (total % tensor != 0) {
    refuse(
        fmt::format("a fused QKV matrix of {} rows does not divide evenly into {}", total, tensor));
  }
  return megatron_qkv_rows(heads,
                           {total / tensor * tensor_rank, total / tensor * (tensor_rank + 1)});
}

QkvRows megatron_qkv_rows(const HeadGroups& heads, Interval mine) {
  const std::int64_t d = heads.head_dim;
  const int per_group = heads.q_heads / heads.kv_heads;
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

std::optional<std::int64_t> bridge_vocab_divisor(const ModelSpec& model) {
  if (model.architecture == "KimiK3ForConditionalGeneration") return std::nullopt;
  // DeepSeek-V3 and Kimi K2, GLM-5 and Kimi K2.5.
  for (const char* name :
       {"DeepseekV3ForCausalLM", "GlmMoeDsaForCausalLM", "KimiK25ForConditionalGeneration"}) {
    if (model.architecture == name) return 1280;
  }
  std::int64_t divisor = 128;
  while (model.vocab % divisor != 0) divisor /= 2;
  return divisor;
}

std::unique_ptr<Parallelism> megatron(const ModelSpec& model, const MegatronOptions& options) {
  return std::make_unique<Megatron>(model, options);
}

}  // namespace refit
