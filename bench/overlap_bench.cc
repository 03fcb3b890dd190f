// Seconds and memory of the joint cuts of two layouts: Kimi K3, 4,096 GPUs train and 4,096 others
// generate. Target: under 5 s.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/measured_child.h"
#include "models/fsdp.h"
#include "models/import/hf_config.h"
#include "models/megatron.h"
#include "models/parcels.h"
#include "models/sglang.h"
#include "models/vllm.h"

namespace refit::bench {
namespace {

constexpr int kGpus = 4096;  // of each side

using Side = std::unique_ptr<Parallelism>;

struct Pair {
  const char* name;
  Side (*training)(const ModelSpec&);
  Side (*generation)(const ModelSpec&);
};

struct Degrees {
  int tensor = 1, context = 1, pipeline = 1, expert = 1;
};

Side megatron_side(const ModelSpec& model, int first, const Degrees& degrees) {
  MegatronOptions options;
  options.gpus = kGpus;
  options.first = Rank(first);
  options.tensor = degrees.tensor;
  options.context = degrees.context;
  options.pipeline = degrees.pipeline;
  options.expert = degrees.expert;
  options.expert_tensor = 1;
  // 93 layers: 3, then 15 stages of 6.
  if (degrees.pipeline == 16) options.first_stage_layers = 3;
  return megatron(model, options);
}

Side vllm_side(const ModelSpec& model, int tensor, int data, bool expert_parallel) {
  VllmOptions options;
  options.gpus = kGpus;
  options.first = Rank(kGpus);
  options.tensor = tensor;
  options.data = data;
  options.expert_parallel = expert_parallel;
  return vllm(model, options);
}

Side sglang_side(const ModelSpec& model, int tensor, int expert) {
  SglangOptions options;
  options.gpus = kGpus;
  options.first = Rank(kGpus);
  options.tensor = tensor;
  options.expert = expert;
  return sglang(model, options);
}

Side fsdp_side(const ModelSpec& model, int replicate, int expert) {
  FsdpOptions options;
  options.gpus = kGpus;
  options.replicate = replicate;
  options.expert = expert;
  return fsdp(model, options);
}

const Pair kPairs[] = {
    {"Megatron PP16 EP32 -> vLLM TP32",
     [](const ModelSpec& m) {
       return megatron_side(m, 0, {1, 1, 16, 32});
     },
     [](const ModelSpec& m) { return vllm_side(m, 32, 1, false); }},
    {"Megatron TP8 PP16 EP32 -> vLLM TP32 EP32",
     [](const ModelSpec& m) {
       return megatron_side(m, 0, {8, 1, 16, 32});
     },
     [](const ModelSpec& m) { return vllm_side(m, 32, 1, true); }},
    {"Megatron TP4 CP2 PP16 EP128 -> vLLM TP8 DP16 EP128",
     [](const ModelSpec& m) {
       return megatron_side(m, 0, {4, 2, 16, 128});
     },
     [](const ModelSpec& m) { return vllm_side(m, 8, 16, true); }},
    {"Megatron TP8 PP16 EP64 -> SGLang TP32 EP32",
     [](const ModelSpec& m) {
       return megatron_side(m, 0, {8, 1, 16, 64});
     },
     [](const ModelSpec& m) { return sglang_side(m, 32, 32); }},
    {"Megatron TP8 PP16 EP64 -> Megatron TP8 EP32",
     [](const ModelSpec& m) {
       return megatron_side(m, 0, {8, 1, 16, 64});
     },
     [](const ModelSpec& m) {
       return megatron_side(m, kGpus, {8, 1, 1, 32});
     }},
    {"FSDP2 x 64 replicas, EP32 -> vLLM TP32 EP32",
     [](const ModelSpec& m) { return fsdp_side(m, 64, 32); },
     [](const ModelSpec& m) { return vllm_side(m, 32, 1, true); }},
    {"FSDP2 over all 4,096, EP64 -> vLLM TP32 EP32",
     [](const ModelSpec& m) { return fsdp_side(m, 1, 64); },
     [](const ModelSpec& m) { return vllm_side(m, 32, 1, true); }},
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string one(const ModelSpec& model, const Pair& pair) {
  const auto begin = std::chrono::steady_clock::now();
  const Side training = pair.training(model), generation = pair.generation(model);
  const Refit refit = make_refit(model, *training, *generation, 2 * kGpus);
  const double classes_s = seconds_since(begin);
  const std::vector<Parcel> parcels = find_parcels(refit);
  return fmt::format("{:10.3f} {:8} {:8}", classes_s, refit.classes.size(), parcels.size());
}

}  // namespace
}  // namespace refit::bench

int main() {
  using namespace refit::bench;
  const auto begin = std::chrono::steady_clock::now();
  const refit::ModelSpec model = refit::catalog_model("kimi-k3");
  fmt::print("kimi-k3: {} tensors, read in {:.3f} s\n\n", model.checkpoint_tensors(),
             seconds_since(begin));
  fmt::print("{:52} {:>8} {:>8} {:>9} {:>10} {:>8} {:>8}\n", "", "seconds", "cpu s", "peak MiB",
             "classes at", "classes", "parcels");
  for (const Pair& pair : kPairs) {
    const Measured m = measured_child([&] { return one(model, pair); });
    fmt::print("{:52} {:8.3f} {:8.3f} {:9.1f} {}\n", pair.name, m.seconds, m.cpu_s, m.peak_mib,
               m.text);
  }
}
