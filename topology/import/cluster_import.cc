#include "topology/import/cluster_import.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/units.h"
#include "topology/cluster_yaml.h"
#include "topology/import/detail/fabric_of.h"
#include "topology/import/nic_choice.h"

namespace refit {
namespace {

// Where a group is written out without them. Assumptions, as in the catalog.
constexpr double kNvlinkLatencySeconds = 2e-6;
constexpr double kNicLatencySeconds = 5e-6;

constexpr const char* kFromFile = "the file";

std::size_t at(int index) { return static_cast<std::size_t>(index); }

[[noreturn]] void contradict(const std::string& what) {
  throw Error(ErrorCode::bad_input, "import: " + what);
}

class Importer {
 public:
  Importer(const ClusterFiles& files, const ClusterAnswers& answers)
      : files_(files), answers_(answers) {
    if (answers.catalog) catalog_ = catalog_cluster(*answers.catalog);
  }

  ImportedCluster import() {
    result_.facts = files_.facts;
    result_.notes = files_.notes;
    result_.spec.sites = {"main"};
    result_.spec.fabrics = {catalog_ ? catalog_->fabric : FabricSpec{}};
    const std::vector<std::pair<NodeShape, int>> kinds = kinds_of_hosts();
    for (const auto& [shape, hosts] : kinds) {
      is_first_ = result_.spec.groups.empty();
      add_group(shape, hosts, kinds.size());
    }
    if (!answers_.nvlink_domain_gpus) note_all(files_.assumed.domains);
    if (!answers_.nic_bytes_per_s) note_all(files_.assumed.nic_rates);
    if (result_.missing.empty() && files_.fabric) {
      result_.spec.fabrics = {detail::fabric_of(*files_.fabric, result_.spec.groups,
                                                result_.spec.fabrics.front(), result_.notes)};
    }
    return std::move(result_);
  }

 private:
  void missing(std::string option, std::string why) {
    for (const MissingAnswer& other : result_.missing) {
      if (other.option == option) return;
    }
    result_.missing.push_back({std::move(option), std::move(why)});
  }
  void note(std::string text) {
    if (std::find(result_.notes.begin(), result_.notes.end(), text) == result_.notes.end())
      result_.notes.push_back(std::move(text));
  }
  void note_all(const ImportNotes& texts) {
    for (const std::string& text : texts) note(text);
  }
  void source(const char* key, std::string from) {
    if (is_first_) result_.sources.emplace_back(key, std::move(from));
  }
  std::string from_catalog() const { return "catalog " + *answers_.catalog; }

  // Equal hosts side by side are one group.
  std::vector<std::pair<NodeShape, int>> kinds_of_hosts() const {
    if (files_.hosts.empty()) return {{NodeShape{}, 0}};
    std::vector<std::pair<NodeShape, int>> kinds;
    for (const NodeShape& host : files_.hosts) {
      if (kinds.empty() || !(kinds.back().first == host)) kinds.emplace_back(host, 0);
      ++kinds.back().second;
    }
    return kinds;
  }

  void add_group(const NodeShape& shape, int hosts, std::size_t kinds) {
    NodeGroupSpec group;
    group.nvlink_latency_s = catalog_ ? catalog_->group.nvlink_latency_s : kNvlinkLatencySeconds;
    group.nic_latency_s = catalog_ ? catalog_->group.nic_latency_s : kNicLatencySeconds;
    group.name = kinds > 1 ? fmt::format("nodes {}", result_.spec.groups.size()) : "imported";
    set_nodes(hosts, kinds, group);
    set_gpus(shape, group);
    if (group.gpus_per_node == 0) return ask_rest(group);
    const std::vector<int> order = set_domains(shape, group);
    set_nics(shape, order, group);
    set_memory(group);
    result_.spec.groups.push_back(std::move(group));
  }

  // Without GPUs nothing further follows from the file, but all that is missing is asked at once.
  void ask_rest(NodeGroupSpec& group) {
    if (!answers_.nics_per_node) missing("--nics-per-node N", "NICs of a node that carry weights");
    set_nic_rate({}, group);
    if (!answers_.nvlink_domain_gpus && has_domains_of_fabric())
      note_domains(group.nodes);
    else if (!answers_.nvlink_domain_gpus)
      missing("--nvlink-domain N", "GPUs that reach each other by NVLink; 1: none");
    if (!answers_.nvlink_bytes_per_s && answers_.nvlink_domain_gpus != 1)
      missing("--nvlink-bandwidth RATE", "of one GPU and direction, as in 450GB/s");
    result_.spec.groups.push_back(group);
  }

  void set_nodes(int hosts, std::size_t kinds, NodeGroupSpec& group) {
    const int in_fabric = files_.fabric ? files_.fabric->nodes() : 0;
    if (kinds > 1) {
      if (answers_.nodes)
        contradict("--nodes: the file has hosts of several kinds, which count themselves");
      group.nodes = hosts;
      return source("nodes", kFromFile);
    }
    if (answers_.nodes) {
      group.nodes = *answers_.nodes;
      source("nodes", "--nodes");
    } else if (in_fabric > 0) {
      group.nodes = in_fabric;
      source("nodes", "the file about what joins them");
    } else {
      group.nodes = std::max(1, hosts);
      source("nodes", kFromFile);
    }
    if (in_fabric > 0 && group.nodes > in_fabric) {
      contradict(fmt::format("--nodes: {} are asked for, but the file about what joins them has {}",
                             group.nodes, in_fabric));
    }
  }

  void set_gpus(const NodeShape& shape, NodeGroupSpec& group) {
    const auto seen = static_cast<int>(shape.gpus.size());
    if (seen > 0) {
      if (answers_.gpus_per_node && *answers_.gpus_per_node != seen) {
        contradict(fmt::format("--gpus-per-node: the file has {} GPUs, not {}", seen,
                               *answers_.gpus_per_node));
      }
      group.gpus_per_node = seen;
      return source("gpus_per_node", kFromFile);
    }
    if (answers_.gpus_per_node) {
      group.gpus_per_node = *answers_.gpus_per_node;
      source("gpus_per_node", "--gpus-per-node");
    } else if (catalog_) {
      group.gpus_per_node = catalog_->group.gpus_per_node;
      source("gpus_per_node", from_catalog());
    } else {
      missing("--gpus-per-node N", files_.hosts.empty() ? "the files say nothing about a node"
                                                        : "no GPU can be told in the file");
    }
  }

  // By place in the node, the GPU of the file: domains are runs of ranks.
  std::vector<int> set_domains(const NodeShape& shape, NodeGroupSpec& group) {
    std::vector<int> order(at(group.gpus_per_node));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const int gpus = group.gpus_per_node;
    if (answers_.nvlink_domain_gpus) {
      group.nvlink_domain_gpus = *answers_.nvlink_domain_gpus;
      source("nvlink_domain_gpus", "--nvlink-domain");
    } else if (has_domains_of_fabric()) {
      set_domains_of_fabric(group);
    } else if (!shape.nvlink_domain.empty()) {
      set_domains_of_node(shape, order, group);
    } else if (gpus == 1) {
      group.nvlink_domain_gpus = 1;
    } else if (catalog_ && catalog_->group.gpus_per_node == gpus) {
      group.nvlink_domain_gpus = catalog_->group.nvlink_domain_gpus;
      source("nvlink_domain_gpus", from_catalog());
    } else {
      missing("--nvlink-domain N",
              files_.is_pcie_view ? "the matrix shows no NVLink, as topo -mp does whether there is "
                                    "any or not; GPUs that reach each other by it, 1: none"
                                  : "GPUs that reach each other by NVLink; 1: none");
      return order;
    }
    set_nvlink_rate(shape, group);
    return order;
  }

  bool has_domains_of_fabric() const { return files_.fabric && !files_.fabric->domains.empty(); }

  void set_domains_of_fabric(NodeGroupSpec& group) {
    int before = 0;  // nodes of other groups
    for (const NodeGroupSpec& other : result_.spec.groups) before += other.nodes;
    int left = group.nodes;
    for (const FabricShape::Domain& domain : files_.fabric->domains) {
      const int passed = std::min(domain.nodes, before);
      const int used = std::min(domain.nodes - passed, left);
      if (used > 0) group.domain_sizes.push_back(used * group.gpus_per_node);
      before -= passed;
      left -= used;
    }
    note_domains(group.nodes);
    source("domain_sizes", "the scheduler's blocks");
  }

  // Of the domains that the first nodes are in.
  void note_domains(int nodes) {
    int holes = 0, alone = 0;
    for (const FabricShape::Domain& domain : files_.fabric->domains) {
      if (nodes <= 0) break;
      nodes -= domain.nodes;
      holes += domain.holes;
      alone += domain.is_block ? 0 : 1;
    }
    if (holes > 0)
      note(fmt::format(
          "the numbers of nodes have {} hole{}: those are not there, and domains are that smaller",
          holes, holes == 1 ? "" : "s"));
    if (alone > 0)
      note(fmt::format("{} node{} in no block; each is a domain of its own", alone,
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
      group.nvlink_domain_gpus = files_.joined_hosts ? gpus * group.nodes : gpus;
      return source("nvlink_domain_gpus", kFromFile);
    }
    if (static_cast<int>(alone.size()) == gpus) {
      group.nvlink_domain_gpus = 1;
      if (gpus > 1) note("no GPU has NVLink to another");
      return source("nvlink_domain_gpus", kFromFile);
    }
    if (!alone.empty()) {
      note(fmt::format("GPU{} {} no NVLink, although others of the node have: look at the machine",
                       ranges_of(alone), alone.size() == 1 ? "has" : "have"));
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const int x = shape.nvlink_domain[at(a)], y = shape.nvlink_domain[at(b)];
      return std::pair(-size[x], x) < std::pair(-size[y], y);
    });
    if (!std::is_sorted(order.begin(), order.end())) {
      note(fmt::format("domains are runs of ranks, so the ranks of a node are its GPUs {}",
                       fmt::join(order, ", ")));
    }
    std::vector<int> sizes;
    for (std::size_t i = 0; i < order.size(); i += at(sizes.back()))
      sizes.push_back(size[shape.nvlink_domain[at(order[i])]]);
    for (int n = 0; n < group.nodes; ++n)
      group.domain_sizes.insert(group.domain_sizes.end(), sizes.begin(), sizes.end());
    source("domain_sizes", kFromFile);
  }

  void set_nvlink_rate(const NodeShape& shape, NodeGroupSpec& group) {
    const bool has_nvlink = group.domain_sizes.empty()
                                ? group.nvlink_domain_gpus > 1
                                : std::any_of(group.domain_sizes.begin(), group.domain_sizes.end(),
                                              [](int size) { return size > 1; });
    if (!has_nvlink) return;
    if (answers_.nvlink_bytes_per_s) {
      group.nvlink_bytes_per_s = *answers_.nvlink_bytes_per_s;
      return source("nvlink_bandwidth", "--nvlink-bandwidth");
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
      if (unequal) note("GPUs have unequally many NVLinks; all count with the fewest");
      return source("nvlink_bandwidth",
                    fmt::format("the file: {} links a GPU, each {:g} GB/s by the GPU's data sheet",
                                slowest->nvlinks, slowest->link_bytes_per_s / 1e9));
    }
    if (catalog_ && catalog_->group.nvlink_bytes_per_s > 0) {
      group.nvlink_bytes_per_s = catalog_->group.nvlink_bytes_per_s;
      return source("nvlink_bandwidth", from_catalog());
    }
    missing("--nvlink-bandwidth RATE", "of one GPU and direction, as in 450GB/s");
  }

  void set_nics(const NodeShape& shape, const std::vector<int>& order, NodeGroupSpec& group) {
    if (answers_.nics_per_node) {
      group.nics_per_node = *answers_.nics_per_node;
      source("nics_per_node", "--nics-per-node, spread evenly");
      set_nic_rate(shape.nics, group);
      set_pcie(group);
      return;
    }
    NicChoice choice;
    if (shape.gpus.empty())
      choice.unclear = "the files say nothing about NICs of a node";
    else
      choice = choose_nics(shape);
    for (std::string& text : choice.notes) note(std::move(text));
    if (!choice.unclear.empty()) {
      const bool knows = catalog_ && catalog_->group.gpus_per_node == group.gpus_per_node;
      if (!knows) {
        missing("--nics-per-node N", choice.unclear + "; N are spread evenly over the GPUs");
        set_nic_rate(shape.nics, group);
        return;
      }
      group.nics_per_node = catalog_->group.nics_per_node;
      source("nics_per_node", from_catalog() + ", spread evenly: " + choice.unclear);
      set_nic_rate({}, group);
      set_pcie(group);
      return;
    }
    group.nics_per_node = static_cast<int>(choice.carriers.size());
    source("nics_per_node", kFromFile);
    std::vector<SeenNic> carriers;
    for (const int nic : choice.carriers) carriers.push_back(shape.nics[at(nic)]);
    set_nic_rate(carriers, group);
    set_gpu_nics(choice, order, group);
  }

  void set_nic_rate(const std::vector<SeenNic>& nics, NodeGroupSpec& group) {
    if (answers_.nic_bytes_per_s) {
      group.nic_bytes_per_s = *answers_.nic_bytes_per_s;
      return source("nic_bandwidth", "--nic-bandwidth");
    }
    std::map<double, int> rates;
    int unknown = 0;
    for (const SeenNic& nic : nics) {
      if (!nic.unfit.empty()) continue;
      nic.bytes_per_s > 0 ? ++rates[nic.bytes_per_s] : ++unknown;
    }
    if (!rates.empty()) {
      group.nic_bytes_per_s = rates.begin()->first;
      if (rates.size() > 1) note_speeds(rates);
      if (unknown > 0)
        note(fmt::format("of {} NIC{} the file says no speed; {} like the others", unknown,
                         unknown == 1 ? "" : "s", unknown == 1 ? "it counts" : "they count"));
      return source("nic_bandwidth", kFromFile);
    }
    if (files_.fabric && files_.fabric->nic_bytes_per_s > 0) {
      group.nic_bytes_per_s = files_.fabric->nic_bytes_per_s;
      return source("nic_bandwidth", "the fabric's ports");
    }
    if (catalog_) {
      group.nic_bytes_per_s = catalog_->group.nic_bytes_per_s;
      return source("nic_bandwidth", from_catalog());
    }
    missing("--nic-bandwidth RATE", "of one NIC and direction, as in 400Gbit/s");
  }

  void note_speeds(const std::map<double, int>& rates) {
    std::vector<std::string> parts;
    for (const auto& [rate, nics] : rates)
      parts.push_back(fmt::format("{} of {:.4g} Gbit/s", nics, rate * 8 / 1e9));
    note(
        fmt::format("NICs have several speeds ({}); all count with the slowest, since a group of "
                    "nodes has one rate for its NICs",
                    fmt::join(parts, ", ")));
  }

  void set_pcie(NodeGroupSpec& group) {
    if (answers_.pcie_bytes_per_s) {
      group.pcie_bytes_per_s = answers_.pcie_bytes_per_s;
      source("pcie_bandwidth", "--pcie-bandwidth");
    }
  }

  void set_gpu_nics(const NicChoice& choice, const std::vector<int>& order, NodeGroupSpec& group) {
    std::vector<GpuNics> ways;
    for (const int gpu : order) {
      GpuNics way;
      for (const int nic : choice.nics_of_gpu[at(gpu)]) {
        const auto place = std::lower_bound(choice.carriers.begin(), choice.carriers.end(), nic);
        way.nics.push_back(static_cast<int>(place - choice.carriers.begin()));
      }
      way.distance = to_string(choice.path_of_gpu[at(gpu)].distance);
      ways.push_back(std::move(way));
    }
    std::map<std::string, double> seen = rates_of(choice);
    if (choice.far_gpus.empty()) {
      const bool even = is_even(ways, group);
      bool binds = false, all = true;
      for (const GpuNics& way : ways) {
        all &= seen[way.distance] > 0;
        binds |= seen[way.distance] > 0 &&
                 seen[way.distance] < group.nic_bytes_per_s * static_cast<double>(way.nics.size());
      }
      if (answers_.pcie_bytes_per_s) {
        set_pcie(group);
      } else if (binds && all && seen.size() == 1) {
        group.pcie_bytes_per_s = seen.begin()->second;
        source("pcie_bandwidth", "the file, by speed and width of PCIe links");
      } else if (binds || !answers_.distance_bytes_per_s.empty()) {
        rate_distances(seen, ways, group);
        group.gpu_nics = std::move(ways);
        return source("gpu_nics", kFromFile);
      }
      if (even) return;
      group.gpu_nics = std::move(ways);
      return source("gpu_nics", kFromFile);
    }
    std::set<std::string> far;
    for (const int gpu : choice.far_gpus)
      far.insert(std::string(to_string(choice.path_of_gpu[at(gpu)].distance)));
    for (const std::string& distance : far) {
      if (answers_.distance_bytes_per_s.contains(distance)) continue;
      missing(fmt::format("--distance {}=RATE", distance),
              fmt::format("between a GPU and a NIC that are {} apart, as in 20GB/s: some GPUs have "
                          "no nearer NIC",
                          distance));
    }
    if (group.nic_bytes_per_s == 0) return;
    rate_distances(seen, ways, group);
    group.gpu_nics = std::move(ways);
    source("gpu_nics", kFromFile);
  }

  // The slowest path of each distance that PCIe links tell.
  std::map<std::string, double> rates_of(const NicChoice& choice) {
    std::map<std::string, double> rates;
    bool unequal = false;
    for (const SeenPath& path : choice.path_of_gpu) {
      const auto [found, is_new] = rates.emplace(to_string(path.distance), path.bytes_per_s);
      if (is_new || found->second == path.bytes_per_s) continue;
      unequal = true;
      found->second = std::min(found->second, path.bytes_per_s);
    }
    if (unequal) note("paths of one distance have several PCIe rates; all count with the slowest");
    return rates;
  }

  // A distance of which nobody tells a rate, and which passes no CPU, is no limit.
  void rate_distances(std::map<std::string, double>& seen, std::vector<GpuNics>& ways,
                      const NodeGroupSpec& group) {
    std::size_t most = 0;
    for (const GpuNics& way : ways) most = std::max(most, way.nics.size());
    for (GpuNics& way : ways) {
      const auto said = answers_.distance_bytes_per_s.find(way.distance);
      double& rate = seen[way.distance];
      const bool near =
          way.distance == to_string(Distance::pix) || way.distance == to_string(Distance::pxb);
      if (said != answers_.distance_bytes_per_s.end()) {
        rate = said->second;
      } else if (near && answers_.pcie_bytes_per_s) {
        rate = *answers_.pcie_bytes_per_s;
      }
      if (rate == 0) {
        rate = group.nic_bytes_per_s * static_cast<double>(most);
        note(fmt::format("no rate of {} is said; it counts as no limit (as fast as the NICs)",
                         way.distance));
      }
      way.path_bytes_per_s = rate;
    }
  }

  static bool is_even(const std::vector<GpuNics>& ways, const NodeGroupSpec& group) {
    const int gpus = group.gpus_per_node, nics = group.nics_per_node;
    if (gpus % nics != 0 && nics % gpus != 0) return false;
    const int shared = std::max(1, gpus / nics), bundled = std::max(1, nics / gpus);
    for (int g = 0; g < gpus; ++g) {
      std::vector<int> even;
      for (int k = 0; k < bundled; ++k) even.push_back(g / shared * bundled + k);
      if (ways[at(g)].nics != even) return false;
    }
    return true;
  }

  void set_memory(NodeGroupSpec& group) {
    if (answers_.gpu_memory_bytes) {
      group.gpu_memory_bytes = *answers_.gpu_memory_bytes;
      source("gpu_memory", "--gpu-memory");
    } else if (catalog_) {
      group.gpu_memory_bytes = catalog_->group.gpu_memory_bytes;
      source("gpu_memory", from_catalog());
    }
  }

  const ClusterFiles& files_;
  const ClusterAnswers& answers_;
  std::optional<CatalogCluster> catalog_;
  ImportedCluster result_;
  bool is_first_ = true;
};

}  // namespace

ImportedCluster import_cluster(const ClusterFiles& files, const ClusterAnswers& answers) {
  ImportedCluster result = Importer(files, answers).import();
  if (result.missing.empty()) Cluster(result.spec);  // says what does not add up
  return result;
}

}  // namespace refit
