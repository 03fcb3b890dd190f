#include "sim/detail/cut_parts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace refit::detail {
namespace {

enum class Direction { in, out };

double rate(const Cluster& cluster, LinkId link) {
  return cluster.link(link).bandwidth_bytes_per_s;
}

std::vector<std::vector<Rank>> ranks_of_parts(const CutParts& cut) {
  std::vector<std::vector<Rank>> ranks(cut.parts());
  for (std::size_t r = 0; r < cut.of_rank.size(); ++r) {
    ranks[static_cast<std::size_t>(cut.of_rank[r])].emplace_back(static_cast<std::int64_t>(r));
  }
  return ranks;
}

// Sets of ranks that are merged pair by pair.
class Merge {
 public:
  explicit Merge(int ranks) : root_(static_cast<std::size_t>(ranks)) {
    std::iota(root_.begin(), root_.end(), 0);
  }

  void join(Rank a, Rank b) {
    const int x = find(a.value);
    const int y = find(b.value);
    root_[static_cast<std::size_t>(std::max(x, y))] = std::min(x, y);
  }
  // Joins all ranks with the same key; negative keys stay alone.
  void join_equal(const std::function<int(Rank)>& key) {
    std::map<int, Rank> first;
    for (int r = 0; r < static_cast<int>(root_.size()); ++r) {
      const int k = key(Rank{r});
      if (k < 0) continue;
      const auto [found, is_first] = first.try_emplace(k, Rank{r});
      if (!is_first) join(found->second, Rank{r});
    }
  }
  // Numbers the sets by their smallest rank.
  std::vector<int> parts() {
    std::vector<int> part(root_.size(), -1);
    int next = 0;
    for (std::size_t r = 0; r < root_.size(); ++r) {
      const auto root = static_cast<std::size_t>(find(static_cast<int>(r)));
      if (part[root] < 0) part[root] = next++;
      part[r] = part[root];
    }
    return part;
  }

 private:
  int find(int r) {
    while (root_[static_cast<std::size_t>(r)] != r) {
      int& up = root_[static_cast<std::size_t>(r)];
      up = root_[static_cast<std::size_t>(up)];
      r = up;
    }
    return r;
  }

  std::vector<int> root_;
};

void join_islands(const Cluster& cluster, Merge& merge) {
  merge.join_equal([&](Rank r) { return cluster.domain(r).value; });
  // Without a PCIe rate the ranks of a node meet over their NICs.
  merge.join_equal([&](Rank r) { return cluster.pcie_out(r) ? cluster.node(r).value : -1; });
}

// By rank: whether PCIe leads to a rank of its node in another domain.
std::vector<bool> reach_by_pcie(const Cluster& cluster) {
  std::map<NodeId, DomainId> domain_of_node;
  std::vector<bool> several(static_cast<std::size_t>(cluster.nodes()), false);
  for (int r = 0; r < cluster.gpus(); ++r) {
    const Rank rank{r};
    const auto [found, first] =
        domain_of_node.try_emplace(cluster.node(rank), cluster.domain(rank));
    if (found->second != cluster.domain(rank)) several[cluster.node(rank).index()] = true;
  }
  std::vector<bool> reach(static_cast<std::size_t>(cluster.gpus()), false);
  for (int r = 0; r < cluster.gpus(); ++r) {
    reach[static_cast<std::size_t>(r)] =
        cluster.pcie_out(Rank{r}).has_value() && several[cluster.node(Rank{r}).index()];
  }
  return reach;
}

// The rate of everything but NVLink over the border of `ranks`. Each NIC counts once, and gives no
// more than the PCIe ports behind it; where PCIe itself leads out of the set, its ports are the
// limit.
double port_rate(const Cluster& cluster, const std::vector<Rank>& ranks,
                 const std::vector<bool>& pcie_leads_out, Direction direction) {
  const bool in = direction == Direction::in;
  double pcie_out_of_set = 0;
  struct Nic {
    double pcie = 0;
    bool limited = true;  // by the PCIe ports of all its ranks
  };
  std::map<LinkId, Nic> nics;
  for (const Rank rank : ranks) {
    const auto pcie = in ? cluster.pcie_in(rank) : cluster.pcie_out(rank);
    if (pcie && pcie_leads_out[rank.index()]) {
      pcie_out_of_set += rate(cluster, *pcie);  // NIC traffic crosses this port as well
      continue;
    }
    Nic& nic = nics[in ? cluster.nic_in(rank) : cluster.nic_out(rank)];
    if (pcie) nic.pcie += rate(cluster, *pcie);
    nic.limited = nic.limited && pcie.has_value();
  }
  double sum = pcie_out_of_set;
  for (const auto& [link, nic] : nics) {
    const double line = rate(cluster, link);
    sum += nic.limited ? std::min(line, nic.pcie) : line;
  }
  return sum;
}

void set_port_rates(const Cluster& cluster, const std::vector<bool>& pcie_leads_out,
                    CutParts& cut) {
  for (const std::vector<Rank>& ranks : ranks_of_parts(cut)) {
    cut.in_bytes_per_s.push_back(port_rate(cluster, ranks, pcie_leads_out, Direction::in));
    cut.out_bytes_per_s.push_back(port_rate(cluster, ranks, pcie_leads_out, Direction::out));
  }
}

int parts_in(const std::vector<int>& of_rank) {
  return of_rank.empty() ? 0 : *std::max_element(of_rank.begin(), of_rank.end()) + 1;
}

// The sum over the distinct trunks of the ranks; nothing if a rank has none.
std::optional<double> trunk_rate(const Cluster& cluster, const std::vector<Rank>& ranks,
                                 Direction direction) {
  std::map<LinkId, double> trunks;
  for (const Rank rank : ranks) {
    const auto trunk = direction == Direction::in ? cluster.leaf_down(rank) : cluster.leaf_up(rank);
    if (!trunk) return std::nullopt;
    trunks[*trunk] = rate(cluster, *trunk);
  }
  double sum = 0;
  for (const auto& [link, line] : trunks) sum += line;
  return sum;
}

}  // namespace

CutParts rank_parts(const Cluster& cluster) {
  CutParts cut;
  // A lone NVLink domain has nowhere to go to by NIC and come back from.
  const bool alone = cluster.domains() == 1 && cluster.gpus() > 1;
  cut.ports = alone ? "NVLink" : "NIC + NVLink";
  for (int r = 0; r < cluster.gpus(); ++r) {
    cut.of_rank.push_back(r);
    cut.names.push_back(fmt::format("rank {}", r));
  }
  set_port_rates(cluster, reach_by_pcie(cluster), cut);
  for (int r = 0; r < cluster.gpus(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (alone) cut.in_bytes_per_s[i] = cut.out_bytes_per_s[i] = 0;
    if (const auto port = cluster.nvlink_in(Rank{r}))
      *cut.in_bytes_per_s[i] += rate(cluster, *port);
    if (const auto port = cluster.nvlink_out(Rank{r}))
      *cut.out_bytes_per_s[i] += rate(cluster, *port);
  }
  return cut;
}

CutParts domain_parts(const Cluster& cluster) {
  CutParts cut;
  cut.ports = "NIC";
  for (int r = 0; r < cluster.gpus(); ++r) cut.of_rank.push_back(cluster.domain(Rank{r}).value);
  for (int d = 0; d < cluster.domains(); ++d) cut.names.push_back(fmt::format("domain {}", d));
  set_port_rates(cluster, reach_by_pcie(cluster), cut);
  return cut;
}

CutParts island_parts(const Cluster& cluster) {
  CutParts cut;
  cut.ports = "NIC";
  Merge merge(cluster.gpus());
  join_islands(cluster, merge);
  cut.of_rank = merge.parts();
  cut.names.resize(static_cast<std::size_t>(parts_in(cut.of_rank)));
  for (int r = cluster.gpus() - 1; r >= 0; --r) {
    const auto part = static_cast<std::size_t>(cut.of_rank[static_cast<std::size_t>(r)]);
    cut.names[part] = fmt::format("node {}", cluster.node(Rank{r}).value);
  }
  set_port_rates(cluster, std::vector<bool>(cut.of_rank.size(), false), cut);
  return cut;
}

CutParts leaf_parts(const Cluster& cluster) {
  CutParts cut;
  cut.ports = "trunks";
  bool any = false;
  for (int r = 0; r < cluster.gpus(); ++r) any = any || cluster.leaf_down(Rank{r}).has_value();
  if (!any) return cut;

  Merge merge(cluster.gpus());
  join_islands(cluster, merge);
  merge.join_equal([&](Rank r) { return cluster.leaf(r); });
  cut.of_rank = merge.parts();
  cut.names.resize(static_cast<std::size_t>(parts_in(cut.of_rank)));
  for (int r = cluster.gpus() - 1; r >= 0; --r) {
    const auto part = static_cast<std::size_t>(cut.of_rank[static_cast<std::size_t>(r)]);
    cut.names[part] = fmt::format("leaf {}", cluster.leaf(Rank{r}));
  }
  for (const std::vector<Rank>& ranks : ranks_of_parts(cut)) {
    cut.in_bytes_per_s.push_back(trunk_rate(cluster, ranks, Direction::in));
    cut.out_bytes_per_s.push_back(trunk_rate(cluster, ranks, Direction::out));
  }
  return cut;
}

CutParts site_parts(const Cluster& cluster) {
  CutParts cut;
  cut.ports = "WAN";
  for (int r = 0; r < cluster.gpus(); ++r) cut.of_rank.push_back(cluster.site(Rank{r}).value);
  for (int here = 0; here < cluster.sites(); ++here) {
    cut.names.push_back(
        fmt::format("site '{}'", cluster.spec().sites[static_cast<std::size_t>(here)]));
    double in = 0;
    double out = 0;
    for (int other = 0; other < cluster.sites(); ++other) {
      if (other == here) continue;
      if (const auto link = cluster.wan(SiteId{other}, SiteId{here})) in += rate(cluster, *link);
      if (const auto link = cluster.wan(SiteId{here}, SiteId{other})) out += rate(cluster, *link);
    }
    cut.in_bytes_per_s.push_back(in > 0 ? std::optional(in) : std::nullopt);
    cut.out_bytes_per_s.push_back(out > 0 ? std::optional(out) : std::nullopt);
  }
  return cut;
}

}  // namespace refit::detail
