#include "validation/network_model_yaml.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/network_parameters.h"

namespace refit {
namespace {

// Names and sources are people's words: a quote or a line's end in them must not end the text.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' || c == '\t' ? ' ' : c;
  }
  return result + '"';
}

std::string plain_or_quoted(const std::string& name) {
  const bool is_plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return is_plain ? name : in_quotes(name);
}

std::string uncertainty_yaml(const NetworkModel::Uncertainty& uncertainty) {
  std::vector<std::string_view> keys;
  for (const std::size_t p : uncertainty.parameters) keys.push_back(network_parameters()[p].key);
  std::string text = fmt::format(
      "# Covariance of the constants' logarithms, and one sigma of what predictions are off by "
      "besides.\nuncertainty:\n  parameters: [{}]\n  covariance:\n",
      fmt::join(keys, ", "));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::vector<std::string> row;
    for (std::size_t j = 0; j < keys.size(); ++j)
      row.push_back(fmt::format("{:.3e}", uncertainty.covariance[i * keys.size() + j]));
    text += fmt::format("    - [{}]\n", fmt::join(row, ", "));
  }
  return text + fmt::format("  model_error: {:.3f}\n", uncertainty.model_error);
}

}  // namespace

std::string network_model_yaml(const NetworkModel& model, const std::vector<std::string>& how) {
  std::string text = fmt::format("name: {}\n", plain_or_quoted(model.name));
  for (const std::string& line : how) text += fmt::format("# {}\n", line);
  for (const NetworkModel::Source& source : model.sources)
    text += fmt::format("{}:\n  value: {}\n  source: {}\n", source.parameter, source.value,
                        in_quotes(source.source));
  if (model.uncertainty) text += uncertainty_yaml(*model.uncertainty);
  return text;
}

}  // namespace refit
