#include "sweep/detail/replica_gpus.h"

#include <charconv>
#include <cstdint>
#include <string>

namespace refit::detail {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000;

}  // namespace

std::optional<int> replica_gpus(const YamlTree& scenario) {
  const YamlTree* engine = find_in(scenario, {"generation", "engine"});
  if (engine == nullptr || (engine->text != "vllm" && engine->text != "sglang"))
    return std::nullopt;
  std::int64_t gpus = 1;
  // SGLang has no `data` and no `prefill_context`: what it calls so is inside `tensor`.
  for (const char* key : {"tensor", "pipeline", "data", "prefill_context"}) {
    const YamlTree* degree = find_in(scenario, {"generation", key});
    if (degree == nullptr) continue;
    const std::string& text = degree->text;
    std::int64_t size = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, size);
    if (error != std::errc() || stop != end || size < 1 || size > kMostGpus) return std::nullopt;
    gpus *= size;
    if (gpus > kMostGpus) return std::nullopt;
  }
  return static_cast<int>(gpus);
}

}  // namespace refit::detail
