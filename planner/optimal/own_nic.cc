#include "planner/optimal/own_nic.h"

#include <algorithm>

namespace refit {
namespace {

// How much of a trunk may be used for what could come by NVLink: a full one is rarely full to the
// end.
constexpr double kTrunkRoom = 0.9;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Bytes that each rank lacks, and of these what somebody outside its island owns.
struct Lacks {
  std::vector<double> all, from_outside;  // by rank
};

Lacks lacking_bytes(const std::vector<Content>& contents, const PlanNetwork& network) {
  Lacks lacks;
  lacks.all.assign(at(network.ranks()), 0);
  lacks.from_outside = lacks.all;
  for (const Content& content : contents) {
    const std::vector<Rank>& owners = *content.owners;
    const auto bytes = static_cast<double>(content.bytes);
    const int first = network.island[owners.front().index()];
    const bool one_island = std::all_of(owners.begin(), owners.end(), [&](Rank owner) {
      return network.island[owner.index()] == first;
    });
    for (const Rank r : *content.demanders) {
      if (std::binary_search(owners.begin(), owners.end(), r)) continue;
      lacks.all[r.index()] += bytes;
      if (!one_island || network.island[r.index()] != first) lacks.from_outside[r.index()] += bytes;
    }
  }
  return lacks;
}

// What a rank's NIC takes in for all of its island, on average.
std::vector<double> for_all_bytes(const DomainClasses& view, const PlanNetwork& network) {
  std::vector<double> enters(network.island_ranks.size(), 0);
  for (const DomainClasses::Class& c : view.classes) {
    for (const int i : c.needers) enters[at(i)] += c.bytes;
  }
  std::vector<double> bytes;
  for (const int i : network.island)
    bytes.push_back(enters[at(i)] / static_cast<double>(network.island_ranks[at(i)].size()));
  return bytes;
}

// Bytes that each trunk may carry beside what its pod's islands have to get anyway.
std::vector<double> room_on_trunks(const DomainClasses& view, const PlanNetwork& network,
                                   double seconds) {
  std::vector<double> room;
  for (const PlanNetwork::Port& trunk : network.trunks_in)
    room.push_back(kTrunkRoom * trunk.bytes_per_s * seconds);
  for (const DomainClasses::Class& c : view.classes) {
    for (const int i : c.needers) {
      if (view.pod[at(i)] >= 0) room[at(view.pod[at(i)])] -= c.bytes;
    }
  }
  return room;
}

}  // namespace

std::vector<double> own_nic_shares(const AssignmentInput& input, const PlanNetwork& network) {
  const double seconds = input.bound.seconds;
  const Lacks lacks = lacking_bytes(input.contents, network);
  std::vector<double> own(lacks.all.size(), 0);  // bytes
  bool any = false;
  for (std::size_t r = 0; r < own.size(); ++r) {
    own[r] = std::max(0.0, lacks.all[r] - network.nvlink_bytes_per_s[r] * seconds);
    any = any || own[r] > 0;
  }
  if (!any) return own;
  if (network.has_trunks()) {
    // Ranks behind one trunk divide its room in proportion to what they wish.
    const std::vector<double> for_all = for_all_bytes(input.view, network);
    const std::vector<double> room = room_on_trunks(input.view, network, seconds);
    std::vector<double> wish(room.size(), 0);
    for (std::size_t r = 0; r < own.size(); ++r) {
      if (network.pod[r] >= 0) wish[at(network.pod[r])] += std::max(0.0, own[r] - for_all[r]);
    }
    for (std::size_t r = 0; r < own.size(); ++r) {
      const int pod = network.pod[r];
      if (pod < 0 || wish[at(pod)] == 0) continue;
      const double part = std::clamp(room[at(pod)] / wish[at(pod)], 0.0, 1.0);
      own[r] -= (1 - part) * std::max(0.0, own[r] - for_all[r]);
    }
  }
  for (std::size_t r = 0; r < own.size(); ++r) {
    const double outside = lacks.from_outside[r];
    own[r] = outside > 0 ? std::min(1.0, own[r] / outside) : 0;
  }
  return own;
}

}  // namespace refit
