#include "cli/report_facts.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "checks/runtimes.h"
#include "sim/network_parameters.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

constexpr double kChange = 0.1;

std::string side_words(const SideFacts& side) {
  std::vector<std::string> degrees;
  const auto add = [&](const char* name, int degree) {
    if (degree > 1) degrees.push_back(fmt::format("{}{}", name, degree));
  };
  add("TP", side.tensor);
  add("PP", side.pipeline);
  add("VPP", side.virtual_pipeline);
  add("CP", side.context);
  add("EP", side.expert);
  add("ETP", side.expert_tensor);
  add("DP", side.data);
  return fmt::format("{} GPUs of {}{}{} in {}", format_count(side.gpus), side.engine,
                     degrees.empty() ? "" : " ", fmt::join(degrees, " "), side.precision);
}

CheckResult memory_check(const StrategyResult& row, const Scenario& scenario) {
  CheckResult check{"memory of " + row.strategy, !row.memory_over, {}, {}};
  check.note =
      fmt::format("rank {} holds most: {}", row.memory_rank.value, format_bytes(row.memory_bytes));
  if (row.gpu_memory_bytes > 0) check.note += " of " + format_bytes(row.gpu_memory_bytes);
  if (row.memory_over)
    check.findings = {
        fmt::format("rank {} is the first that has too little memory ({})", row.memory_over->value,
                    format_bytes(scenario.cluster.group(*row.memory_over).gpu_memory_bytes))};
  return check;
}

CheckResult runtime_check(const std::string& runtime, const Scenario& scenario) {
  if (!scenario.training && runtime != "nccl_m2n" && runtime != "vllm_loader")
    return {runtime, true, {}, "not asked: the scenario writes its tensors out, without engines"};
  CheckResult check{runtime, true, lines_by_rule(findings_of_runtime(runtime, scenario)), {}};
  check.fine = check.findings.empty();
  check.note =
      check.fine ? "takes the layouts as they are" : "would refuse the layouts as they are";
  return check;
}

std::optional<CatalogCluster> catalog_of(const NodeGroupSpec& group) {
  const std::vector<std::string> known = catalog_clusters();
  if (std::find(known.begin(), known.end(), group.name) == known.end()) return std::nullopt;
  return catalog_cluster(group.name);
}

void add_machines(const NodeGroupSpec& group, std::vector<Provenance>& rows) {
  const std::optional<CatalogCluster> catalog = catalog_of(group);
  const auto add = [&](const char* key, const char* meaning, const std::string& value,
                       const auto& member) {
    std::string source = "the scenario";
    if (catalog && catalog->group.*member == group.*member) {
      source = "the catalog's " + catalog->name;
      for (const auto& [name, from] : catalog->sources)
        if (name == key) source = from;
    }
    rows.push_back({"cluster " + group.name, key, meaning, value, source});
  };
  using G = NodeGroupSpec;
  rows.push_back({"cluster " + group.name, "nodes", "nodes of this group",
                  format_count(group.nodes), "the scenario"});
  add("gpus_per_node", "GPUs of a node", format_count(group.gpus_per_node), &G::gpus_per_node);
  add("nvlink_domain_gpus", "GPUs that reach each other by NVLink",
      format_count(group.nvlink_domain_gpus), &G::nvlink_domain_gpus);
  if (group.nvlink_domain_gpus > 1) {
    add("nvlink_bandwidth", "NVLink per GPU and direction",
        format_bytes(group.nvlink_bytes_per_s) + "/s", &G::nvlink_bytes_per_s);
    add("nvlink_latency", "per transfer by NVLink", format_seconds(group.nvlink_latency_s),
        &G::nvlink_latency_s);
  }
  add("nics_per_node", "NICs of a node", format_count(group.nics_per_node), &G::nics_per_node);
  add("nic_bandwidth", "one NIC, per direction", format_bandwidth(group.nic_bytes_per_s),
      &G::nic_bytes_per_s);
  add("nic_latency", "per transfer through NICs", format_seconds(group.nic_latency_s),
      &G::nic_latency_s);
  if (group.pcie_bytes_per_s)
    add("pcie_bandwidth", "between a GPU and its NIC", format_bytes(*group.pcie_bytes_per_s) + "/s",
        &G::pcie_bytes_per_s);
  add("gpu_memory", "memory of a GPU",
      group.gpu_memory_bytes > 0 ? format_bytes(group.gpu_memory_bytes) : "not known",
      &G::gpu_memory_bytes);
}

// What joins the nodes, where it can bind.
void add_fabrics(const ClusterSpec& spec, std::vector<Provenance>& rows) {
  for (std::size_t i = 0; i < spec.fabrics.size(); ++i) {
    const FabricSpec& fabric = spec.fabrics[i];
    if (fabric.oversubscription <= 1 && fabric.spines == 0) continue;
    const auto of_catalog = [&](const NodeGroupSpec& group) {
      const auto catalog = catalog_of(group);
      return group.site == static_cast<int>(i) && catalog && catalog->fabric == fabric;
    };
    const auto group = std::find_if(spec.groups.begin(), spec.groups.end(), of_catalog);
    const std::string source =
        group == spec.groups.end() ? "the scenario" : "the catalog's " + group->name;
    const std::string subject = "fabric of site " + spec.sites[i];
    rows.push_back({subject, "oversubscription", "NICs of a leaf to its trunk",
                    fmt::format("{:g}:1", fabric.oversubscription), source});
    rows.push_back({subject, "spines", "cables of a trunk, one of which carries a transfer",
                    fabric.spines > 0 ? format_count(fabric.spines) : "spread over all", source});
  }
  for (const WanSpec& wan : spec.wans)
    rows.push_back({fmt::format("WAN {} - {}", spec.sites[static_cast<std::size_t>(wan.site_a)],
                                spec.sites[static_cast<std::size_t>(wan.site_b)]),
                    "bandwidth", "between sites, per direction", format_bandwidth(wan.bytes_per_s),
                    "the scenario"});
}

void add_constants(const NetworkModel& model, std::vector<Provenance>& rows) {
  for (const NetworkParameter& parameter : network_parameters()) {
    const std::string key(parameter.key);
    const double value = model.*parameter.value;
    const bool free = parameter.kind == ParameterKind::rate && value <= 0;
    std::string source = "not in the model: it costs nothing";
    for (const NetworkModel::Source& s : model.sources)
      if (s.parameter == key) source = s.source;
    rows.push_back({"network model " + model.name, key, std::string(parameter.meaning),
                    free ? "free" : parameter_text(parameter, value), source});
  }
}

}  // namespace

std::string question_words(const Scenario& scenario) {
  const Refit& refit = scenario.refit;
  const std::string model =
      scenario.model ? scenario.model->name
                     : fmt::format("{} classes of tensors",
                                   format_count(static_cast<std::int64_t>(refit.classes.size())));
  const auto side = [](const std::optional<SideFacts>& facts, const std::vector<Rank>& ranks) {
    return facts ? side_words(*facts)
                 : fmt::format("{} ranks", format_count(static_cast<std::int64_t>(ranks.size())));
  };
  return fmt::format(
      "How long does it take to bring new weights of {} ({}) from training on {} to generation on "
      "{}?",
      model, format_bytes(static_cast<double>(refit.unique_bytes())),
      side(scenario.training, refit.sources), side(scenario.generation, refit.destinations));
}

std::vector<ConstantChange> sensitivities_of(const StrategyResult& row) {
  std::vector<ConstantChange> lines;
  for (const auto& [key, seconds] : row.seconds_by_constant) {
    const NetworkParameter& parameter = network_parameters()[network_parameter(key)];
    const bool piece = costs_per_piece(parameter.kind);
    lines.push_back({key, piece ? "-10 %" : "+10 %",
                     piece ? -kChange * seconds : seconds / (1 + kChange) - seconds});
  }
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const ConstantChange& a, const ConstantChange& b) { return a.delta_s < b.delta_s; });
  return lines;
}

std::vector<CheckResult> checks_of(const Scenario& scenario, const SimulationReport& report) {
  // A scenario with illegal layouts is refused before there is a report, and so is a wrong plan.
  std::vector<CheckResult> checks = {
      {"layouts", true, {}, "legal on both sides: every element has a holder"}};
  for (const StrategyResult& row : report.strategies) {
    checks.push_back({"plan " + row.strategy,
                      true,
                      {},
                      fmt::format("correct: every demanded byte arrives once, from somebody who "
                                  "has it ({} ops; plan {})",
                                  format_count(row.ops), row.certificate.plan)});
  }
  for (const StrategyResult& row : report.strategies) {
    checks.push_back(memory_check(row, scenario));
    if (row.limits && !row.limits->exceeded.empty())
      checks.push_back({"limits of " + row.strategy, false, row.limits->exceeded, {}});
  }
  for (const std::string& runtime : runtime_names())
    checks.push_back(runtime_check(runtime, scenario));
  return checks;
}

std::vector<Provenance> provenance_of(const Scenario& scenario, const NetworkModel& model) {
  std::vector<Provenance> rows;
  if (scenario.model)
    rows.push_back({"model", scenario.model->name, scenario.model->architecture,
                    format_count(scenario.model->parameters()) + " parameters",
                    scenario.model->provenance});
  for (const NodeGroupSpec& group : scenario.cluster.spec().groups) add_machines(group, rows);
  add_fabrics(scenario.cluster.spec(), rows);
  add_constants(model, rows);
  return rows;
}

}  // namespace refit
