#include "planner/optimal/own_nic.h"

#include <algorithm>

namespace refit {
namespace {

// How much of a trunk may be used for what could come by NVLink: a full one is rarely full to the
// end.
constexpr double kTrunkRoom = 0.9;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::vector<double> lacking_bytes(const std::vector<Content>& contents, int ranks) {
  std::vector<double> lacks(at(ranks), 0);
  for (const Content& content : contents) {
    for (const Rank r : *content.demanders) {
      if (!std::binary_search(content.owners->begin(), content.owners->end(), r))
        lacks[r.index()] += static_cast<double>(content.bytes);
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
  const std::vector<double> lacks = lacking_bytes(input.contents, network.ranks());
  std::vector<double> own(lacks.size(), 0);  // bytes
  bool any = false;
  for (std::size_t r = 0; r < lacks.size(); ++r) {
    own[r] = std::max(0.0, lacks[r] - network.nvlink_bytes_per_s[r] * seconds);
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
    if (own[r] > 0) own[r] /= lacks[r];
  }
  return own;
}

}  // namespace refit
