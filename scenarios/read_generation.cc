#include <charconv>

#include <fmt/format.h>

#include "scenarios/detail/read_generation.h"

namespace refit::detail {
namespace {

constexpr int kMostSlots = 65'536;  // of one layer

int read_expert(const YamlNode& node, const ModelSpec& model) {
  return static_cast<int>(node.integer(0, model.experts - 1));
}

// [0, 1, 2, 3, 0, 2], or [[0, 1], [2, 3, 0]]: the slots of every rank.
ExpertSlots read_slots(const YamlNode& node, const ModelSpec& model) {
  ExpertSlots slots;
  const std::vector<YamlNode> items = node.items();
  if (items.empty()) node.fail("a map needs slots; list the expert of each");
  const bool by_rank = items.front().is_list();
  for (const YamlNode& item : items) {
    if (by_rank) {
      const std::vector<YamlNode> of_rank = item.items();
      slots.slots_of_rank.push_back(static_cast<int>(of_rank.size()));
      for (const YamlNode& slot : of_rank) slots.experts.push_back(read_expert(slot, model));
    } else {
      slots.experts.push_back(read_expert(item, model));
    }
    if (slots.experts.size() > kMostSlots) {
      item.fail(fmt::format("more than {} slots up to here; use fewer", kMostSlots));
    }
  }
  return slots;
}

struct LayerRange {
  int first = 0, last = 0;
};

// "7" or "7..12" (both ends included).
LayerRange read_layers(const std::string& text, const YamlNode& node, const ModelSpec& model) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 0) return {};
    return value;
  };
  const std::size_t dots = text.find("..");
  const auto first = number(std::string_view(text).substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : number(std::string_view(text).substr(dots + 2));
  if (!first || !last || *last < *first || *last >= model.layers) {
    node.fail(fmt::format("'{}' names no layers; write 3, 3..7 or rest, with layers from 0 to {}",
                          text, model.layers - 1));
  }
  return {*first, *last};
}

// One list for all layers, or lists by layer.
void read_maps(const YamlNode& node, const ModelSpec& model, ExpertPlacement& placement) {
  if (!node.is_map()) {
    placement.maps.push_back(read_slots(node, model));
    placement.map_of_rest = 0;
    return;
  }
  for (const auto& [layers, slots] : node.entries()) {
    const std::size_t map = placement.maps.size();
    placement.maps.push_back(read_slots(slots, model));
    if (layers == "rest") {
      placement.map_of_rest = map;
      continue;
    }
    const LayerRange range = read_layers(layers, slots, model);
    for (int layer = range.first; layer <= range.last; ++layer) {
      if (!placement.map_of_layer.emplace(layer, map).second) {
        slots.fail(fmt::format("layer {} has a map already; give it one", layer));
      }
    }
  }
  if (placement.maps.empty()) node.fail("no map is written; write one per layer, or `rest`");
}

}  // namespace

std::vector<int> read_partition(const YamlNode& node, const ModelSpec& model, int stages) {
  const auto found = node.find("pipeline_partition");
  if (!found) return {};
  std::vector<int> sizes;
  for (const YamlNode& item : found->items()) {
    sizes.push_back(static_cast<int>(item.integer(0, model.layers)));
  }
  if (sizes.size() != static_cast<std::size_t>(stages)) {
    found->fail(fmt::format("{} stages are written out, but pipeline is {}; make them equal",
                            sizes.size(), stages));
  }
  return sizes;
}

ExpertPlacement read_expert_placement(const YamlNode& node, const ModelSpec& model) {
  for (const char* key : {"expert_placement", "redundant_experts", "expert_slots"}) {
    check_experts(node, key, node.find(key).has_value(), model);
  }
  ExpertPlacement placement;
  if (const auto v = node.find("expert_placement")) {
    placement.rule = v->one_of<std::string>({{"linear", "linear"}, {"round_robin", "round_robin"}});
  }
  if (const auto v = node.find("redundant_experts")) {
    placement.redundant = static_cast<int>(v->integer(0, kMostSlots));
  }
  if (const auto v = node.find("expert_slots")) {
    read_maps(*v, model, placement);
    for (const char* other : {"expert_placement", "redundant_experts"}) {
      const auto w = node.find(other);
      if (w && placement.map_of_rest) w->fail("expert_slots already says this; leave one out");
    }
  }
  return placement;
}

std::optional<SharedExperts> read_shared_experts(const YamlNode& node, const ModelSpec& model) {
  const auto found = node.find("shared_experts");
  if (!found) return std::nullopt;
  if (model.bytes(Role::shared_expert) == 0) {
    found->fail(fmt::format("{} has no shared experts; leave this out", model.name));
  }
  return found->one_of<SharedExperts>(
      {{"sharded", SharedExperts::sharded}, {"replicated", SharedExperts::replicated}});
}

void check_engines(const YamlNode& node, std::int64_t ranks_of_engine, int gpus) {
  const auto engines = node.find("engines");
  if (!engines) return;
  const std::int64_t asked = engines->integer(1, kMostDegree);
  if (asked * ranks_of_engine == gpus) return;
  engines->fail(fmt::format("{} engines of {} ranks are {} GPUs, but gpus is {}; make them equal",
                            asked, ranks_of_engine, asked * ranks_of_engine, gpus));
}

}  // namespace refit::detail
