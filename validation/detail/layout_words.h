#pragma once

#include <optional>
#include <string_view>

namespace refit::detail {

enum class LayoutEngine { unsaid, megatron, fsdp, automodel, megatron_fsdp, vllm, sglang };

// What the text of a layout says, such as "TP4 PP8 EP16 ETP1 CP1 (DP4 per stage)", "tp8pp2",
// "DTensor TP2 DP2", "vLLM TP32 x DP8 (8 replicas of 4 nodes)" or "8x TP4". What it does not say is
// nothing; the first of two words for one thing counts.
struct LayoutWords {
  LayoutEngine engine = LayoutEngine::unsaid;
  std::optional<int> tensor, pipeline, virtual_pipeline, context, expert, expert_tensor, data;
  std::optional<int> shard, replicate;  // FSDP 8, HSDP 2 x 8
  std::optional<int> replicas;          // copies of an engine
  std::optional<int> gpus;              // "64 GPUs"
  std::optional<int> gpus_of_replica;   // "one replica per 2 GPUs"
  std::optional<int> nvlink_domains;    // "2 NVL domains"
  bool expert_parallel = false;         // said without a degree
  bool attention_data = false;          // data parallelism of attention inside the tensor ranks
  bool whole_model = false;             // "4 full-model receivers"
  bool host_memory = false;             // weights lie in host memory

  // At least one thing from which a layout follows.
  bool says_layout() const;
};

// Reads any text; words it does not know mean nothing.
LayoutWords read_layout_words(std::string_view text);

}  // namespace refit::detail
