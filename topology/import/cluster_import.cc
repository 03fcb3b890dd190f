#include "topology/import/cluster_import.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/units.h"
#include "topology/cluster_yaml.h"
#include "topology/import/detail/cluster_draft.h"
#include "topology/import/detail/fabric_of.h"
#include "topology/import/detail/group_nics.h"
#include "topology/import/nic_choice.h"

namespace refit {
namespace {

using detail::kFromFile;

// Where a group is written out without them. Assumptions, as in the catalog.
constexpr double kNvlinkLatencySeconds = 2e-6;
constexpr double kNicLatencySeconds = 5e-6;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

[[noreturn]] void contradict(const std::string& what) {
  throw Error(ErrorCode::bad_input, "import: " + what);
}

class Importer {
 public:
  Importer(const ClusterFiles& files, const ClusterAnswers& answers) : draft_(files, answers) {}

  ImportedCluster import() {
    draft_.result.facts = draft_.files.facts;
    draft_.result.notes = draft_.files.notes;
    draft_.result.spec.sites = {"main"};
    draft_.result.spec.fabrics = {draft_.catalog ? draft_.catalog->fabric : FabricSpec{}};
    const std::vector<std::pair<NodeShape, int>> kinds = kinds_of_hosts();
    for (const auto& [shape, hosts] : kinds) {
      draft_.is_first = draft_.result.spec.groups.empty();
      add_group(shape, hosts, kinds.size());
    }
    if (!draft_.answers.nvlink_domain_gpus) draft_.note_all(draft_.files.assumed.domains);
    if (!draft_.answers.nic_bytes_per_s) draft_.note_all(draft_.files.assumed.nic_rates);
    if (draft_.result.missing.empty() && draft_.files.fabric) {
      draft_.result.spec.fabrics = {
          detail::fabric_of(*draft_.files.fabric, draft_.result.spec.groups,
                            draft_.result.spec.fabrics.front(), draft_.result.notes)};
    } else if (draft_.files.fabric) {
      for (const FabricShape::Block& block : draft_.files.fabric->blocks)
        draft_.note_all(block.notes);
    }
    return std::move(draft_.result);
  }

 private:
  // Equal hosts side by side are one group.
  std::vector<std::pair<NodeShape, int>> kinds_of_hosts() const {
    if (draft_.files.hosts.empty()) return {{NodeShape{}, 0}};
    std::vector<std::pair<NodeShape, int>> kinds;
    for (const NodeShape& host : draft_.files.hosts) {
      if (kinds.empty() || !(kinds.back().first == host)) kinds.emplace_back(host, 0);
      ++kinds.back().second;
    }
    return kinds;
  }

  void add_group(const NodeShape& shape, int hosts, std::size_t kinds) {
    NodeGroupSpec group;
    group.nvlink_latency_s =
        draft_.catalog ? draft_.catalog->group.nvlink_latency_s : kNvlinkLatencySeconds;
    group.nic_latency_s = draft_.catalog ? draft_.catalog->group.nic_latency_s : kNicLatencySeconds;
    group.name = kinds > 1 ? fmt::format("nodes {}", draft_.result.spec.groups.size()) : "imported";
    set_nodes(hosts, kinds, group);
    set_gpus(shape, group);
    if (group.gpus_per_node == 0) return ask_rest(group);
    const std::vector<int> order = set_domains(shape, group);
    detail::set_nics(draft_, shape, order, group);
    set_memory(group);
    draft_.result.spec.groups.push_back(std::move(group));
  }

  // Without GPUs nothing further follows from the file, but all that is missing is asked at once.
  void ask_rest(NodeGroupSpec& group) {
    if (!draft_.answers.nics_per_node)
      draft_.missing("--nics-per-node N", "NICs of a node that carry weights");
    detail::set_nic_rate(draft_, {}, group);
    if (!draft_.answers.nvlink_domain_gpus && has_domains_of_fabric())
      note_domains(group.nodes);
    else if (!draft_.answers.nvlink_domain_gpus)
      draft_.missing("--nvlink-domain N", "GPUs that reach each other by NVLink; 1: none");
    if (!draft_.answers.nvlink_bytes_per_s && draft_.answers.nvlink_domain_gpus != 1)
      draft_.missing("--nvlink-bandwidth RATE", "of one GPU and direction, as in 450GB/s");
    draft_.result.spec.groups.push_back(group);
  }

  void set_nodes(int hosts, std::size_t kinds, NodeGroupSpec& group) {
    const int in_fabric = draft_.files.fabric ? draft_.files.fabric->nodes() : 0;
    if (kinds > 1) {
      if (draft_.answers.nodes)
        contradict("--nodes: the file has hosts of several kinds, which count themselves");
      group.nodes = hosts;
      return draft_.source("nodes", kFromFile);
    }
    if (draft_.answers.nodes) {
      group.nodes = *draft_.answers.nodes;
      draft_.source("nodes", "--nodes");
    } else if (in_fabric > 0) {
      group.nodes = in_fabric;
      draft_.source("nodes", "the file about what joins them");
    } else {
      group.nodes = std::max(1, hosts);
      draft_.source("nodes", kFromFile);
    }
    if (in_fabric > 0 && group.nodes > in_fabric) {
      contradict(fmt::format("--nodes: {} are asked for, but the file about what joins them has {}",
                             group.nodes, in_fabric));
    }
  }

  void set_gpus(const NodeShape& shape, NodeGroupSpec& group) {
    const auto seen = static_cast<int>(shape.gpus.size());
    if (seen > 0) {
      if (draft_.answers.gpus_per_node && *draft_.answers.gpus_per_node != seen) {
        contradict(fmt::format("--gpus-per-node: the file has {} GPUs, not {}", seen,
                               *draft_.answers.gpus_per_node));
      }
      group.gpus_per_node = seen;
      return draft_.source("gpus_per_node", kFromFile);
    }
    if (draft_.answers.gpus_per_node) {
      group.gpus_per_node = *draft_.answers.gpus_per_node;
      draft_.source("gpus_per_node", "--gpus-per-node");
    } else if (draft_.catalog) {
      group.gpus_per_node = draft_.catalog->group.gpus_per_node;
      draft_.source("gpus_per_node", draft_.from_catalog());
    } else {
      draft_.missing("--gpus-per-node N", draft_.files.hosts.empty()
                                              ? "the files say nothing about a node"
                                              : "no GPU can be told in the file");
    }
  }

  // By place in the node, the GPU of the file: domains are runs of ranks.
  std::vector<int> set_domains(const NodeShape& shape, NodeGroupSpec& group) {
    std::vector<int> order(at(group.gpus_per_node));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const int gpus = group.gpus_per_node;
    if (draft_.answers.nvlink_domain_gpus) {
      group.nvlink_domain_gpus = *draft_.answers.nvlink_domain_gpus;
      draft_.source("nvlink_domain_gpus", "--nvlink-domain");
    } else if (has_domains_of_fabric()) {
      set_domains_of_fabric(group);
    } else if (!shape.nvlink_domain.empty()) {
      set_domains_of_node(shape, order, group);
    } else if (gpus == 1) {
      group.nvlink_domain_gpus = 1;
    } else if (draft_.catalog && draft_.catalog->group.gpus_per_node == gpus) {
      group.nvlink_domain_gpus = draft_.catalog->group.nvlink_domain_gpus;
      draft_.source("nvlink_domain_gpus", draft_.from_catalog());
    } else {
      draft_.missing("--nvlink-domain N",
                     draft_.files.is_pcie_view
                         ? "the matrix shows no NVLink, as topo -mp does whether there is "
                           "any or not; GPUs that reach each other by it, 1: none"
                         : "GPUs that reach each other by NVLink; 1: none");
      return order;
    }
    set_nvlink_rate(shape, group);
    return order;
  }

  bool has_domains_of_fabric() const {
    return draft_.files.fabric && !draft_.files.fabric->domains.empty();
  }

  void set_domains_of_fabric(NodeGroupSpec& group) {
    int before = 0;  // nodes of other groups
    for (const NodeGroupSpec& other : draft_.result.spec.groups) before += other.nodes;
    int left = group.nodes;
    for (const FabricShape::Domain& domain : draft_.files.fabric->domains) {
      const int passed = std::min(domain.nodes, before);
      const int used = std::min(domain.nodes - passed, left);
      if (used > 0) group.domain_sizes.push_back(used * group.gpus_per_node);
      before -= passed;
      left -= used;
    }
    note_domains(group.nodes);
    draft_.source("domain_sizes", "the scheduler's blocks");
  }

  // Of the domains that the first nodes are in.
  void note_domains(int nodes) {
    int holes = 0, alone = 0;
    for (const FabricShape::Domain& domain : draft_.files.fabric->domains) {
      if (nodes <= 0) break;
      nodes -= domain.nodes;
      holes += domain.holes;
      alone += domain.is_block ? 0 : 1;
    }
    if (holes > 0)
      draft_.note(fmt::format(
          "the numbers of nodes have {} hole{}: those are not there, and domains are that smaller",
          holes, holes == 1 ? "" : "s"));
    if (alone > 0)
      draft_.note(fmt::format("{} node{} in no block; each is a domain of its own", alone,
                              alone == 1 ? " is" : "s are"));
  }

  void set_domains_of_node(const NodeShape& shape, std::vector<int>& order, NodeGroupSpec& group) {
    std::map<int, int> size;
    for (const int domain : shape.nvlink_domain) ++size[domain];
    std::vector<int> alone;
    for (const int gpu : order) {
      if (size[shape.nvlink_domain[at(gpu)]] == 1) alone.push_back(gpu);
    }
    const int gpus = group.gpus_per_node;
    if (size.size() == 1 && gpus > 1) {
      group.nvlink_domain_gpus = draft_.files.joined_hosts ? gpus * group.nodes : gpus;
      return draft_.source("nvlink_domain_gpus", kFromFile);
    }
    if (static_cast<int>(alone.size()) == gpus) {
      group.nvlink_domain_gpus = 1;
      if (gpus > 1) draft_.note("no GPU has NVLink to another");
      return draft_.source("nvlink_domain_gpus", kFromFile);
    }
    if (!alone.empty()) {
      draft_.note(
          fmt::format("GPU{} {} no NVLink, although others of the node have: look at the machine",
                      ranges_of(alone), alone.size() == 1 ? "has" : "have"));
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const int x = shape.nvlink_domain[at(a)], y = shape.nvlink_domain[at(b)];
      return std::pair(-size[x], x) < std::pair(-size[y], y);
    });
    if (!std::is_sorted(order.begin(), order.end())) {
      draft_.note(fmt::format("domains are runs of ranks, so the ranks of a node are its GPUs {}",
                              fmt::join(order, ", ")));
    }
    std::vector<int> sizes;
    for (std::size_t i = 0; i < order.size(); i += at(sizes.back()))
      sizes.push_back(size[shape.nvlink_domain[at(order[i])]]);
    for (int n = 0; n < group.nodes; ++n)
      group.domain_sizes.insert(group.domain_sizes.end(), sizes.begin(), sizes.end());
    draft_.source("domain_sizes", kFromFile);
  }

  void set_nvlink_rate(const NodeShape& shape, NodeGroupSpec& group) {
    const bool has_nvlink = group.domain_sizes.empty()
                                ? group.nvlink_domain_gpus > 1
                                : std::any_of(group.domain_sizes.begin(), group.domain_sizes.end(),
                                              [](int size) { return size > 1; });
    if (!has_nvlink) return;
    if (draft_.answers.nvlink_bytes_per_s) {
      group.nvlink_bytes_per_s = *draft_.answers.nvlink_bytes_per_s;
      return draft_.source("nvlink_bandwidth", "--nvlink-bandwidth");
    }
    const SeenGpu* slowest = nullptr;
    bool unequal = false;
    for (const SeenGpu& gpu : shape.gpus) {
      if (gpu.nvlinks == 0 || gpu.link_bytes_per_s == 0) continue;
      unequal |= slowest && !(gpu == *slowest);
      const auto rate = [](const SeenGpu& g) { return g.nvlinks * g.link_bytes_per_s; };
      if (!slowest || rate(gpu) < rate(*slowest)) slowest = &gpu;
    }
    if (slowest) {
      group.nvlink_bytes_per_s = slowest->nvlinks * slowest->link_bytes_per_s;
      if (unequal) draft_.note("GPUs have unequally many NVLinks; all count with the fewest");
      return draft_.source(
          "nvlink_bandwidth",
          fmt::format("the file: {} links a GPU, each {:g} GB/s by the GPU's data sheet",
                      slowest->nvlinks, slowest->link_bytes_per_s / 1e9));
    }
    if (draft_.catalog && draft_.catalog->group.nvlink_bytes_per_s > 0) {
      group.nvlink_bytes_per_s = draft_.catalog->group.nvlink_bytes_per_s;
      return draft_.source("nvlink_bandwidth", draft_.from_catalog());
    }
    draft_.missing("--nvlink-bandwidth RATE", "of one GPU and direction, as in 450GB/s");
  }

  void set_memory(NodeGroupSpec& group) {
    if (draft_.answers.gpu_memory_bytes) {
      group.gpu_memory_bytes = *draft_.answers.gpu_memory_bytes;
      draft_.source("gpu_memory", "--gpu-memory");
    } else if (draft_.catalog) {
      group.gpu_memory_bytes = draft_.catalog->group.gpu_memory_bytes;
      draft_.source("gpu_memory", draft_.from_catalog());
    }
  }

  detail::ClusterDraft draft_;
};

}  // namespace

ImportedCluster import_cluster(const ClusterFiles& files, const ClusterAnswers& answers) {
  ImportedCluster result = Importer(files, answers).import();
  if (result.missing.empty()) Cluster(result.spec);  // says what does not add up
  return result;
}

}  // namespace refit
