#include "validation/detail/machines.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "topology/cluster_yaml.h"

namespace refit::detail {
namespace {

constexpr int kSegmentNodes = 16;  // what schedulers give out of a rack of 18

bool is_rack(const Machines& side) { return side.domain_gpus > side.gpus_per_node; }

}  // namespace

Machines machines(const MachineKind& kind, int gpus, std::optional<int> said_nodes,
                  std::optional<int> said_domains, const char* side,
                  std::vector<std::string>& assumptions) {
  Machines out{.catalog = kind.catalog,
               .nodes = (gpus + kind.gpus_per_node - 1) / kind.gpus_per_node,
               .gpus_per_node = kind.gpus_per_node,
               .domain_gpus = kind.domain_gpus,
               .gpus = gpus,
               .overrides = kind.overrides,
               .said_domains = said_domains};
  if (said_nodes && *said_nodes > out.nodes && gpus % *said_nodes == 0) {
    // Fewer GPUs in each node than the catalog's; NICs are per GPU.
    out.nodes = *said_nodes;
    const NodeGroupSpec group = catalog_cluster(kind.catalog).group;
    out.gpus_per_node = gpus / out.nodes;
    out.domain_gpus = group.nvlink_domain_gpus > group.gpus_per_node ? group.nvlink_domain_gpus
                                                                     : out.gpus_per_node;
    const int nics = std::max(1, group.nics_per_node * out.gpus_per_node / group.gpus_per_node);
    std::erase_if(out.overrides,
                  [](const std::string& s) { return s.starts_with("nics_per_node"); });
    out.overrides.push_back(fmt::format("gpus_per_node: {}", out.gpus_per_node));
    out.overrides.push_back(fmt::format("nvlink_domain_gpus: {}", out.domain_gpus));
    out.overrides.push_back(fmt::format("nics_per_node: {}", nics));
    assumptions.push_back(
        fmt::format("Each node of {} has {} of the catalog's {} GPUs, and their NICs.", side,
                    out.gpus_per_node, group.gpus_per_node));
  } else if (said_nodes && *said_nodes != out.nodes) {
    assumptions.push_back(
        fmt::format("{} GPUs of {} do not fit the {} nodes of the row; {} nodes of {} "
                    "are taken.",
                    gpus, side, *said_nodes, out.nodes, kind.catalog));
  }
  if (is_rack(out) && !said_domains) {
    assumptions.push_back(fmt::format(
        "{} has racks of its own, of which jobs get all {} GPUs or segments of {} nodes.", side,
        out.domain_gpus, kSegmentNodes));
  }
  if (out.nodes * out.gpus_per_node != gpus) {
    assumptions.push_back(
        fmt::format("{} GPUs of {} do not fill {} x {}.", gpus, side, out.nodes, kind.catalog));
  }
  return out;
}

namespace {

// The sizes of a side's NVLink domains.
std::vector<int> domain_sizes(const Machines& side) {
  const int gpus = side.nodes * side.gpus_per_node;
  std::vector<int> sizes;
  if (side.said_domains && gpus % *side.said_domains == 0) {
    return std::vector<int>(static_cast<std::size_t>(*side.said_domains),
                            gpus / *side.said_domains);
  }
  // Jobs get whole racks, or segments of nodes of them.
  const int whole = side.domain_gpus;
  const int segment =
      gpus % whole == 0 ? whole : std::min(whole, kSegmentNodes * side.gpus_per_node);
  for (int left = gpus; left > 0; left -= sizes.back()) {
    sizes.push_back(std::min(left, segment));
  }
  return sizes;
}

std::string group_text(const Machines& side, int nodes, const std::vector<int>& domains) {
  std::string text = fmt::format("catalog: {}, nodes: {}", side.catalog, nodes);
  for (const std::string& line : side.overrides) {
    // Domains that are written out take the place of their size.
    if (!domains.empty() && line.starts_with("nvlink_domain_gpus")) continue;
    text += ", " + line;
  }
  if (!domains.empty()) text += fmt::format(", domain_sizes: [{}]", fmt::join(domains, ", "));
  return text;
}

}  // namespace

std::string cluster_yaml(const Machines& both) {
  const std::vector<int> domains = both.said_domains ? domain_sizes(both) : std::vector<int>();
  return fmt::format("cluster: {{{}}}\n", group_text(both, both.nodes, domains));
}

std::string cluster_yaml(const Machines& training, const Machines& generation) {
  const bool said = training.said_domains || generation.said_domains;
  // Racks are not shared between the sides.
  std::vector<int> first, second;
  if (said || is_rack(training) || is_rack(generation)) {
    first = domain_sizes(training);
    second = domain_sizes(generation);
  }
  const bool alike =
      training.catalog == generation.catalog && training.overrides == generation.overrides;
  if (alike) {
    first.insert(first.end(), second.begin(), second.end());
    return fmt::format("cluster: {{{}}}\n",
                       group_text(training, training.nodes + generation.nodes, first));
  }
  return fmt::format(
      "cluster:\n  groups:\n    - {{name: training, {}}}\n    - {{name: generation, {}}}\n",
      group_text(training, training.nodes, first),
      group_text(generation, generation.nodes, second));
}

int first_generation_gpu(const Machines& training) {
  return training.nodes * training.gpus_per_node;
}

}  // namespace refit::detail
