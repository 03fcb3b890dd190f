#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "models/parallelism.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

constexpr std::int64_t kVocabMultiple = 64;  // vLLM pads the vocabulary to this

std::int64_t engine_ranks(const VllmOptions& options) {
  const std::pair<const char*, int> degrees[] = {
      {"tensor", options.tensor}, {"pipeline", options.pipeline}, {"data", options.data}};
  std::int64_t product = 1;
  for (const auto& [key, degree] : degrees) {
    if (degree < 1) refuse(fmt::format("{}: {} is not a degree; use 1 or more", key, degree));
    product *= degree;
  }
  return product;
}

class Vllm : public Parallelism {
 public:
  Vllm(const ModelSpec& model, const VllmOptions& options)
      : options_(options),
        heads_(model.heads),
        stage_layers_(vllm_stage_layers(model.layers, options.pipeline)),
        mesh_(Rank{}, {}) {
    const std::int64_t engine = engine_ranks(options);
    if (options.gpus % engine != 0) {
      refuse(fmt::format("tensor x pipeline x data: an engine of {} ranks does not divide {} ranks",
                         engine, options.gpus));
    }
    check_heads(model.heads, options.tensor);
    mesh_ = Mesh::row_major(options.first, {{"engine", static_cast<int>(options.gpus / engine)},
                                            {"dp", options.data},
                                            {"pp", options.pipeline},
                                            {"tp", options.tensor}});
    for (std::size_t s = 0; s < stage_layers_.size(); ++s) {
      stage_of_layer_.insert(stage_of_layer_.end(), static_cast<std::size_t>(stage_layers_[s]),
                             static_cast<int>(s));
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
    const Mesh ranks = mesh_.slice("pp", stage);
    // Experts see data x tensor ranks of an engine as one axis, data outermost.
    const int engines = mesh_.axes()[0].size;
    const Mesh mesh = expert ? Mesh(ranks.ranks(), {{"engine", engines, 1},
                                                    {"moe", options_.data * options_.tensor, 1}})
                             : ranks;
    const std::size_t cut = mesh.axes().size() - 1;
    std::vector<std::int64_t> shape{members};
    std::vector<Placement> placements(mesh.axes().size());
    for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
      const TensorDim& dim = tensor.dims[d];
      shape.push_back(dim.size);
      const int at = static_cast<int>(d) + 1;
      if (dim.axis == Axis::none) continue;
      if (dim.axis == Axis::expert) {
        if (options_.expert_parallel) placements[cut] = shard(at, Split::balanced());
      } else if (!(expert && options_.expert_parallel)) {
        placements[cut] = shard(at, tensor_split(tensor, dim));
      }
    }
    try {
      return Layout(std::move(shape), mesh, std::move(placements));
    } catch (const Error& error) {
      refuse(fmt::format("tensor: {} can't be cut by {} ranks: {}", tensor.name,
                         mesh.axes()[cut].size, error.what()));
    }
  }

 private:
  Split tensor_split(const TensorSpec& tensor, const TensorDim& dim) const {
    if (dim.axis == Axis::vocab) {
      return Split::padded((dim.size + kVocabMultiple - 1) / kVocabMultiple * kVocabMultiple);
    }
    // The projections themselves, not per-head vectors of other attention kinds.
    if (dim.axis == Axis::kv_head && tensor.role == Role::attention && heads_.kv_heads > 0 &&
        heads_.kv_heads < options_.tensor) {
      return Split::shared(heads_.kv_heads);
    }
    if (tensor.part == "qkv" && tensor.role == Role::attention && heads_.kv_heads > 0 &&
        heads_.kv_heads < options_.tensor) {
      return fused_qkv_split(dim);
    }
    return dim.blocks.empty() ? Split::even() : Split::blocks(dim.blocks);
  }

  // [q; k; v] in one checkpoint tensor, with key and value heads shared.
  Split fused_qkv_split(const TensorDim& dim) const {
    const int n = options_.tensor;
    const Split splits[] = {Split::even(), Split::shared(heads_.kv_heads),
                            Split::shared(heads_.kv_heads)};
    REFIT_CHECK(dim.blocks.size() == std::size(splits));
    std::vector<IntervalSet> pieces;
    for (int i = 0; i < n; ++i) {
      std::vector<IntervalSet> parts;
      for (std::size_t b = 0; b < dim.blocks.size(); ++b) {
        parts.push_back(splits[b].piece(dim.blocks[b], n, i));
      }
      pieces.push_back(stack(parts, dim.blocks));
    }
    return Split::table(std::move(pieces));
  }

  VllmOptions options_;
  HeadGroups heads_;
  std::vector<int> stage_layers_;
  std::vector<int> stage_of_layer_;
  Mesh mesh_;
};

}  // namespace

std::vector<int> vllm_stage_layers(int layers, int stages) {
  if (stages < 1 || stages > layers) {
    refuse(fmt::format("pipeline: {} stages for {} layers; use 1 to {}", stages, layers, layers));
  }
  std::vector<int> sizes(static_cast<std::size_t>(stages), layers / stages);
  // What is left goes to the stages before the last one, backwards.
  for (int left = layers % stages, s = stages - 2; left > 0; --left, --s)
    ++sizes[static_cast<std::size_t>(s)];
  return sizes;
}

std::unique_ptr<Parallelism> vllm(const ModelSpec& model, const VllmOptions& options) {
  return std::make_unique<Vllm>(model, options);
}

}  // namespace refit
