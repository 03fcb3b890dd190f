#include "sweep/detail/axis_values.h"

#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace refit::detail {
namespace {

constexpr std::size_t kMostValues = 10'000;
// Steps add up rounding errors; an end that is missed by so little is hit.
constexpr double kRounding = 1e-9;

struct Quantity {
  double number = 0;
  std::string unit;  // "Gbit/s", or empty
};

Quantity read_quantity(const YamlNode& node) {
  const std::string text = node.text();
  Quantity quantity;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, quantity.number);
  if (error != std::errc() || !std::isfinite(quantity.number))
    node.fail(fmt::format("expected a number, perhaps with a unit, got '{}'", text));
  quantity.unit.assign(stop, end);
  const std::size_t begin = quantity.unit.find_first_not_of(' ');
  quantity.unit.erase(0, begin == std::string::npos ? quantity.unit.size() : begin);
  return quantity;
}

std::string written(double number, const std::string& unit) {
  // 12 digits: what steps add up to, without the last bits' noise.
  const std::string digits = number == std::floor(number) && std::abs(number) < 1e15
                                 ? fmt::format("{}", static_cast<long long>(number))
                                 : fmt::format("{:.12g}", number);
  return unit.empty() ? digits : digits + " " + unit;
}

std::vector<YamlTree> range_values(const YamlNode& node) {
  node.allow_only({"from", "to", "step", "times"});
  const Quantity from = read_quantity(node.at("from"));
  const Quantity to = read_quantity(node.at("to"));
  const auto step = node.find("step");
  const auto times = node.find("times");
  if (step.has_value() == times.has_value())
    node.fail("a range has either step: what is added, or times: what is multiplied by");
  if (to.unit != from.unit) {
    node.at("to").fail(fmt::format("'{}' is not the unit of from; write both in '{}'", to.unit,
                                   from.unit.empty() ? "numbers without one" : from.unit));
  }
  if (to.number < from.number) node.at("to").fail("is less than from; ranges ascend");
  Quantity by;
  if (step) {
    by = read_quantity(*step);
    if (by.unit != from.unit)
      step->fail(fmt::format("'{}' is not the unit of from; write it in the same", by.unit));
    if (by.number <= 0) step->fail("must be more than 0");
  } else {
    by.number = times->number();
    if (by.number <= 1) times->fail("must be more than 1");
    if (from.number <= 0) node.at("from").fail("must be more than 0 where it is multiplied");
  }
  std::vector<YamlTree> values;
  const double last = to.number + kRounding * std::abs(to.number);
  double number = from.number;
  while (number <= last) {
    if (values.size() == kMostValues)
      node.fail(fmt::format("gives more than {} values; take a larger step", kMostValues));
    std::string text = written(number, from.unit);
    if (!values.empty() && values.back().text == text)
      node.fail(fmt::format("gives {} twice; take a larger step", text));
    values.push_back(scalar_tree(std::move(text), node.where()));
    number =
        step ? from.number + static_cast<double>(values.size()) * by.number : number * by.number;
  }
  return values;
}

}  // namespace

std::vector<YamlTree> read_axis_values(const YamlNode& node) {
  if (node.is_map()) return range_values(node);
  if (!node.is_list())
    node.fail(
        "expected a list, or a range like {from: 1, to: 32, times: 2}; what does not vary "
        "stands in the base, or in fixed");
  std::vector<YamlTree> values;
  for (const YamlNode& item : node.items()) values.push_back(tree_of(item));
  if (values.empty()) node.fail("is empty; list the values");
  if (values.size() > kMostValues) node.fail(fmt::format("has more than {} values", kMostValues));
  return values;
}

}  // namespace refit::detail
