#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/units.h"
#include "cli/catalog.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/table.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

std::string nvlink_domain(const NodeGroupSpec& group) {
  return group.nvlink_domain_gpus > 1 ? fmt::format("{} GPUs", group.nvlink_domain_gpus) : "-";
}

std::string nvlink_rate(const NodeGroupSpec& group) {
  return group.nvlink_domain_gpus > 1 ? format_bytes(group.nvlink_bytes_per_s) + "/s" : "-";
}

std::string nics(const NodeGroupSpec& group) {
  return fmt::format("{} x {}", group.nics_per_node, format_bandwidth(group.nic_bytes_per_s));
}

Cell nvlink_rate_cell(const NodeGroupSpec& group) {
  if (group.nvlink_domain_gpus <= 1) return "-";
  return {nvlink_rate(group), group.nvlink_bytes_per_s};
}

Table catalog_table() {
  Table table({{"name", Align::left},
               {"GPUs / node", Align::right, "gpus_per_node"},
               {"NVLink domain", Align::right, "nvlink_domain_gpus"},
               {"NVLink / GPU", Align::right, "nvlink_bytes_per_s"},
               {"NICs / node", Align::right, "nics_per_node"},
               {"nic_bytes_per_s", Align::unseen},
               {"memory / GPU", Align::right, "gpu_memory_bytes"},
               {"what it is", Align::left, "what"}});
  for (const std::string& name : catalog_clusters()) {
    const CatalogCluster entry = catalog_cluster(name);
    const NodeGroupSpec& group = entry.group;
    table.add_row({entry.name, count_cell(group.gpus_per_node),
                   Cell(nvlink_domain(group), group.nvlink_domain_gpus), nvlink_rate_cell(group),
                   Cell(nics(group), group.nics_per_node), number_cell(group.nic_bytes_per_s),
                   bytes_cell(group.gpu_memory_bytes), entry.description});
  }
  return table;
}

Table numbers_table(const CatalogCluster& entry) {
  const NodeGroupSpec& group = entry.group;
  Table numbers({{"number", Align::left}, {"value"}});
  numbers.add_row({"GPUs per node", count_cell(group.gpus_per_node)});
  numbers.add_row({"NVLink domain", Cell(nvlink_domain(group), group.nvlink_domain_gpus)});
  if (group.nvlink_domain_gpus > 1) {
    numbers.add_row({"NVLink per GPU and direction", nvlink_rate_cell(group)});
    numbers.add_row({"NVLink latency", seconds_cell(group.nvlink_latency_s)});
  }
  numbers.add_row({"NICs per node, per direction", nics(group)});
  numbers.add_row({"NIC latency", seconds_cell(group.nic_latency_s)});
  if (group.pcie_bytes_per_s) {
    numbers.add_row({"PCIe per GPU and direction",
                     Cell(format_bytes(*group.pcie_bytes_per_s) + "/s", group.pcie_bytes_per_s)});
  }
  numbers.add_row({"memory per GPU", bytes_cell(group.gpu_memory_bytes)});
  numbers.add_row(
      {"fabric oversubscription",
       Cell(fmt::format("{:g}", entry.fabric.oversubscription), entry.fabric.oversubscription)});
  return numbers;
}

std::string details(const CatalogCluster& entry, Paint paint) {
  const std::string text =
      fmt::format("{}: {}\n\n{}", entry.name, entry.description, numbers_table(entry).text(paint));
  if (entry.sources.empty()) return text;
  Table sources({{"key", Align::left}, {"where the number is from", Align::left}});
  for (const auto& [key, source] : entry.sources) sources.add_row({key, source});
  return text + "\n" + sources.text(paint);
}

}  // namespace

void add_clusters(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("clusters", "List the clusters of the catalog, or show one");
  add_catalog(*verb, action,
              {"A cluster of the catalog", "refit.clusters/1", [] { return catalog_table(); },
               [](const std::string& name) { return numbers_table(catalog_cluster(name)); },
               [] { return catalog_table().text(paint_of()) + "\nRates are per direction.\n"; },
               [](const std::string& name) { return details(catalog_cluster(name), paint_of()); }});
}

}  // namespace refit
