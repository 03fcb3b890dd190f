#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "topology/import/cluster_import.h"

namespace refit {
namespace {

// Digits enough to read the same number back.
std::string rate(double bytes_per_s) { return fmt::format("{:.17g} B/s", bytes_per_s); }

std::string byte_rate(double bytes_per_s) {
  const std::string text = fmt::format("{:.9g} GB/s", bytes_per_s / 1e9);
  return parse_bandwidth(text) == bytes_per_s ? text : rate(bytes_per_s);
}

std::string bit_rate(double bytes_per_s) {
  const std::string text = fmt::format("{:.9g} Gbit/s", bytes_per_s * 8 / 1e9);
  return parse_bandwidth(text) == bytes_per_s ? text : rate(bytes_per_s);
}

std::string seconds(double s) {
  const std::string text = fmt::format("{:.9g} us", s * 1e6);
  return parse_seconds(text) == s ? text : fmt::format("{:.17g} s", s);
}

class Writer {
 public:
  explicit Writer(const ImportedCluster& cluster) : cluster_(cluster) {}

  std::string text() {
    line(0, "# Written by refit import cluster.");
    for (const std::string& fact : cluster_.facts) line(0, "# Read: " + fact + ".");
    for (const std::string& note : cluster_.notes) line(0, "# Note: " + note + ".");
    line(0, "cluster:");
    const ClusterSpec& spec = cluster_.spec;
    if (spec.groups.size() == 1) {
      for (const auto& [key, value] : keys_of(spec.groups[0])) write_key(2, key, value, true);
    } else {
      line(2, "groups:");
      for (std::size_t g = 0; g < spec.groups.size(); ++g) {
        bool first = true;
        for (const auto& [key, value] : keys_of(spec.groups[g])) {
          write_key(first ? 4 : 6, (first ? "- " : "") + key, value, g == 0);
          first = false;
        }
      }
    }
    write_fabric(spec.fabrics[0]);
    return std::move(out_);
  }

 private:
  using Keys = std::vector<std::pair<std::string, std::string>>;

  static Keys keys_of(const NodeGroupSpec& group) {
    Keys keys = {{"name", group.name},
                 {"nodes", std::to_string(group.nodes)},
                 {"gpus_per_node", std::to_string(group.gpus_per_node)}};
    bool has_nvlink = group.nvlink_domain_gpus > 1;
    if (group.domain_sizes.empty()) {
      keys.emplace_back("nvlink_domain_gpus", std::to_string(group.nvlink_domain_gpus));
    } else {
      keys.emplace_back("domain_sizes", fmt::format("[{}]", fmt::join(group.domain_sizes, ", ")));
      // The reader asks for a rate beside sizes.
      has_nvlink = group.nvlink_bytes_per_s > 0;
    }
    if (has_nvlink) keys.emplace_back("nvlink_bandwidth", byte_rate(group.nvlink_bytes_per_s));
    if (has_nvlink) keys.emplace_back("nvlink_latency", seconds(group.nvlink_latency_s));
    keys.emplace_back("nics_per_node", std::to_string(group.nics_per_node));
    keys.emplace_back("nic_bandwidth", bit_rate(group.nic_bytes_per_s));
    keys.emplace_back("nic_latency", seconds(group.nic_latency_s));
    if (group.pcie_bytes_per_s)
      keys.emplace_back("pcie_bandwidth", byte_rate(*group.pcie_bytes_per_s));
    if (!group.gpu_nics.empty()) add_gpu_nics(group, keys);
    if (group.gpu_memory_bytes > 0)
      keys.emplace_back("gpu_memory", fmt::format("{:.12g} GB", group.gpu_memory_bytes / 1e9));
    return keys;
  }

  static void add_gpu_nics(const NodeGroupSpec& group, Keys& keys) {
    std::map<std::string, double> rates;
    std::string list;
    for (const GpuNics& gpu : group.gpu_nics) {
      list += fmt::format("\n- {{nics: [{}]{}}}", fmt::join(gpu.nics, ", "),
                          gpu.distance.empty() ? "" : ", distance: " + gpu.distance);
      if (gpu.path_bytes_per_s > 0) rates[gpu.distance] = gpu.path_bytes_per_s;
    }
    keys.emplace_back("gpu_nics", list);
    if (rates.empty()) return;
    std::vector<std::string> items;
    for (const auto& [distance, value] : rates)
      items.push_back(fmt::format("{}: {}", distance, byte_rate(value)));
    keys.emplace_back("distances", fmt::format("{{{}}}", fmt::join(items, ", ")));
  }

  void write_key(int indent, const std::string& key, const std::string& value, bool with_source) {
    std::string text = fmt::format("{}:", key);
    const std::string plain = key.starts_with("- ") ? key.substr(2) : key;
    const auto found = std::find_if(cluster_.sources.begin(), cluster_.sources.end(),
                                    [&](const auto& source) { return source.first == plain; });
    const std::string comment =
        with_source && found != cluster_.sources.end() ? "  # " + found->second : "";
    if (!value.starts_with('\n')) return line(indent, text + " " + value + comment);
    line(indent, text + comment);
    for (std::size_t begin = 1; begin < value.size();) {
      const std::size_t end = std::min(value.find('\n', begin), value.size());
      line(indent + 2, value.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void write_fabric(const FabricSpec& fabric) {
    if (fabric == FabricSpec{}) return;
    line(2, "fabric:");
    if (!fabric.leaf_nodes.empty())
      line(4, fmt::format("leaf_nodes: [{}]", fmt::join(fabric.leaf_nodes, ", ")));
    if (fabric.nodes_per_leaf > 0)
      line(4, fmt::format("nodes_per_leaf: {}", fabric.nodes_per_leaf));
    if (fabric.rail_optimized) line(4, "rail_optimized: true");
    if (fabric.oversubscription > 1)
      line(4, fmt::format("oversubscription: {:.17g}", fabric.oversubscription));
    if (!fabric.trunk_bytes_per_s.empty()) {
      std::vector<std::string> rates;
      std::transform(fabric.trunk_bytes_per_s.begin(), fabric.trunk_bytes_per_s.end(),
                     std::back_inserter(rates), bit_rate);
      line(4, fmt::format("trunk_bandwidths: [{}]", fmt::join(rates, ", ")));
    }
    if (fabric.spines > 0) line(4, fmt::format("spines: {}", fabric.spines));
    if (fabric.latency_s > 0) line(4, "latency: " + seconds(fabric.latency_s));
  }

  void line(int indent, const std::string& text) {
    out_.append(static_cast<std::size_t>(indent), ' ');
    out_ += text;
    out_ += '\n';
  }

  const ImportedCluster& cluster_;
  std::string out_;
};

}  // namespace

std::string cluster_text(const ImportedCluster& cluster) { return Writer(cluster).text(); }

}  // namespace refit
