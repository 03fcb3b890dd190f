#include "models/vllm.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "models/detail/generation_engine.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

detail::GenerationSpec spec_of(const ModelSpec& model, const VllmOptions& options) {
  EngineRules rules = engine_rules("vllm", options.version);
  std::vector<int> layers =
      detail::stage_layers(model.layers, options.pipeline, options.stage_layers, rules);
  return {options.gpus, std::move(layers), std::move(rules), options.mxfp4_experts};
}

// Sequence parallel experts: the tokens are divided among the tensor ranks, so each needs all of
// the shared experts.
bool shared_experts_whole(const VllmOptions& options, const EngineRules& rules) {
  const std::string backend = rules.all2all(options.all2all_backend);
  if (options.shared_experts) return *options.shared_experts == SharedExperts::replicated;
  return options.expert_parallel && options.tensor > 1 && options.data > 1 &&
         rules.shared_experts_whole_with(backend);
}

void check_placement(const VllmOptions& options, const EngineRules& rules) {
  const ExpertPlacement& experts = options.experts;
  if (!options.expert_parallel) {
    const char* needless = !experts.maps.empty()      ? "expert_slots"
                           : experts.redundant > 0    ? "redundant_experts"
                           : experts.rule != "linear" ? "expert_placement"
                                                      : nullptr;
    if (!needless) return;
    refuse(fmt::format("{}: experts are cut, not placed, without expert_parallel: true", needless));
  }
  const auto& known = rules.placements;
  if (std::find(known.begin(), known.end(), experts.rule) == known.end()) {
    refuse(fmt::format("expert_placement: version {} has no {}; use {}", rules.version,
                       experts.rule, fmt::join(known, ", ")));
  }
}

class Vllm : public detail::GenerationEngine {
 public:
  Vllm(const ModelSpec& model, const VllmOptions& options, detail::GenerationSpec spec,
       const Mesh& mesh)
      : GenerationEngine(model, spec),
        options_(options),
        shared_whole_(shared_experts_whole(options, spec.rules)) {
    check_attention(model, options.tensor, "tensor");
    check_placement(options, spec.rules);
    // Experts see the ranks of an engine's stage as one axis, data outermost.
    const int sharers = options.data * options.prefill_context * options.tensor;
    for (int s = 0; s < options.pipeline; ++s) {
      dense_.push_back(mesh.slice("pp", s));
      expert_.emplace_back(
          dense_.back().ranks(),
          std::vector<MeshAxis>{{"engine", mesh.axes()[0].size, 1}, {"moe", sharers, 1}});
    }
    if (options.expert_parallel && model.experts > 0) {
      table_.emplace(model, options.experts, sharers, ExpertTable::Shares::any);
    }
  }

 protected:
  Grid grid(const TensorSpec& tensor, int stage) const override {
    const auto s = static_cast<std::size_t>(stage);
    if (on_expert_grid(tensor)) {
      if (options_.expert_parallel) return {expert_[s], -1, 1};
      return {expert_[s], 1, -1, "tensor x prefill_context x data"};
    }
    const int tensor_axis = dense_[s].axis_index("tp");
    const bool whole = tensor.role == Role::shared_expert && shared_whole_;
    return {dense_[s], whole ? -1 : tensor_axis};
  }

  Grid head_grid(const TensorSpec& embedding, int stage) const override {
    return grid(embedding, stage);
  }

  const ExpertTable* experts() const override { return table_ ? &*table_ : nullptr; }

 private:
  VllmOptions options_;
  bool shared_whole_ = false;
  std::vector<Mesh> dense_, expert_;  // by stage
  std::optional<ExpertTable> table_;
};

}  // namespace

std::vector<int> vllm_stage_layers(int layers, int stages) {
  return stage_sizes(layers, stages, engine_rules("vllm").remainder);
}

std::unique_ptr<Parallelism> vllm(const ModelSpec& model, const VllmOptions& options) {
  const std::int64_t engine = detail::product_of({{"tensor", options.tensor},
                                                  {"prefill_context", options.prefill_context},
                                                  {"pipeline", options.pipeline},
                                                  {"data", options.data}});
  detail::GenerationSpec spec = spec_of(model, options);
  const int engines =
      detail::engines_in(options.gpus, engine, "tensor x prefill_context x pipeline x data");
  const Mesh mesh = Mesh::row_major(options.first, {{"engine", engines},
                                                    {"dp", options.data},
                                                    {"pp", options.pipeline},
                                                    {"pcp", options.prefill_context},
                                                    {"tp", options.tensor}});
  return std::make_unique<Vllm>(model, options, std::move(spec), mesh);
}

}  // namespace refit
