// The largest refits that are meant to be planned: Kimi K3 between two halves of 16,384 GPUs, a
// dense model between two halves of 100,000, and one cut by rows over 4,096 GPUs, where every
// engine needs something from all of them.
#include <cstdio>
#include <utility>

#include "bench/steps.h"

namespace {

constexpr const char* kKimi = R"(scenario: Kimi K3, 8,192 + 8,192
cluster: {catalog: dgx_h100, nodes: 2048}
model: kimi-k3
training: {engine: megatron, gpus: 8192, pipeline: 16, expert: 32, expert_tensor: 1,
           first_stage_layers: 3, vocab_padding: 1}
generation: {engine: vllm, gpus: 8192, tensor: 32}
)";

// 446 replicas of a model over 112 GPUs are the most that fit into one half.
constexpr const char* kDense = R"(scenario: Llama 3.1 405B, 49,952 + 50,000
cluster: {catalog: dgx_h100, nodes: 12500}
model: llama-3.1-405b
training: {engine: megatron, gpus: 49952, tensor: 8, pipeline: 14}
generation: {engine: vllm, gpus: 50000, tensor: 8}
)";

constexpr const char* kFsdp = R"(scenario: Llama 3.1 70B, FSDP on 4,096 + 4,096
cluster: {catalog: dgx_h100, nodes: 1024}
model: llama-3.1-70b
training: {engine: fsdp, gpus: 4096}
generation: {engine: vllm, gpus: 4096, tensor: 8}
)";

}  // namespace

int main() {
  using namespace refit;
  using namespace refit::bench;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  print_steps_header();
  print_steps_row("fsdp_8k", "reshard", [] { return parse_scenario(kFsdp, "large.yaml"); });
  for (const auto& [name, text] :
       {std::pair("kimi_k3_16k", kKimi), std::pair("dense_100k", kDense)}) {
    for (const char* strategy : {"gather_broadcast", "direct", "reshard"})
      print_steps_row(name, strategy, [&] { return parse_scenario(text, "large.yaml"); });
  }
}
