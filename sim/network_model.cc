#include "sim/network_model.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/embedded.h"
#include "base/error.h"

namespace refit {

std::span<const EmbeddedFile> network_model_files();  // generated from network_models/*.yaml

namespace {

// "94 %" -> 0.94. More than line rate, or nothing of it, is a slip of the pen.
double read_percent(const YamlNode& node) {
  const std::string text = node.text();
  const char* const end = text.data() + text.size();
  double percent = 0;
  const auto [rest, fault] = std::from_chars(text.data(), end, percent);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (fault != std::errc() || unit != "%" || !(percent > 0 && percent <= 100)) {
    node.fail(
        fmt::format("expected a share of the line rate such as '94 %', above 0 and up to 100, "
                    "got '{}'",
                    text));
  }
  return percent / 100;
}

double read_bandwidth(const YamlNode& node) { return node.bandwidth(); }
double read_seconds(const YamlNode& node) { return node.seconds(); }
bool read_boolean(const YamlNode& node) { return node.boolean(); }

// Sets `target` from `key: {value: ..., source: ...}` if the file has it.
template <class Value>
void read_parameter(const YamlNode& root, const std::string& key, Value (*read)(const YamlNode&),
                    Value& target, NetworkModel& model) {
  const auto node = root.find(key);
  if (!node) return;
  node->allow_only({"value", "source"});
  const YamlNode value = node->at("value");
  target = read(value);
  const std::string source = node->at("source").text();
  if (source.empty()) node->at("source").fail("expected where the number is from, got nothing");
  model.sources.push_back({key, value.text(), source});
}

}  // namespace

NetworkModel wire_only() {
  NetworkModel model;
  model.name = "wire_only";
  model.latencies = false;
  return model;
}

bool is_wire_only(NetworkModel model) {
  const NetworkModel plain = wire_only();
  model.name = plain.name;
  model.sources = plain.sources;
  return model == plain;
}

NetworkModel read_network_model(const YamlNode& node) {
  node.allow_only({"name", "nic_efficiency", "nvlink_efficiency", "fixed", "call", "export_tensor",
                   "load_tensor", "stack_matrix", "pack_rate", "land_rate", "convert_rate",
                   "latencies"});
  NetworkModel model;
  model.name = node.at("name").text();
  read_parameter(node, "nic_efficiency", read_percent, model.nic_efficiency, model);
  read_parameter(node, "nvlink_efficiency", read_percent, model.nvlink_efficiency, model);
  read_parameter(node, "fixed", read_seconds, model.fixed_s, model);
  read_parameter(node, "call", read_seconds, model.call_s, model);
  read_parameter(node, "export_tensor", read_seconds, model.export_tensor_s, model);
  read_parameter(node, "load_tensor", read_seconds, model.load_tensor_s, model);
  read_parameter(node, "stack_matrix", read_seconds, model.stack_matrix_s, model);
  read_parameter(node, "pack_rate", read_bandwidth, model.pack_bytes_per_s, model);
  read_parameter(node, "land_rate", read_bandwidth, model.land_bytes_per_s, model);
  read_parameter(node, "convert_rate", read_bandwidth, model.convert_bytes_per_s, model);
  read_parameter(node, "latencies", read_boolean, model.latencies, model);
  return model;
}

std::vector<std::string> catalog_network_models() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : network_model_files()) names.emplace_back(file.name);
  return names;
}

NetworkModel catalog_network_model(const std::string& name) {
  for (const EmbeddedFile& file : network_model_files()) {
    if (file.name != name) continue;
    return read_network_model(
        YamlNode::parse_text(std::string(file.text), fmt::format("network model {}", name)));
  }
  throw Error(ErrorCode::bad_input, fmt::format("network model '{}' is not known; use one of {}",
                                                name, fmt::join(catalog_network_models(), ", ")));
}

}  // namespace refit
