#include "sweep/size.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/text_file.h"
#include "base/units.h"
#include "sweep/detail/axis_values.h"
#include "sweep/detail/base_scenario.h"
#include "sweep/detail/replica_gpus.h"
#include "sweep/evaluate.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

constexpr int kMostGpus = 1'000'000;
constexpr double kMostPrice = 1e12;  // of all nodes together it is still a number

// How much a value of a field is, if it is a number, with or without a unit.
std::optional<double> amount(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  if (stop == end || std::string_view(stop, static_cast<std::size_t>(end - stop)) == " %")
    return number;
  for (const auto parse : {parse_bandwidth, parse_seconds}) {
    try {
      return parse(text);
    } catch (const Error&) {  // another unit
    }
  }
  return std::nullopt;
}

// Of these less is more.
bool descends(std::string_view field) {
  return field.ends_with("oversubscription") || field.ends_with("latency");
}

// Candidates are read by processes of their own; what they name is read all the same.
void note_files(const YamlTree& tree, const std::filesystem::path& folder) {
  std::error_code ignored;  // most scalars are no path
  if (tree.kind == YamlTree::Kind::scalar &&
      std::filesystem::is_regular_file(folder / tree.text, ignored))
    note_read((folder / tree.text).string());
  for (const auto& [key, child] : tree.children) note_files(child, folder);
}

class Reader {
 public:
  Reader(const YamlNode& root, const std::string& path, const SizeOverrides& overrides)
      : root_(root), overrides_(overrides) {
    question_.sweep.path = path;
  }

  SizeQuestion read() && {
    root_.allow_only({"size", "description", "base", "replicas", "step", "below", "strategy",
                      "catalog", "least"});
    question_.name = root_.at("size").text();
    question_.sweep.name = question_.name;
    if (const auto description = root_.find("description")) description->text();
    question_.step_s = overrides_.step_s ? *overrides_.step_s : root_.at("step").seconds();
    question_.below = overrides_.below ? *overrides_.below : root_.at("below").percent();
    require_more_than_0(question_.step_s, overrides_.step_s.has_value(), "step", "0 s");
    require_more_than_0(question_.below, overrides_.below.has_value(), "below", "0 %");
    detail::BaseScenario base = detail::read_base_scenario(root_.at("base"), question_.sweep.path);
    question_.sweep.base = std::move(base.tree);
    question_.sweep.base_path = std::move(base.path);
    question_.sweep.hash = "size";
    if (const auto replicas = root_.find("replicas")) set_replicas(*replicas);
    const auto catalog = root_.find("catalog");
    const auto least = root_.find("least");
    if (catalog.has_value() == least.has_value()) {
      root_.fail(
          "has either catalog: clusters with prices, or least: a field and its values, "
          "least first");
    }
    catalog ? read_catalog(*catalog) : read_least(*least);
    read_strategies();
    const auto folder = std::filesystem::path(question_.sweep.base_path).parent_path();
    note_files(question_.sweep.base, folder);
    for (const SweepAxis& axis : question_.sweep.axes)
      for (const auto& values : axis.values)
        for (const YamlTree& value : values) note_files(value, folder);
    return std::move(question_);
  }

 private:
  void require_more_than_0(double value, bool is_option, const char* key, const char* zero) const {
    if (value > 0) return;
    const std::string what = fmt::format("must be more than {}", zero);
    if (!is_option) root_.at(key).fail(what);
    throw Error(ErrorCode::bad_input, fmt::format("--{}: {}", key, what));
  }

  YamlTree& base() { return question_.sweep.base; }

  void put(const std::string& path, YamlTree value) {
    put_into(base(), split_path(path, ""), std::move(value));
  }

  void set_replicas(const YamlNode& node) {
    const auto replicas = node.integer(1, kMostGpus);
    const std::optional<int> gpus = detail::replica_gpus(base());
    if (!gpus) node.fail("the base's generation is no vllm or sglang engine, which has replicas");
    const std::int64_t all = replicas * *gpus;
    if (all > kMostGpus) node.fail(fmt::format("{} GPUs are more than {}", all, kMostGpus));
    put("generation.gpus", scalar_tree(fmt::format("{}", all), node.where()));
    drop_from_map("generation", "engines");
  }

  void drop_from_map(const char* map, const char* key) {
    for (auto& [name, child] : base().children)
      if (name == map) drop_from(child, key);
  }

  int number_at(const YamlNode& node, const std::vector<std::string>& path, int otherwise) {
    const YamlTree* found = find_in(base(), path);
    if (found == nullptr) return otherwise;
    int value = 0;
    const char* end = found->text.data() + found->text.size();
    const auto [stop, error] = std::from_chars(found->text.data(), end, value);
    if (error != std::errc() || stop != end || value < 0 || value > kMostGpus)
      node.fail(fmt::format("the base's {}.{} is '{}', no number of GPUs", path[0], path[1],
                            one_line(*found)));
    return value;
  }

  // How many GPUs the two sides take.
  int gpus_needed(const YamlNode& node) {
    for (const char* side : {"training", "generation"}) {
      if (find_in(base(), {side, "gpus"}) == nullptr)
        node.fail(
            fmt::format("the base has no {}.gpus to count nodes by; write it there, or "
                        "nodes here",
                        side));
    }
    const int training_end =
        number_at(node, {"training", "first_gpu"}, 0) + number_at(node, {"training", "gpus"}, 0);
    const int generation_end = number_at(node, {"generation", "first_gpu"}, training_end) +
                               number_at(node, {"generation", "gpus"}, 0);
    return std::max(training_end, generation_end);
  }

  void read_catalog(const YamlNode& catalog) {
    SweepAxis axis{{"cluster"}, {}};
    std::set<std::string> names;
    for (const YamlNode& entry : catalog.items()) {
      entry.allow_only({"name", "cluster", "price", "price_once", "nodes_at_a_time"});
      SizeQuestion::Candidate candidate;
      candidate.name = entry.at("name").text();
      if (!names.insert(candidate.name).second)
        entry.at("name").fail(fmt::format("'{}' is there twice", candidate.name));
      YamlTree cluster = with_nodes(entry, candidate);
      const double once = entry.find("price_once") ? price(entry.at("price_once")) : 0;
      candidate.cost = once + price(entry.at("price")) * candidate.nodes;
      question_.candidates.push_back(std::move(candidate));
      axis.values.push_back({std::move(cluster)});
    }
    if (axis.values.empty()) catalog.fail("is empty; list clusters with a name and a price");
    question_.sweep.axes.push_back(std::move(axis));
  }

  static double price(const YamlNode& node) {
    const double value = node.number();
    if (value < 0) node.fail("must not be negative");
    if (value > kMostPrice) node.fail(fmt::format("is more than {}", kMostPrice));
    return value;
  }

  // The entry's cluster with as many nodes as the two sides need, if it does not say how many.
  YamlTree with_nodes(const YamlNode& entry, SizeQuestion::Candidate& candidate) {
    const YamlNode node = entry.at("cluster");
    YamlTree tree = tree_of(node);
    const bool counted =
        find_in(tree, {"nodes"}) != nullptr || find_in(tree, {"groups"}) != nullptr;
    if (!counted) put_into(tree, {"nodes"}, scalar_tree("1", node.where()));
    const ClusterSpec spec = spec_of(tree);
    if (!counted) {
      const auto step = entry.find("nodes_at_a_time");
      const auto unit = step ? static_cast<int>(step->integer(1, kMostGpus)) : 1;
      const int unit_gpus =
          std::min(unit, kMostGpus / spec.groups[0].gpus_per_node) * spec.groups[0].gpus_per_node;
      const int units = (gpus_needed(node) + unit_gpus - 1) / unit_gpus;
      put_into(tree, {"nodes"}, scalar_tree(fmt::format("{}", units * unit), node.where()));
    } else if (const auto step = entry.find("nodes_at_a_time")) {
      step->fail("the cluster says how many nodes it has; leave one of the two out");
    }
    for (const NodeGroupSpec& group : spec_of(tree).groups) {
      candidate.nodes += group.nodes;
      candidate.gpus += group.nodes * group.gpus_per_node;
    }
    return tree;
  }

  static ClusterSpec spec_of(const YamlTree& tree) {
    const WrittenTree written(tree, "cluster");
    try {
      return read_cluster(YamlNode::parse_text(written.text(), "cluster"));
    } catch (const Error& error) {
      throw Error(error.code(), written.with_origins(error.what()));
    }
  }

  void read_least(const YamlNode& least) {
    const auto entries = least.entries();
    if (entries.size() != 1)
      least.fail(
          "names one field and its values, as in {cluster.nic_bandwidth: [200 Gbit/s, ...]}");
    const auto& [field, node] = entries.front();
    split_path(field, node.where());
    question_.field = field;
    SweepAxis axis{{field}, {}};
    for (YamlTree& value : detail::read_axis_values(node)) {
      require_more(field, axis, value);
      question_.candidates.push_back({one_line(value), 0, 0, std::nullopt});
      axis.values.push_back({std::move(value)});
    }
    question_.sweep.axes.push_back(std::move(axis));
  }

  // The first that meets the question is the answer, so a wrong order would be a wrong answer.
  static void require_more(const std::string& field, const SweepAxis& axis, const YamlTree& value) {
    if (axis.values.empty()) return;
    const std::string last = one_line(axis.values.back().front()), next = one_line(value);
    const auto a = amount(last), b = amount(next);
    if (!a || !b || (descends(field) ? *b < *a : *b > *a)) return;
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: least.{}: {} does not ask for more than {}; list the least first",
                            value.where, field, next, last));
  }

  void read_strategies() {
    SweepAxis axis{{"strategy"}, {}};
    const auto node = root_.find("strategy");
    if (node && node->is_list()) {
      for (const YamlNode& item : node->items()) axis.values.push_back({tree_of(item)});
      if (axis.values.empty()) node->fail("is empty; name one or more");
    } else {
      axis.values.push_back({node ? tree_of(*node) : scalar_tree("reshard", root_.where())});
    }
    for (const auto& values : axis.values) require_strategy(values.front());
    question_.sweep.axes.push_back(std::move(axis));
  }

  const YamlNode& root_;
  const SizeOverrides& overrides_;
  SizeQuestion question_;
};

Verdict verdict_of(const SizeCandidate& candidate, double most_s) {
  const SweepRow& row = candidate.row;
  if (row.outcome != PointOutcome::predicted || !row.over.empty()) return Verdict::unfit;
  if (candidate.bound_s > most_s) return Verdict::impossible;
  if (row.high_s && *row.high_s <= most_s) return Verdict::sure;
  if (row.prediction_s <= most_s) return Verdict::likely;
  return row.low_s.value_or(row.prediction_s) <= most_s ? Verdict::unlikely : Verdict::no;
}

bool fits(const SweepRow& row) {
  return row.outcome == PointOutcome::predicted && row.over.empty();
}

// Those that fit before those that do not, then the faster.
bool better(const SweepRow& a, const SweepRow& b) {
  if (fits(a) != fits(b)) return fits(a);
  const bool a_is = a.outcome == PointOutcome::predicted;
  const bool b_is = b.outcome == PointOutcome::predicted;
  if (a_is != b_is) return a_is;
  return a_is && a.prediction_s < b.prediction_s;
}

// Nobody is cheaper and as fast, or as cheap and faster.
std::vector<std::size_t> front_of(const std::vector<SizeCandidate>& candidates) {
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < candidates.size(); ++c)
    if (candidates[c].cost && fits(candidates[c].row)) order.push_back(c);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(*candidates[a].cost, candidates[a].row.prediction_s) <
           std::pair(*candidates[b].cost, candidates[b].row.prediction_s);
  });
  std::vector<std::size_t> front;
  for (const std::size_t c : order) {
    if (front.empty() || candidates[c].row.prediction_s < candidates[front.back()].row.prediction_s)
      front.push_back(c);
  }
  return front;
}

}  // namespace

SizeQuestion load_size(const std::string& path, const SizeOverrides& overrides) {
  return parse_size(read_text_file(path, std::size_t{16} << 20), path, overrides);
}

SizeQuestion parse_size(const std::string& text, const std::string& name,
                        const SizeOverrides& overrides) {
  const YamlNode root = YamlNode::parse_text(text, name);
  return Reader(root, name, overrides).read();
}

SizeAnswer answer_of(const SizeQuestion& question, const SweepTable& table) {
  REFIT_CHECK(static_cast<std::int64_t>(table.rows.size()) == question.sweep.points());
  SizeAnswer answer{question.name, question.step_s, question.below, question.field, {}, {}, {}, {}};
  const std::size_t strategies = question.sweep.axes.back().values.size();
  for (std::size_t c = 0; c < question.candidates.size(); ++c) {
    const auto rows = std::span(table.rows).subspan(c * strategies, strategies);
    const auto& asked = question.candidates[c];
    SizeCandidate candidate{asked.name, asked.nodes, asked.gpus, asked.cost, rows.front()};
    std::optional<double> bound_s;
    for (const SweepRow& row : rows) {
      if (better(row, candidate.row)) candidate.row = row;
      if (row.outcome == PointOutcome::predicted)
        bound_s = std::min(bound_s.value_or(row.bound_s), row.bound_s);
    }
    candidate.bound_s = bound_s.value_or(0);
    candidate.verdict = verdict_of(candidate, answer.most_s());
    answer.candidates.push_back(std::move(candidate));
  }
  std::vector<std::size_t> order(answer.candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return answer.candidates[a].cost.value_or(0) < answer.candidates[b].cost.value_or(0);
  });
  for (const std::size_t c : order) {
    const Verdict verdict = answer.candidates[c].verdict;
    if (verdict == Verdict::sure && !answer.sure) answer.sure = c;
    if ((verdict == Verdict::sure || verdict == Verdict::likely) && !answer.likely)
      answer.likely = c;
  }
  answer.front = front_of(answer.candidates);
  return answer;
}

}  // namespace refit
