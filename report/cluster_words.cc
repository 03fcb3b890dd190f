#include "report/cluster_words.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

// NVLink and PCIe are quoted in bytes per second, networks in bits.
std::string byte_rate(double bytes_per_s) { return format_bytes(bytes_per_s) + "/s"; }

std::string nvlink_words(const NodeGroupSpec& group) {
  if (!group.domain_sizes.empty()) {
    const auto [least, most] =
        std::minmax_element(group.domain_sizes.begin(), group.domain_sizes.end());
    return fmt::format("in NVLink domains of {} to {} ({})", *least, *most,
                       byte_rate(group.nvlink_bytes_per_s));
  }
  if (group.nvlink_domain_gpus <= 1) return "without NVLink";
  return fmt::format("in NVLink domains of {} ({})", group.nvlink_domain_gpus,
                     byte_rate(group.nvlink_bytes_per_s));
}

// "; GPU NICs 0 0 1 1 (PIX 50.00 GB/s, SYS 20.00 GB/s)": which GPUs share, and how far it is.
std::string nic_words(const NodeGroupSpec& group) {
  std::vector<std::string> used, rates;
  for (const GpuNics& gpu : group.gpu_nics) {
    used.push_back(gpu.nics.size() == 1 ? fmt::format("{}", gpu.nics.front())
                                        : fmt::format("{}-{}", gpu.nics.front(), gpu.nics.back()));
    if (gpu.path_bytes_per_s == 0) continue;
    std::string rate = gpu.distance + " " + byte_rate(gpu.path_bytes_per_s);
    if (std::find(rates.begin(), rates.end(), rate) == rates.end())
      rates.push_back(std::move(rate));
  }
  return fmt::format(", used by its GPUs in turn: {}{}", fmt::join(used, " "),
                     rates.empty() ? "" : fmt::format(" ({})", fmt::join(rates, ", ")));
}

std::string group_words(const NodeGroupSpec& group) {
  std::string words = fmt::format(
      "{} x {}: {} GPU{} {}, {} NIC{} of {}", group.nodes, group.name, group.gpus_per_node,
      group.gpus_per_node == 1 ? "" : "s", nvlink_words(group), group.nics_per_node,
      group.nics_per_node == 1 ? "" : "s", format_bandwidth(group.nic_bytes_per_s));
  if (!group.gpu_nics.empty()) words += nic_words(group);
  if (group.pcie_bytes_per_s) {
    words += fmt::format(", PCIe {}", byte_rate(*group.pcie_bytes_per_s));
  }
  return words;
}

// A fabric that carries whatever the NICs send is not worth a line.
std::string fabric_words(const FabricSpec& fabric) {
  if (fabric.oversubscription <= 1 && fabric.spines == 0 && fabric.trunk_bytes_per_s.empty())
    return {};
  std::string words = fabric.oversubscription > 1
                          ? fmt::format("fabric oversubscribed {:g}:1", fabric.oversubscription)
                          : "fabric";
  if (!fabric.leaf_nodes.empty()) {
    const auto [least, most] =
        std::minmax_element(fabric.leaf_nodes.begin(), fabric.leaf_nodes.end());
    words += fmt::format(", leaves of {} to {} nodes{}", *least, *most,
                         fabric.rail_optimized ? ", one per rail" : "");
  }
  if (!fabric.trunk_bytes_per_s.empty()) {
    const auto [least, most] =
        std::minmax_element(fabric.trunk_bytes_per_s.begin(), fabric.trunk_bytes_per_s.end());
    words += fmt::format(", trunks of {} to {}", format_bandwidth(*least), format_bandwidth(*most));
  }
  if (fabric.nodes_per_leaf > 0) {
    words += fmt::format(", leaves of {} nodes{}", fabric.nodes_per_leaf,
                         fabric.rail_optimized ? ", one per rail" : "");
  }
  if (fabric.spines > 0) {
    words += fmt::format("; each transfer takes one of {} spine{} by a hash", fabric.spines,
                         fabric.spines == 1 ? "" : "s");
  }
  return words;
}

}  // namespace

std::string cluster_words(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const bool sites = spec.sites.size() > 1;
  const auto site_name = [&](int site) { return spec.sites[static_cast<std::size_t>(site)]; };
  std::vector<std::string> lines;
  for (const NodeGroupSpec& group : spec.groups) {
    lines.push_back(group_words(group) + (sites ? ", site " + site_name(group.site) : ""));
  }
  for (std::size_t site = 0; site < spec.fabrics.size(); ++site) {
    const std::string words = fabric_words(spec.fabrics[site]);
    if (!words.empty()) lines.push_back(sites ? spec.sites[site] + ": " + words : words);
  }
  for (const WanSpec& wan : spec.wans) {
    lines.push_back(fmt::format("{} - {}: {} each way, {}", site_name(wan.site_a),
                                site_name(wan.site_b), format_bandwidth(wan.bytes_per_s),
                                format_seconds(wan.latency_s)));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

}  // namespace refit
