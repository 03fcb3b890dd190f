#include "sim/network_model.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/embedded.h"
#include "base/error.h"
#include "sim/network_parameters.h"

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

bool read_boolean(const YamlNode& node) { return node.boolean(); }

double read_number(const YamlNode& node, ParameterKind kind) {
  switch (kind) {
    case ParameterKind::share:
      return read_percent(node);
    case ParameterKind::seconds:
      return node.seconds();
    case ParameterKind::rate:
      return node.bandwidth();
    case ParameterKind::bytes:
      return static_cast<double>(node.bytes());
  }
  return 0;
}

// Sets `target` from `key: {value: ..., source: ...}` if the file has it.
template <class Value, class Read>
void read_parameter(const YamlNode& root, const std::string& key, Read read, Value& target,
                    NetworkModel& model) {
  const auto node = root.find(key);
  if (!node) return;
  node->allow_only({"value", "source"});
  const YamlNode value = node->at("value");
  target = read(value);
  const std::string source = node->at("source").text();
  if (source.empty()) node->at("source").fail("expected where the number is from, got nothing");
  model.sources.push_back({key, value.text(), source});
}

NetworkModel::Uncertainty read_uncertainty(const YamlNode& node) {
  node.allow_only({"parameters", "covariance", "model_error"});
  NetworkModel::Uncertainty uncertainty;
  for (const YamlNode& key : node.at("parameters").items()) {
    uncertainty.parameters.push_back(network_parameter(key.text()));
  }
  const std::vector<YamlNode> rows = node.at("covariance").items();
  const std::size_t size = uncertainty.parameters.size();
  for (const YamlNode& row : rows) {
    for (const YamlNode& value : row.items()) uncertainty.covariance.push_back(value.number());
    if (row.items().size() != size) row.fail(fmt::format("expected {} numbers in a row", size));
  }
  if (rows.size() != size)
    node.at("covariance").fail(fmt::format("expected {} rows, one per parameter", size));
  uncertainty.model_error = node.at("model_error").number();
  return uncertainty;
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
  model.uncertainty = {};
  return model == plain;
}

NetworkModel read_network_model(const YamlNode& node) {
  std::vector<std::string_view> keys{"name", "latencies", "uncertainty"};
  for (const NetworkParameter& parameter : network_parameters()) keys.push_back(parameter.key);
  node.allow_only(keys);
  NetworkModel model;
  model.name = node.at("name").text();
  for (const NetworkParameter& parameter : network_parameters()) {
    read_parameter(
        node, std::string(parameter.key),
        [&](const YamlNode& value) { return read_number(value, parameter.kind); },
        model.*parameter.value, model);
  }
  read_parameter(node, "latencies", read_boolean, model.latencies, model);
  if (const auto uncertainty = node.find("uncertainty"))
    model.uncertainty = read_uncertainty(*uncertainty);
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
