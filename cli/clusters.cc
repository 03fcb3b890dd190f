#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/units.h"
#include "cli/output.h"
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

std::string catalog_table() {
  Table table({{"name", Align::left},
               {"GPUs / node"},
               {"NVLink domain"},
               {"NVLink / GPU"},
               {"NICs / node"},
               {"memory / GPU"},
               {"what it is", Align::left}});
  for (const std::string& name : catalog_clusters()) {
    const CatalogCluster entry = catalog_cluster(name);
    table.add_row({entry.name, format_count(entry.group.gpus_per_node), nvlink_domain(entry.group),
                   nvlink_rate(entry.group), nics(entry.group),
                   format_bytes(entry.group.gpu_memory_bytes), entry.description});
  }
  return table.text() + "\nRates are per direction.\n";
}

std::string details(const CatalogCluster& entry) {
  const NodeGroupSpec& group = entry.group;
  Table numbers({{"number", Align::left}, {"value"}});
  numbers.add_row({"GPUs per node", format_count(group.gpus_per_node)});
  numbers.add_row({"NVLink domain", nvlink_domain(group)});
  if (group.nvlink_domain_gpus > 1) {
    numbers.add_row({"NVLink per GPU and direction", nvlink_rate(group)});
    numbers.add_row({"NVLink latency", format_seconds(group.nvlink_latency_s)});
  }
  numbers.add_row({"NICs per node, per direction", nics(group)});
  numbers.add_row({"NIC latency", format_seconds(group.nic_latency_s)});
  if (group.pcie_bytes_per_s) {
    numbers.add_row({"PCIe per GPU and direction", format_bytes(*group.pcie_bytes_per_s) + "/s"});
  }
  numbers.add_row({"memory per GPU", format_bytes(group.gpu_memory_bytes)});
  numbers.add_row({"fabric oversubscription", fmt::format("{:g}", entry.fabric.oversubscription)});
  std::string text = fmt::format("{}: {}\n\n{}", entry.name, entry.description, numbers.text());
  if (entry.sources.empty()) return text;
  Table sources({{"key", Align::left}, {"where the number is from", Align::left}});
  for (const auto& [key, source] : entry.sources) sources.add_row({key, source});
  return text + "\n" + sources.text();
}

}  // namespace

void add_clusters(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("clusters", "List the clusters of the catalog, or show one");
  auto name = std::make_shared<std::optional<std::string>>();
  verb->add_option("NAME", *name, "A cluster of the catalog");
  verb->callback([&action, name] {
    action = [name] {
      print(*name ? details(catalog_cluster(**name)) : catalog_table());
      return 0;
    };
  });
}

}  // namespace refit
