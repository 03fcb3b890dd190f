#include "sweep/sweep.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/error.h"
#include "base/text_file.h"
#include "sweep/detail/axis_values.h"
#include "sweep/detail/base_scenario.h"
#include "sweep/detail/formula.h"
#include "sweep/detail/text_hash.h"
#include "sweep/evaluate.h"

namespace refit {
namespace {

constexpr const char* kStrategy = "strategy";
constexpr std::size_t kMostDerived = 1000;
constexpr const char* kDefaultStrategy = "reshard";

class Reader {
 public:
  Reader(const YamlNode& root, const std::string& path) : root_(root) { sweep_.path = path; }

  Sweep read(const std::string& salt) && {
    root_.allow_only({"sweep", "description", "base", "vary", "together", "fixed", "derived"});
    sweep_.name = root_.at("sweep").text();
    if (const auto description = root_.find("description")) description->text();
    detail::BaseScenario base = detail::read_base_scenario(root_.at("base"), sweep_.path);
    sweep_.base = std::move(base.tree);
    sweep_.base_path = std::move(base.path);
    if (const auto fixed = root_.find("fixed")) {
      for (const auto& [key, value] : fixed->entries()) {
        claim(key, value);
        sweep_.fixed.emplace_back(key, tree_of(value));
        if (key == kStrategy) require_strategy(sweep_.fixed.back().second);
      }
    }
    if (const auto vary = root_.find("vary")) {
      for (const auto& [key, value] : vary->entries()) add_axis({{key, value}}, value);
    }
    if (const auto together = root_.find("together")) {
      for (const YamlNode& group : together->items()) add_axis(group.entries(), group);
    }
    if (sweep_.axes.empty())
      root_.fail("nothing varies; list fields under vary, as in cluster.nodes: [4, 8]");
    if (const auto derived = root_.find("derived")) {
      for (const auto& [key, value] : derived->entries()) {
        claim(key, value);
        sweep_.derived.push_back({key, value.text(), value.where()});
        if (sweep_.derived.size() > kMostDerived)
          value.fail(fmt::format("is more than {} derived fields", kMostDerived));
      }
    }
    put_derived_in_order();
    if (const YamlTree* strategy = find_in(sweep_.base, {kStrategy})) require_strategy(*strategy);
    if (find_in(sweep_.base, {kStrategy}) == nullptr)
      put_into(sweep_.base, {kStrategy}, scalar_tree(kDefaultStrategy, root_.where()));
    sweep_.hash = detail::text_hash(essence() + salt);
    return std::move(sweep_);
  }

 private:
  void add_axis(const std::vector<std::pair<std::string, YamlNode>>& fields, const YamlNode& at) {
    SweepAxis axis;
    for (const auto& [key, value] : fields) {
      claim(key, value);
      axis.paths.push_back(key);
      std::vector<YamlTree> values = detail::read_axis_values(value);
      if (axis.paths.size() == 1) axis.values.resize(values.size());
      if (values.size() != axis.values.size()) {
        value.fail(
            fmt::format("{} values, but {} of '{}'; fields that vary together have equally "
                        "many",
                        values.size(), axis.values.size(), axis.paths.front()));
      }
      if (key == kStrategy) std::for_each(values.begin(), values.end(), require_strategy);
      for (std::size_t v = 0; v < values.size(); ++v)
        axis.values[v].push_back(std::move(values[v]));
    }
    if (axis.paths.empty()) at.fail("names no field");
    sweep_.axes.push_back(std::move(axis));
    if (sweep_.points() > kMostPoints)
      at.fail(fmt::format("makes it more than {} points; split the sweep", kMostPoints));
  }

  // What a formula names stands before it, wherever the file has it: the base may have a number of
  // its own there, which is not the one that is meant.
  void put_derived_in_order() {
    std::vector<DerivedField> ordered;
    std::vector<std::string> trail;
    const auto is_done = [&](const std::string& path) {
      return std::ranges::find(ordered, path, &DerivedField::path) != ordered.end();
    };
    const std::function<void(const DerivedField&)> visit = [&](const DerivedField& field) {
      if (is_done(field.path)) return;
      const bool is_ring = std::ranges::find(trail, field.path) != trail.end();
      trail.push_back(field.path);
      if (is_ring) {
        throw Error(ErrorCode::bad_input,
                    fmt::format("{}: derived.{}: is made of itself: {}", field.where, field.path,
                                fmt::join(trail, " <- ")));
      }
      for (const std::string& path : detail::paths_in(field.formula)) {
        const auto other = std::ranges::find(sweep_.derived, path, &DerivedField::path);
        if (other != sweep_.derived.end()) visit(*other);
      }
      trail.pop_back();
      ordered.push_back(field);
    };
    for (const DerivedField& field : sweep_.derived) visit(field);
    sweep_.derived = std::move(ordered);
  }

  void claim(const std::string& path, const YamlNode& node) {
    split_path(path, node.where());
    if (!claimed_.insert(path).second)
      node.fail(fmt::format("'{}' is set twice; vary, fix or derive it, once", path));
  }

  // What the results depend on, as text.
  std::string essence() const {
    std::string text = WrittenTree(sweep_.base, "").text();
    for (const auto& [key, value] : sweep_.fixed) text += key + "=" + one_line(value) + "\n";
    for (const SweepAxis& axis : sweep_.axes) {
      for (std::size_t p = 0; p < axis.paths.size(); ++p) {
        text += axis.paths[p] + ":";
        for (const auto& values : axis.values) text += one_line(values[p]) + "\n";
      }
      text += "\n";
    }
    for (const DerivedField& field : sweep_.derived) text += field.path + "=" + field.formula;
    return text;
  }

  const YamlNode& root_;
  Sweep sweep_;
  std::set<std::string> claimed_;
};

}  // namespace

std::int64_t Sweep::points() const {
  std::int64_t points = 1;
  for (const SweepAxis& axis : axes) {
    points *= static_cast<std::int64_t>(axis.values.size());
    if (points > kMostPoints) break;  // refused anyway, and two axes can't overflow
  }
  return points;
}

std::vector<std::string> Sweep::columns() const {
  std::vector<std::string> columns;
  for (const SweepAxis& axis : axes) {
    for (const std::string& field : axis.paths)
      if (field != kStrategy) columns.push_back(field);
  }
  for (const DerivedField& field : derived) columns.push_back(field.path);
  return columns;
}

Sweep load_sweep(const std::string& path, const std::string& salt) {
  return parse_sweep(read_text_file(path, std::size_t{16} << 20), path, salt);
}

Sweep parse_sweep(const std::string& text, const std::string& name, const std::string& salt) {
  const YamlNode root = YamlNode::parse_text(text, name);
  return Reader(root, name).read(salt);
}

SweepPoint point_of(const Sweep& sweep, std::int64_t number) {
  REFIT_CHECK(number >= 0 && number < sweep.points());
  std::vector<std::size_t> chosen(sweep.axes.size());
  std::int64_t rest = number;
  for (std::size_t a = sweep.axes.size(); a-- > 0;) {
    const auto size = static_cast<std::int64_t>(sweep.axes[a].values.size());
    chosen[a] = static_cast<std::size_t>(rest % size);
    rest /= size;
  }
  using Change = std::pair<std::vector<std::string>, const YamlTree*>;
  std::vector<Change> changes;
  for (const auto& [path, value] : sweep.fixed) changes.emplace_back(split_path(path, ""), &value);
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    const SweepAxis& axis = sweep.axes[a];
    for (std::size_t p = 0; p < axis.paths.size(); ++p)
      changes.emplace_back(split_path(axis.paths[p], ""), &axis.values[chosen[a]][p]);
  }
  // A whole map before what changes inside it.
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.first.size() < b.first.size();
  });
  SweepPoint point{number, std::vector<std::string>(sweep.columns().size()), {}, {}};
  YamlTree tree = sweep.base;
  try {
    for (const auto& [path, value] : changes) put_into(tree, path, *value);
    for (const DerivedField& field : sweep.derived) {
      const std::int64_t value = detail::formula_value(
          field.formula, tree, fmt::format("{}: derived.{}", field.where, field.path));
      put_into(tree, split_path(field.path, ""),
               scalar_tree(fmt::format("{}", value), field.where));
    }
  } catch (const Error& error) {
    point.reason = error.what();
  }
  std::size_t column = 0;
  for (const std::string& path : sweep.columns()) {
    const YamlTree* value = find_in(tree, split_path(path, ""));
    if (value != nullptr) point.values[column] = one_line(*value);
    ++column;
  }
  point.strategy = one_line(*find_in(tree, {kStrategy}));
  drop_from(tree, kStrategy);
  if (point.reason.empty()) point.scenario.emplace(tree, sweep.base_path);
  return point;
}

}  // namespace refit
