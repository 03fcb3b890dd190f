#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/plan_limits.h"

namespace refit {
namespace {

constexpr int kMost = 1'000'000;

}  // namespace

PlanLimits read_limits(const YamlNode& node, PlanLimits limits) {
  node.allow_only(
      {"extra_memory", "ops", "communicators", "peers", "nic_bandwidth", "ctas", "cta_bandwidth"});
  if (const auto v = node.find("extra_memory")) limits.extra_memory_bytes = v->bytes();
  if (const auto v = node.find("ops")) limits.ops = v->integer(1, 1'000'000'000);
  if (const auto v = node.find("communicators"))
    limits.communicators = static_cast<int>(v->integer(1, 256));
  if (const auto v = node.find("peers")) limits.peers = static_cast<int>(v->integer(1, kMost));
  if (const auto v = node.find("nic_bandwidth")) limits.nic_bytes_per_s = v->bandwidth();
  if (const auto v = node.find("ctas")) limits.ctas = static_cast<int>(v->integer(1, 1024));
  if (const auto v = node.find("cta_bandwidth")) limits.cta_bytes_per_s = v->bandwidth();
  return limits;
}

PlanLimits parse_limits(const std::vector<std::string>& words, PlanLimits limits) {
  std::string text;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("--limit: '{}' is no KEY=VALUE such as ops=10000 or "
                              "extra_memory=2GiB",
                              word));
    }
    text += fmt::format("{}: {}\n", word.substr(0, equals), word.substr(equals + 1));
  }
  if (text.empty()) return limits;
  return read_limits(YamlNode::parse_text(text, "--limit"), limits);
}

}  // namespace refit
