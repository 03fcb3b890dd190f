#include "planner/optimal/inside.h"

#include <algorithm>
#include <map>
#include <utility>

namespace refit {
namespace {

// A rank's way to others of its island: NVLink, or PCIe where there is none.
double rate_inside(const Cluster& cluster, Rank rank) {
  const auto port = cluster.nvlink_out(rank) ? cluster.nvlink_out(rank) : cluster.pcie_out(rank);
  return cluster.link(port ? *port : cluster.nic_out(rank)).bandwidth_bytes_per_s;
}

// Every rank a node of its own; its NIC is what it has inside its island.
Cluster each_alone(const Cluster& cluster) {
  ClusterSpec spec;
  spec.sites = {"inside"};
  spec.fabrics.resize(1);
  for (int r = 0; r < cluster.gpus(); ++r) {
    const double rate = rate_inside(cluster, Rank(r));
    if (!spec.groups.empty() && spec.groups.back().nic_bytes_per_s == rate) {
      ++spec.groups.back().nodes;
      continue;
    }
    NodeGroupSpec group;
    group.name = "rank";
    group.nodes = group.gpus_per_node = group.nvlink_domain_gpus = group.nics_per_node = 1;
    group.nic_bytes_per_s = rate;
    spec.groups.push_back(group);
  }
  return Cluster(std::move(spec));
}

struct IslandLists {
  std::vector<Rank> owners, demanders;
};

// Islands with an owner and a demander that is none.
std::map<int, IslandLists> shared_islands(const Content& content, const PlanNetwork& network) {
  std::map<int, IslandLists> islands;
  for (const Rank owner : *content.owners)
    islands[network.island[owner.index()]].owners.push_back(owner);
  for (const Rank demander : *content.demanders) {
    const auto found = islands.find(network.island[demander.index()]);
    if (found == islands.end()) continue;
    const std::vector<Rank>& owners = found->second.owners;
    if (!std::binary_search(owners.begin(), owners.end(), demander))
      found->second.demanders.push_back(demander);
  }
  std::erase_if(islands, [](const auto& island) { return island.second.demanders.empty(); });
  return islands;
}

}  // namespace

Inside inside_problem(const std::vector<Content>& contents, const PlanNetwork& network,
                      const Cluster& cluster) {
  Inside inside;
  std::vector<Parcel> parcels;
  for (std::size_t c = 0; c < contents.size(); ++c) {
    for (auto& [island, ranks] : shared_islands(contents[c], network)) {
      Parcel& parcel = parcels.emplace_back();
      parcel.owners = ranks.owners;
      parcel.demanders = ranks.demanders;
      parcel.bytes = contents[c].bytes;
      Content content = contents[c];
      content.owners = &inside.lists.emplace_back(std::move(ranks.owners));
      content.demanders = &inside.lists.emplace_back(std::move(ranks.demanders));
      inside.contents.push_back(std::move(content));
      inside.outer.push_back(static_cast<int>(c));
    }
  }
  if (parcels.empty()) return inside;
  // The problem asks for the first parcel of each content: it has one of its own here.
  std::vector<Content> own = inside.contents;
  for (std::size_t c = 0; c < own.size(); ++c)
    own[c].parcels = {ParcelId(static_cast<std::int64_t>(c))};
  inside.problem = make_problem(parcels, own, each_alone(cluster));
  return inside;
}

}  // namespace refit
