#include "report/topology_graph.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "report/drawing.h"
#include "report/node_kinds.h"

namespace refit {
namespace {

// Together at most some kMostNodes: a kind of node is three.
constexpr std::size_t kMostSites = 8, kMostNodeKinds = 12, kMostLeafKinds = 10, kMostStores = 6;
constexpr std::size_t kMostDomainSizes = 4;

const char* s(int count) { return count == 1 ? "" : "s"; }

// The largest of them, in their own order: which to draw.
template <class Item, class Size>
std::vector<std::size_t> largest(const std::vector<Item>& items, std::size_t most,
                                 const Size& size) {
  std::vector<std::size_t> numbers(items.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  if (numbers.size() <= most) return numbers;
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](std::size_t a, std::size_t b) { return size(items[a]) > size(items[b]); });
  numbers.resize(most);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string alike(int count, const char* one, const char* many) {
  return count == 1 ? fmt::format("1 {}", one)
                    : fmt::format("{} {} alike", format_count(count), many);
}

std::string roles(const NodeKind& kind) {
  std::vector<std::string> words;
  if (kind.sources > 0) words.push_back(format_count(kind.sources) + " source");
  if (kind.destinations > 0) words.push_back(format_count(kind.destinations) + " destination");
  if (words.empty()) return "none in this refit";
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string domain_words(const NodeKind& kind) {
  std::vector<std::string> sizes;
  int domains = 0;
  for (const auto& [gpus, count] : kind.domains) {
    domains += count;
    sizes.push_back(fmt::format("{} of {} GPU{}", format_count(count), gpus, s(gpus)));
  }
  if (sizes.size() > kMostDomainSizes)
    return fmt::format("{} NVLink domains of {} to {} GPUs", format_count(domains),
                       kind.domains.begin()->first, kind.domains.rbegin()->first);
  const int size = kind.domains.begin()->first;
  if (sizes.size() == 1 && size == kind.group->gpus_per_node) return "NVLink inside the node";
  if (sizes.size() == 1 && size > kind.group->gpus_per_node)
    return fmt::format("{}:\\n{} GPUs in {} nodes",
                       alike(domains, "NVLink domain", "NVLink domains"), size,
                       size / kind.group->gpus_per_node);
  return fmt::format("NVLink domains:\\n{}", fmt::join(sizes, ",\\n"));
}

std::string nic_use(const NodeGroupSpec& group) {
  std::string words;
  if (!group.gpu_nics.empty()) {
    words = "as the machine says";
  } else if (group.nics_per_node >= group.gpus_per_node) {
    const int each = group.nics_per_node / group.gpus_per_node;
    words = fmt::format("{} NIC{} per GPU", each, s(each));
  } else {
    words = fmt::format("a NIC for {} GPUs", group.gpus_per_node / group.nics_per_node);
  }
  if (group.pcie_bytes_per_s)
    words += fmt::format("\\nPCIe {}/s per GPU", format_bytes(*group.pcie_bytes_per_s));
  return words;
}

class Topology {
 public:
  Topology(const Cluster& cluster, const Refit& refit)
      : cluster_(cluster),
        kinds_(cluster_kinds(cluster, refit)),
        nodes_(largest(kinds_.nodes, kMostNodeKinds, [](const NodeKind& k) { return k.gpus(); })),
        leaves_(largest(kinds_.leaves, kMostLeafKinds, [](const LeafKind& k) { return k.leaves; })),
        nic_(kinds_.nodes.size(), nullptr),
        drawing_(title(), {{"shape", "box"}, {"style", "filled"}, {"fillcolor", "#ffffff"}},
                 {{"dir", "none"}}) {
    // Between sites there is room for what their WAN carries.
    if (!cluster.spec().wans.empty()) drawing_.set(drawing_.root(), {{"nodesep", "2"}});
  }

  std::string text() {
    const ClusterSpec& spec = cluster_.spec();
    const std::size_t sites = std::min(spec.sites.size(), kMostSites);
    for (std::size_t site = 0; site < sites; ++site) draw_site(site);
    for (const WanSpec& wan : spec.wans) draw_wan(wan);
    return drawing_.text();
  }

 private:
  std::string title() const {
    const ClusterSpec& spec = cluster_.spec();
    std::string text =
        fmt::format("Machines: {} GPU{} in {} node{}\\l", format_count(cluster_.gpus()),
                    s(cluster_.gpus()), format_count(cluster_.nodes()), s(cluster_.nodes()));
    const auto left_out = [&](std::size_t all, std::size_t most, const char* what) {
      if (all > most) text += fmt::format("Not drawn: {} more {}.\\l", all - most, what);
    };
    text += "What is alike is drawn once. Rates are per direction.\\l";
    left_out(spec.sites.size(), kMostSites, "sites");
    left_out(kinds_.nodes.size(), kMostNodeKinds, "kinds of nodes");
    left_out(kinds_.leaves.size(), kMostLeafKinds, "kinds of leaves");
    left_out(spec.stores.size(), kMostStores, "object stores");
    return text;
  }

  void draw_site(std::size_t site) {
    const ClusterSpec& spec = cluster_.spec();
    Drawing::Graph graph = drawing_.root();
    if (spec.sites.size() > 1)
      graph = drawing_.box(graph, fmt::format("site_{}", site),
                           {{"label", "site " + plain(spec.sites[site])}, {"color", "#606060"}});
    fabric_.push_back(drawing_.node(graph, fmt::format("fabric {}", site),
                                    {{"label", fabric_words(site)}, {"shape", "ellipse"}}));
    for (const std::size_t kind : nodes_)
      if (static_cast<std::size_t>(kinds_.nodes[kind].group->site) == site) draw_kind(graph, kind);
    for (const std::size_t leaf : leaves_)
      if (static_cast<std::size_t>(kinds_.leaves[leaf].site) == site) draw_leaf(graph, leaf);
    for (std::size_t store = 0; store < std::min(spec.stores.size(), kMostStores); ++store)
      if (static_cast<std::size_t>(spec.stores[store].site) == site) draw_store(graph, store);
  }

  std::string fabric_words(std::size_t site) const {
    const FabricSpec& fabric = cluster_.spec().fabrics[site];
    std::string words = fabric.has_leaves() ? "spine switches" : "fabric, one switch to all";
    if (fabric.spines > 0)
      words = fmt::format("{}\\neach transfer takes one, by a hash",
                          alike(fabric.spines, "spine switch", "spine switches"));
    if (fabric.oversubscription > 1)
      words += fmt::format("\\noversubscribed {:g}:1", fabric.oversubscription);
    else if (fabric.trunk_bytes_per_s.empty())
      words += "\\nnot oversubscribed";
    if (const auto core = cluster_.core(SiteId(static_cast<std::int64_t>(site))))
      words += fmt::format("\\n{}", format_bandwidth(cluster_.link(*core).bandwidth_bytes_per_s));
    if (fabric.latency_s > 0) words += fmt::format("\\n+ {}", format_seconds(fabric.latency_s));
    return words;
  }

  void draw_kind(Drawing::Graph graph, std::size_t number) {
    const NodeKind& kind = kinds_.nodes[number];
    const NodeGroupSpec& group = *kind.group;
    Drawing::Graph box = drawing_.box(
        graph, fmt::format("nodes_{}", number),
        {{"label", fmt::format("{}: {}\\l{} GPUs: {}\\l", alike(kind.nodes, "node", "nodes"),
                               plain(group.name), format_count(kind.gpus()), roles(kind))},
         {"labelloc", "b"},  // the cable comes in at the top
         {"color", "#606060"},
         {"style", "rounded"}});
    const Side side{kind.sources > 0, kind.destinations > 0, nullptr};
    std::string label =
        fmt::format("{} GPU{} per node", group.gpus_per_node, s(group.gpus_per_node));
    if (group.gpu_memory_bytes > 0)
      label += fmt::format("\\n{} of memory each", format_bytes(group.gpu_memory_bytes));
    Drawing::Node gpus = drawing_.node(box, fmt::format("GPUs {}", number),
                                       {{"label", label}, {"fillcolor", side.colour()}});
    nic_[number] = drawing_.node(
        box, fmt::format("NICs {}", number),
        {{"label", fmt::format("{} NIC{} per node\\n{} each, {}", group.nics_per_node,
                               s(group.nics_per_node), format_bandwidth(group.nic_bytes_per_s),
                               format_seconds(group.nic_latency_s))},
         {"fillcolor", kNeitherColour}});
    drawing_.edge(nic_[number], gpus, {{"label", nic_use(group)}});
    if (kind.domains.rbegin()->first > 1) {
      Drawing::Node nvlink =
          drawing_.node(box, fmt::format("NVLink {}", number),
                        {{"label", fmt::format("{}\\n{}/s per GPU, {}", domain_words(kind),
                                               format_bytes(group.nvlink_bytes_per_s),
                                               format_seconds(group.nvlink_latency_s))},
                         {"shape", "ellipse"}});
      drawing_.edge(gpus, nvlink, {{"penwidth", "3"}});
    }
    if (!cluster_.spec().fabrics[static_cast<std::size_t>(group.site)].has_leaves())
      drawing_.edge(fabric_[static_cast<std::size_t>(group.site)], nic_[number],
                    {{"label", node_rate(group)}});
  }

  static std::string node_rate(const NodeGroupSpec& group) {
    return format_bandwidth(group.nic_bytes_per_s * group.nics_per_node) + " per node";
  }

  void draw_leaf(Drawing::Graph graph, std::size_t number) {
    const LeafKind& kind = kinds_.leaves[number];
    const auto site = static_cast<std::size_t>(kind.site);
    const bool rails = cluster_.spec().fabrics[site].rail_optimized;
    Drawing::Node leaf = drawing_.node(
        graph, fmt::format("leaf {}", number),
        {{"label",
          fmt::format("{}{}\\n{} of NICs each", alike(kind.leaves, "leaf", "leaves"),
                      rails ? ", one per rail" : "", format_bandwidth(kind.nics_bytes_per_s))},
         {"shape", "ellipse"}});
    drawing_.edge(
        fabric_[site], leaf,
        {{"label", format_bandwidth(kind.trunk_bytes_per_s) + " per leaf"}, {"penwidth", "3"}});
    for (const auto& [node_kind, nodes] : kind.nodes) {
      if (nic_[node_kind] == nullptr) continue;  // not drawn
      drawing_.edge(leaf, nic_[node_kind],
                    {{"label", fmt::format("{}{} node{} per leaf", rails ? "a rail of " : "", nodes,
                                           s(nodes))}});
    }
  }

  void draw_store(Drawing::Graph graph, std::size_t number) {
    const StoreSpec& store = cluster_.spec().stores[number];
    Drawing::Node node = drawing_.node(
        graph, fmt::format("store {}", number),
        {{"label", fmt::format("object store {}\\n{} connection{} per client,\\n{} and {} each",
                               plain(store.name), store.connections, s(store.connections),
                               format_bandwidth(store.connection_bytes_per_s),
                               format_seconds(store.request_latency_s))},
         {"shape", "cylinder"},
         {"fillcolor", kBothColour}});
    drawing_.edge(fabric_[static_cast<std::size_t>(store.site)], node,
                  {{"label", format_bandwidth(store.bytes_per_s) + " in all"}});
  }

  void draw_wan(const WanSpec& wan) {
    const auto a = static_cast<std::size_t>(wan.site_a), b = static_cast<std::size_t>(wan.site_b);
    if (a >= fabric_.size() || b >= fabric_.size()) return;  // a site that is not drawn
    std::string label = fmt::format("WAN: {} each way,\\n{}", format_bandwidth(wan.bytes_per_s),
                                    format_seconds(wan.latency_s));
    if (wan.flow_bytes_per_s > 0)
      label += fmt::format("\\n{} between two ranks", format_bandwidth(wan.flow_bytes_per_s));
    drawing_.edge(
        fabric_[a], fabric_[b],
        {{"label", label}, {"style", "dashed"}, {"penwidth", "2"}, {"constraint", "false"}});
  }

  const Cluster& cluster_;
  const ClusterKinds kinds_;
  const std::vector<std::size_t> nodes_, leaves_;  // kinds that are drawn
  std::vector<Drawing::Node> nic_;                 // by kind
  std::vector<Drawing::Node> fabric_;              // by site
  Drawing drawing_;
};

}  // namespace

std::string topology_graph(const Cluster& cluster, const Refit& refit) {
  return Topology(cluster, refit).text();
}

}  // namespace refit
