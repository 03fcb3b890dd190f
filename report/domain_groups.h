#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/refit.h"
#include "topology/cluster.h"

namespace refit {

// What ranks are in a refit.
struct Side {
  bool source = false;
  bool destination = false;
  const StoreSpec* store = nullptr;  // it is this one

  std::string words() const;
  const char* colour() const;  // report/drawing.h
  friend bool operator==(const Side&, const Side&) = default;
};

class Sides {
 public:
  explicit Sides(const Refit& refit, const Cluster& cluster);

  const Side& of(Rank rank) const { return of_rank_[rank.index()]; }
  bool knows(Rank rank) const { return rank.index() < of_rank_.size(); }
  Side of(std::span<const Rank> ranks) const;

 private:
  std::vector<Side> of_rank_;
};

// NVLink domains that a picture shows as one: neighbours of one size, on one side and in one site.
struct DomainGroup {
  int first = 0, domains = 1;
  int gpus = 0;  // of all of them; a store counts as one
  Side side;

  std::string name() const;   // "domains 4-7"
  std::string words() const;  // "domains 4-7: source, 32 GPUs"
};

// What moves between such groups.
struct GroupTraffic {
  struct Pair {
    std::size_t from = 0, to = 0;
    double bytes = 0;
  };

  int most_domains = 1;  // of a group
  std::vector<DomainGroup> groups;
  std::vector<double> bytes;   // row: from, column: to; the diagonal: between domains of a group
  std::vector<double> nvlink;  // inside the domains, by group

  double at(std::size_t from, std::size_t to) const { return bytes[from * groups.size() + to]; }
  std::vector<Pair> pairs() const;  // of different groups with bytes, the most first
  double largest() const;           // of bytes
};

// `domain_bytes`: bytes from domain to domain (sim/traffic.h). Domains that hold no rank of the
// refit are left out.
GroupTraffic group_traffic(const Refit& refit, const Cluster& cluster,
                           const std::vector<double>& domain_bytes, int most_domains);

// The finest groups, doubled from single domains on, of which `fits` says so; else the coarsest.
template <class Fits>
GroupTraffic finest_groups(const Refit& refit, const Cluster& cluster,
                           const std::vector<double>& domain_bytes, const Fits& fits) {
  for (int most = 1;; most *= 2) {
    GroupTraffic traffic = group_traffic(refit, cluster, domain_bytes, most);
    if (fits(traffic) || most >= cluster.domains()) return traffic;
  }
}

// "Each box is up to 4 neighbouring NVLink domains alike.", or nothing if each is one.
std::string group_words(const GroupTraffic& traffic);

}  // namespace refit
