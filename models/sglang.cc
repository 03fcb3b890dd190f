#include "models/sglang.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "models/detail/generation_engine.h"
#include "models/nearest_fit.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

// Degrees that divide the tensor ranks of a stage; what is left of them.
int part_of_tensor(const char* keys, std::int64_t product, int tensor) {
  if (product <= tensor && tensor % product == 0) return tensor / static_cast<int>(product);
  refuse(fmt::format("{}: {} does not divide the {} tensor ranks of a stage; use {}", keys, product,
                     tensor,
                     nearest_fit(static_cast<int>(std::min<std::int64_t>(product, tensor + 1)),
                                 tensor, [&](int n) { return tensor % n == 0; })));
}

int expert_degree(const SglangOptions& options, const std::string& backend, bool spans_tensor) {
  if (!spans_tensor) return options.expert.value_or(1);
  const int all = options.tensor / std::max(1, options.expert_data);
  if (options.expert.value_or(all) == all) return all;
  refuse(fmt::format("expert: {} uses all tensor ranks for experts; leave this out or write {}",
                     backend, all));
}

class Sglang : public detail::GenerationEngine {
 public:
  Sglang(const ModelSpec& model, const SglangOptions& options, int engines,
         detail::GenerationSpec spec)
      : GenerationEngine(model, spec), options_(options), embedding_(spec.rules.embedding) {
    const std::string backend = spec.rules.all2all(options.all2all_backend);
    const bool backend_whole = spec.rules.shared_experts_whole_with(backend);
    shared_whole_ = options.shared_experts ? *options.shared_experts == SharedExperts::replicated
                                           : backend_whole;
    const int expert = expert_degree(options, backend, backend_whole);
    const std::int64_t attention_copies =
        detail::product_of({{"attention_data", options.attention_data},
                            {"attention_context", options.attention_context}});
    const std::int64_t expert_parts =
        detail::product_of({{"expert", expert}, {"expert_data", options.expert_data}});
    const int attention_tensor =
        part_of_tensor("attention_data x attention_context", attention_copies, options.tensor);
    const int expert_tensor = part_of_tensor("expert x expert_data", expert_parts, options.tensor);
    check_attention(model, attention_tensor, "tensor x attention_data x attention_context");
    check_placement(model, expert, spec.rules);

    const auto stage_grids = [&](std::vector<std::pair<std::string, int>> inner) {
      std::vector<std::pair<std::string, int>> axes{{"engine", engines}, {"pp", options.pipeline}};
      axes.insert(axes.end(), inner.begin(), inner.end());
      const Mesh mesh = Mesh::row_major(options.first, std::move(axes));
      std::vector<Mesh> stages;
      for (int s = 0; s < options.pipeline; ++s) stages.push_back(mesh.slice("pp", s));
      return stages;
    };
    tensor_ = stage_grids({{"tp", options.tensor}});
    attention_ = stage_grids({{"attn_dp", options.attention_data},
                              {"attn_cp", options.attention_context},
                              {"attn_tp", attention_tensor}});
    expert_ =
        stage_grids({{"moe_dp", options.expert_data}, {"ep", expert}, {"moe_tp", expert_tensor}});
    if (expert > 1) {
      table_.emplace(model, options.experts, expert, ExpertTable::Shares::equal);
    }
  }

 protected:
  Grid grid(const TensorSpec& tensor, int stage) const override {
    const auto s = static_cast<std::size_t>(stage);
    if (on_expert_grid(tensor)) {
      return {expert_[s], 3, table_ ? 2 : -1, "tensor x expert x expert_data"};
    }
    switch (tensor.role) {
      case Role::attention:
      case Role::linear_attention:
        return attention_grid(stage);
      case Role::embedding:
        if (embedding_ == EmbeddingCut::attention) return attention_grid(stage);
        return {tensor_[s], embedding_ == EmbeddingCut::tensor || !attention_is_split() ? 1 : -1};
      case Role::lm_head:
        return head_grid(tensor, stage);
      case Role::dense_ffn:
        return {tensor_[s], options_.whole_dense ? -1 : 1};
      case Role::shared_expert:
        return {tensor_[s], shared_whole_ ? -1 : 1};
      default:
        return {tensor_[s], 1};
    }
  }

  Grid head_grid(const TensorSpec&, int stage) const override {
    if (options_.attention_head) return attention_grid(stage);
    return {tensor_[static_cast<std::size_t>(stage)], 1};
  }

  const ExpertTable* experts() const override { return table_ ? &*table_ : nullptr; }

 private:
  bool attention_is_split() const {
    return options_.attention_data > 1 || options_.attention_context > 1;
  }

  Grid attention_grid(int stage) const {
    return {attention_[static_cast<std::size_t>(stage)], 3, -1,
            "tensor x attention_data x attention_context"};
  }

  void check_placement(const ModelSpec& model, int expert, const EngineRules& rules) const {
    const ExpertPlacement& experts = options_.experts;
    if (expert == 1 && (experts.redundant > 0 || !experts.maps.empty())) {
      refuse(fmt::format("{}: every rank has all experts; use an expert degree of 2 or more",
                         experts.maps.empty() ? "redundant_experts" : "expert_slots"));
    }
    const auto& known = rules.placements;
    if (std::find(known.begin(), known.end(), experts.rule) == known.end()) {
      refuse(fmt::format("expert_placement: version {} has no {}; use {}", rules.version,
                         experts.rule, fmt::join(known, ", ")));
    }
    if (experts.redundant == 0 && experts.maps.empty() && model.experts % expert != 0) {
      refuse(fmt::format("expert: {} does not divide {} experts; use {}", expert, model.experts,
                         nearest_fit(expert, model.experts, [&](int n) {
                           return model.experts % n == 0 && options_.tensor % n == 0;
                         })));
    }
  }

  SglangOptions options_;
  EmbeddingCut embedding_;
  bool shared_whole_ = false;
  std::vector<Mesh> tensor_, attention_, expert_;  // by stage
  std::optional<ExpertTable> table_;
};

}  // namespace

std::vector<int> sglang_stage_layers(int layers, int stages) {
  return stage_sizes(layers, stages, engine_rules("sglang").remainder);
}

std::unique_ptr<Parallelism> sglang(const ModelSpec& model, const SglangOptions& options) {
  const std::int64_t engine =
      detail::product_of({{"tensor", options.tensor}, {"pipeline", options.pipeline}});
  const int engines = detail::engines_in(options.gpus, engine, "tensor x pipeline");
  EngineRules rules = engine_rules("sglang", options.version);
  std::vector<int> layers =
      detail::stage_layers(model.layers, options.pipeline, options.stage_layers, rules);
  return std::make_unique<Sglang>(model, options, engines,
                                  detail::GenerationSpec{options.gpus, std::move(layers),
                                                         std::move(rules), options.mxfp4_experts});
}

}  // namespace refit
