#include "planner/optimal/own_nic.h"

#include <algorithm>
#include <numeric>

namespace refit {
namespace {

// How much of trunks and senders may be used for what could come by NVLink: what is full is rarely
// full to the end.
constexpr double kRoom = 0.9;

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

// What each island has to get from outside, once.
std::vector<double> entering_bytes(const DomainClasses& view, const PlanNetwork& network) {
  std::vector<double> enters(network.island_ranks.size(), 0);
  for (const DomainClasses::Class& c : view.classes) {
    for (const int i : c.needers) enters[at(i)] += c.bytes;
  }
  return enters;
}

// What a rank's NIC takes in for all of its island, on average.
std::vector<double> for_all_bytes(const std::vector<double>& enters, const PlanNetwork& network) {
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
    room.push_back(kRoom * trunk.bytes_per_s * seconds);
  for (const DomainClasses::Class& c : view.classes) {
    for (const int i : c.needers) {
      if (view.pod[at(i)] >= 0) room[at(view.pod[at(i)])] -= c.bytes;
    }
  }
  return room;
}

// Bytes that the NICs outside of each island can send there, beside what all have to get anyway and
// the island's own NICs leave to them.
std::vector<double> room_at_senders(const std::vector<double>& enters, const PlanNetwork& network,
                                    double seconds) {
  std::vector<double> out(enters.size(), 0);
  std::vector<bool> counted(network.send_ports.size(), false);
  for (std::size_t r = 0; r < network.island.size(); ++r) {
    const std::size_t port = at(network.send_port[r]);
    if (counted[port]) continue;
    counted[port] = true;
    out[at(network.island[r])] += network.send_ports[port].bytes_per_s * seconds;
  }
  const double out_of_all = std::accumulate(out.begin(), out.end(), 0.0);
  const double into_all = std::accumulate(enters.begin(), enters.end(), 0.0);
  std::vector<double> room;
  for (std::size_t i = 0; i < enters.size(); ++i) {
    const double left_to_them = std::max(0.0, into_all - enters[i] - out[i]);
    room.push_back(kRoom * (out_of_all - out[i]) - enters[i] - left_to_them);
  }
  return room;
}

// Where the ranks of a group wish for more than there is room, each gets its part of it.
void keep_to(const std::vector<double>& room, const std::vector<int>& group_of,
             const std::vector<double>& for_all, std::vector<double>& own) {
  std::vector<double> wish(room.size(), 0);
  const auto beyond = [&](std::size_t r) { return std::max(0.0, own[r] - for_all[r]); };
  for (std::size_t r = 0; r < own.size(); ++r) {
    if (group_of[r] >= 0) wish[at(group_of[r])] += beyond(r);
  }
  for (std::size_t r = 0; r < own.size(); ++r) {
    const int group = group_of[r];
    if (group < 0 || wish[at(group)] == 0) continue;
    own[r] -= (1 - std::clamp(room[at(group)] / wish[at(group)], 0.0, 1.0)) * beyond(r);
  }
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
  const std::vector<double> enters = entering_bytes(input.view, network);
  const std::vector<double> for_all = for_all_bytes(enters, network);
  if (network.has_trunks())
    keep_to(room_on_trunks(input.view, network, seconds), network.pod, for_all, own);
  keep_to(room_at_senders(enters, network, seconds), network.island, for_all, own);
  for (std::size_t r = 0; r < own.size(); ++r) {
    const double outside = lacks.from_outside[r];
    own[r] = outside > 0 ? std::min(1.0, own[r] / outside) : 0;
  }
  return own;
}

}  // namespace refit
