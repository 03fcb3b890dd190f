#include "sweep/sensitivity.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/workers.h"
#include "base/yaml.h"
#include "sweep/detail/replica_gpus.h"
#include "sweep/evaluate.h"
#include "sweep/sweep_csv.h"
#include "sweep/yaml_tree.h"

namespace refit {
namespace {

constexpr double kFasterNic = 100e9 / 8;

// A scenario's text, changed.
struct Edit {
  WhatIf what;
  YamlTree tree;
  std::string reason = {};  // why it can't be

  void put(const std::string& path, std::string value) {
    what.fields.push_back(fmt::format("{}: {}", path, value));
    put_into(tree, split_path(path, ""), scalar_tree(std::move(value), "what if"));
  }
};

// Where the keys of a group stand: in the cluster itself, or in a list.
std::string group_path(const YamlTree& tree, std::size_t group) {
  const bool listed = find_in(tree, {"cluster", "groups"}) != nullptr;
  return listed ? fmt::format("cluster.groups[{}]", group) : "cluster";
}

Edit faster_nics(const Scenario& scenario, const YamlTree& tree) {
  Edit edit{{"NICs +100 Gbit/s", {}, {}}, tree};
  const std::vector<NodeGroupSpec>& groups = scenario.cluster.spec().groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    edit.put(group_path(tree, g) + ".nic_bandwidth",
             fmt::format("{:.12g} Gbit/s", (groups[g].nic_bytes_per_s + kFasterNic) * 8 / 1e9));
  }
  return edit;
}

Edit doubled_domains(const Scenario& scenario, const YamlTree& tree) {
  Edit edit{{"NVLink domains x 2", {}, {}}, tree};
  const std::vector<NodeGroupSpec>& groups = scenario.cluster.spec().groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const NodeGroupSpec& group = groups[g];
    if (!group.domain_sizes.empty()) {
      edit.reason = "domain_sizes are written out";
      return edit;
    }
    if (group.nvlink_domain_gpus >= group.nodes * group.gpus_per_node) continue;
    edit.put(group_path(tree, g) + ".nvlink_domain_gpus",
             fmt::format("{}", 2 * group.nvlink_domain_gpus));
  }
  if (edit.what.fields.empty()) edit.reason = "all GPUs are in one domain already";
  return edit;
}

Edit one_more_replica(const Scenario& scenario, const YamlTree& tree) {
  Edit edit{{"one engine more", {}, {}}, tree};
  const std::optional<int> gpus = detail::replica_gpus(tree);
  if (!gpus || !scenario.generation || !scenario.training) {
    edit.reason = "generation is no set of equal engines";
    return edit;
  }
  const SideFacts& side = *scenario.generation;
  edit.put("generation.gpus", fmt::format("{}", side.gpus + *gpus));
  if (find_in(tree, {"generation", "engines"}) != nullptr)
    edit.put("generation.engines", fmt::format("{}", side.gpus / *gpus + 1));
  const int missing = side.first.value + side.gpus + *gpus - scenario.cluster.gpus();
  if (missing > 0) {
    const std::vector<NodeGroupSpec>& groups = scenario.cluster.spec().groups;
    const NodeGroupSpec& last = groups.back();
    const int nodes = (missing + last.gpus_per_node - 1) / last.gpus_per_node;
    edit.put(group_path(tree, groups.size() - 1) + ".nodes", fmt::format("{}", last.nodes + nodes));
  }
  return edit;
}

std::optional<Edit> one_more_percent(const YamlTree& tree) {
  const YamlTree* change = find_in(tree, {"delta", "change"});
  if (change == nullptr || change->kind != YamlTree::Kind::scalar) return std::nullopt;
  double percent = 0;
  const std::string& text = change->text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || !text.ends_with('%')) return std::nullopt;
  Edit edit{{"changed +1 %", {}, {}}, tree};
  edit.put("delta.change", fmt::format("{:.12g} %", percent + 1));
  return edit;
}

std::vector<Edit> edits_of(const Scenario& scenario) {
  const YamlTree tree = tree_of(YamlNode::parse_text(scenario.text, scenario.path));
  std::vector<Edit> edits{{{"as it is", {}, {}}, tree}};
  edits.push_back(faster_nics(scenario, tree));
  edits.push_back(doubled_domains(scenario, tree));
  edits.push_back(one_more_replica(scenario, tree));
  if (auto edit = one_more_percent(tree)) edits.push_back(*std::move(edit));
  return edits;
}

SweepRow row_of(const Edit& edit, const std::string& path, const std::string& strategy,
                const std::function<void(Scenario&)>& adjust) {
  SweepRow row;
  row.strategy = strategy;
  row.reason = edit.reason;
  if (!edit.reason.empty()) return row;
  const WrittenTree written(edit.tree, path);
  try {
    Scenario scenario = parse_scenario(written.text(), path);
    if (adjust) adjust(scenario);
    predict_row(scenario, strategy, row);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) throw;
    row.reason = written.with_origins(error.what());
  }
  return row;
}

}  // namespace

std::vector<Sensitivity> sensitivity(const Scenario& scenario,
                                     const std::vector<std::string>& strategies, int workers,
                                     const std::function<void(Scenario&)>& adjust) {
  const std::vector<Edit> edits = edits_of(scenario);
  std::vector<Job> jobs;
  for (const std::string& strategy : strategies) {
    for (const Edit& edit : edits) {
      jobs.push_back({edit.what.change, [&scenario, &strategy, &edit, &adjust] {
                        return csv_line(row_of(edit, scenario.path, strategy, adjust));
                      }});
    }
  }
  const std::vector<std::string> lines = run_in_workers(jobs, workers);
  const SweepTable shape{"what-if", 1, {}, {}};
  std::vector<Sensitivity> all;
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    Sensitivity one{strategies[s], parse_csv_line(lines[s * edits.size()], shape), {}};
    // As it is, it must be feasible: whoever asks has predicted it.
    if (one.base.outcome != PointOutcome::predicted)
      throw Error(ErrorCode::bad_input, one.base.reason);
    for (std::size_t e = 1; e < edits.size(); ++e) {
      one.what_ifs.push_back(edits[e].what);
      one.what_ifs.back().row = parse_csv_line(lines[s * edits.size() + e], shape);
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace refit
