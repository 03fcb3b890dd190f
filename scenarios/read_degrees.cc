#include <fmt/format.h>

#include "scenarios/detail/read.h"

namespace refit::detail {

int read_degree(const YamlNode& node, const char* key, const Place& place) {
  const auto found = node.find(key);
  if (!found) return 1;
  const int size = static_cast<int>(found->integer(1, kMostDegree));
  if (size > place.gpus) {
    found->fail(fmt::format("{} ranks are more than the {} GPUs of this side", size, place.gpus));
  }
  return size;
}

void check_product(const YamlNode& node, std::initializer_list<Degree> degrees, const Place& place,
                   const std::string& hint) {
  std::int64_t ranks = 1;
  std::string text;
  for (const Degree& d : degrees) {
    ranks *= d.size;
    text += fmt::format("{}{} {}", text.empty() ? "" : " x ", d.key, d.size);
  }
  if (ranks <= place.gpus) return;
  const std::string message =
      fmt::format("{} need {} ranks, but gpus is {}{}", text, ranks, place.gpus, hint);
  for (const Degree& d : degrees) {
    const auto key = node.find(d.key);
    if (key && d.size > 1) key->fail(message);
  }
  node.fail(message);
}

void check_experts(const YamlNode& node, const char* key, bool is_asked, const ModelSpec& model) {
  if (!is_asked || model.experts > 0) return;
  node.at(key).fail(fmt::format("{} has no routed experts; leave this out", model.name));
}

}  // namespace refit::detail
