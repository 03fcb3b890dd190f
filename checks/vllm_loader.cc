#include "checks/vllm_loader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

std::int64_t tensor_bytes(const TensorClass& c) { return c.bytes() / c.checkpoint_tensors; }

}  // namespace

Findings vllm_loader_findings(const Refit& refit, const std::optional<SideFacts>& generation,
                              std::int64_t bucket_bytes) {
  Findings findings;
  if (generation && generation->engine != "vllm") {
    findings.push_back({"vllm_loader.engine", "generation.engine",
                        fmt::format("the engine is {}", generation->engine), "use vllm"});
  }
  const auto largest = std::max_element(
      refit.classes.begin(), refit.classes.end(),
      [](const TensorClass& a, const TensorClass& b) { return tensor_bytes(a) < tensor_bytes(b); });
  if (largest == refit.classes.end() || tensor_bytes(*largest) <= bucket_bytes) return findings;
  const auto words = [](std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  findings.push_back(
      {"vllm_loader.bucket", largest->name,
       fmt::format("the largest tensor is {} ({} B), and a packed broadcast holds {} ({} B)",
                   words(tensor_bytes(*largest)), tensor_bytes(*largest), words(bucket_bytes),
                   bucket_bytes),
       fmt::format("use plan.bucket: {} B or more", tensor_bytes(*largest))});
  return findings;
}

}  // namespace refit
