#include "validation/detail/layout_words.h"

#include <optional>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace refit::detail;

namespace {

constexpr const char* kEngineNames[] = {"",     "megatron", "fsdp", "automodel", "megatron_fsdp",
                                        "vllm", "sglang"};

// Everything that was understood, in one line: "vllm tp32 dp8 replicas8".
std::string understood(const std::string& text) {
  const LayoutWords w = read_layout_words(text);
  std::string out = kEngineNames[static_cast<int>(w.engine)];
  const auto add = [&](const char* name, std::optional<int> value) {
    if (value) out += fmt::format("{}{}{}", out.empty() ? "" : " ", name, *value);
  };
  add("tp", w.tensor);
  add("pp", w.pipeline);
  add("vpp", w.virtual_pipeline);
  add("cp", w.context);
  add("ep", w.expert);
  add("etp", w.expert_tensor);
  add("dp", w.data);
  add("shard", w.shard);
  add("replicate", w.replicate);
  add("replicas", w.replicas);
  add("gpus", w.gpus);
  add("each", w.gpus_of_replica);
  add("domains", w.nvlink_domains);
  if (w.expert_parallel) out += " +ep";
  if (w.attention_data) out += " +attention";
  if (w.whole_model) out += " +whole";
  if (w.host_memory) out += " +host";
  return out;
}

}  // namespace

TEST_CASE("layout words: texts of published layouts", "[validation]") {
  const std::pair<const char*, const char*> table[] = {
      {"TP4 PP8 EP16 ETP1 CP1 (DP4 per stage)", "tp4 pp8 cp1 ep16 etp1 dp4"},
      {"TP8 EP32 PP2 (64 GPUs is the minimum that fits; may be larger)", "tp8 pp2 ep32 gpus64"},
      {"TP1 PP16 EP16 ETP1 (one expert copy)", "tp1 pp16 ep16 etp1"},
      {"DP8", "dp8"},
      {"EP8 PP2", "pp2 ep8"},
      {"TP=4, PP=2", "tp4 pp2"},
      {"tp8pp2", "tp8 pp2"},
      {"tp8-pp2-ep4", "tp8 pp2 ep4"},
      {"tensor_parallel_size=8 pipeline_parallel_size: 2", "tp8 pp2"},
      {"tensor parallel 8, expert parallel 16", "tp8 ep16"},
      {"Megatron TP4 PP4 VPP2 CP2", "megatron tp4 pp4 vpp2 cp2"},
      {"DTensor TP2 DP2", "fsdp tp2 dp2"},
      {"FSDP 4", "fsdp shard4"},
      {"FSDP8", "fsdp shard8"},
      {"FSDP2", "fsdp"},
      {"FSDP2 (dense sharded inside node, MoE sharded across nodes)", "fsdp"},
      {"FSDP2 DP16", "fsdp dp16"},
      {"FSDP=2", "fsdp shard2"},
      {"HSDP 2x8", "fsdp shard8 replicate2"},
      {"ZeRO-3", "fsdp"},
      {"Megatron-FSDP EP8", "megatron_fsdp ep8"},
      {"TP1 CP1 EP16 DP2 PP4; 2 NVL domains", "tp1 pp4 cp1 ep16 dp2 domains2"},
      {"TP8 CP1 EP1 DP16 PP1; 1 NVL domain", "tp8 pp1 cp1 ep1 dp16 domains1"},
      {"TP2 CP2 EP16 DP1 PP4 (16 ranks per stage; dense TP2 CP2 with the rest as replicas, experts "
       "EP16); "
       "1 NVL domain",
       "tp2 pp4 cp2 ep16 dp1 domains1"},
      {"TP1 PP2 EP8, DP grows with scale", "tp1 pp2 ep8"},
      {"vLLM TP32 x DP8 (8 replicas of 4 nodes)", "vllm tp32 dp8 replicas8"},
      {"vLLM TP8 x 16", "vllm tp8 replicas16"},
      {"vLLM TP2, one replica per 2 GPUs", "vllm tp2 each2"},
      {"vLLM TP32 PP1 EP1, Triton MoE (1 replica)", "vllm tp32 pp1 ep1 replicas1"},
      {"16 vLLM workers TP2", "vllm tp2 replicas16"},
      {"TP8 EP8 (2 engines)", "tp8 ep8 replicas2"},
      {"4 full-model receivers", "replicas4 +whole"},
      {"8x TP4", "tp4 replicas8"},
      {"8xTP4", "tp4 replicas8"},
      {"8 \xC3\x97 TP4", "tp4 replicas8"},
      {"DP2 TP8 EP16", "tp8 ep16 dp2"},
      {"SGLang TP16, DP attention 4", "sglang tp16 dp4 +attention"},
      {"SGLang TP16 EP16 with attention DP 16", "sglang tp16 ep16 dp16 +attention"},
      {"vLLM TP8, expert parallel on", "vllm tp8 +ep"},
      {"megatron.d4t2p2c2", "megatron tp2 pp2 cp2 dp4"},
      {"sglang d8p1t4", "sglang tp4 pp1 dp8"},
      {"P2P on p5en", ""},
      {"16xTP2", "tp2 replicas16"},
      {"vLLM DP8 EP8", "vllm ep8 dp8"},
      {"pinned host memory", " +host"},
      {"", ""},
      {"unknown (in-house engine)", ""},
      {"TP0 EP99999999999 PP-1", "pp1"},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(understood(text) == expected);
  }
}

TEST_CASE("layout words: a layout needs a degree, or an engine whose degrees follow",
          "[validation]") {
  REQUIRE(read_layout_words("ZeRO-3").says_layout());
  REQUIRE(read_layout_words("TP2").says_layout());
  REQUIRE(read_layout_words("4 full-model receivers").says_layout());
  REQUIRE_FALSE(read_layout_words("vLLM").says_layout());
  REQUIRE_FALSE(read_layout_words("unknown (in-house engine)").says_layout());
  REQUIRE_FALSE(read_layout_words("16 replicas").says_layout());
}
