#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/optimal/assignment.h"
#include "planner/optimal/network.h"
#include "sim/link_paths.h"

namespace refit {

// Which ports and trunks are busy at this moment of the swarm's clock, and how much each receive
// port still has to get.
class SwarmPorts {
 public:
  SwarmPorts(const PlanNetwork& network, const Assignment& plan);

  std::size_t send_port(int rank) const {
    return static_cast<std::size_t>(net_.send_port[static_cast<std::size_t>(rank)]);
  }
  std::size_t receive_port(int rank) const {
    return static_cast<std::size_t>(net_.receive_port[static_cast<std::size_t>(rank)]);
  }
  const PlanNetwork::Port& out(int rank) const { return net_.send_ports[send_port(rank)]; }
  const PlanNetwork::Port& in(int rank) const { return net_.receive_ports[receive_port(rank)]; }

  using Way = PlanNetwork::Way;
  bool can_send(int rank) const { return can_send_[send_port(rank)] != 0; }
  bool can_send_inside(int rank) const {
    return send_busy_[send_port(rank)][Way::inside] < out(rank).slots[Way::inside];
  }
  bool can_receive(std::size_t port) const {
    return has_place(receive_busy_[port], net_.receive_ports[port].slots);
  }
  // Whether both ports have a place for a transfer between these ranks.
  bool fits(int src, int dst) const {
    const Way way = net_.way(Rank(src), Rank(dst));
    return send_busy_[send_port(src)][way] < out(src).slots[way] &&
           receive_busy_[receive_port(dst)][way] < in(dst).slots[way];
  }

  // -1 where no trunk limits anything.
  int pod(int rank) const {
    return net_.has_trunks() ? net_.pod[static_cast<std::size_t>(rank)] : kNobody;
  }
  bool crosses_trunks(int src, int dst) const {
    return net_.way(Rank(src), Rank(dst)) == Way::crossing;
  }
  // The two ports, and the trunks between them. Valid until the next call.
  std::span<const PathLink> links_between(int src, int dst);
  const LinkPaths& links() const { return links_; }  // capacities, no paths

  // A transfer takes its places, or leaves them.
  void take(int src, int dst) { change(src, dst, +1); }
  void leave(int src, int dst) { change(src, dst, -1); }
  // A place at a receive port that is kept while its taker looks elsewhere.
  void keep(int src, int dst) { change_place(receive_busy_[receive_port(dst)], src, dst, +1); }
  void unkeep(int src, int dst) { change_place(receive_busy_[receive_port(dst)], src, dst, -1); }

  // What nobody has been chosen to send yet.
  double work_left_s(std::size_t port) const { return work_left_s_[port]; }
  void add_work(std::size_t port, double seconds);
  void add_trunk_work(int pod, double bytes);
  double trunk_work_left_s(int pod) const {
    return trunk_work_left_s_[static_cast<std::size_t>(pod)];
  }
  // Of the port, or of the trunk before it if that is more.
  double urgency_s(std::size_t port) const {
    const int pod = pod_of_receive_port_[port];
    if (pod < 0) return work_left_s_[port];
    return std::max(work_left_s_[port], trunk_work_left_s_[static_cast<std::size_t>(pod)]);
  }

  // Receive ports that could take something now, in no particular but reproducible order.
  const std::vector<std::size_t>& free() const { return free_; }

 private:
  using Busy = std::array<int, PlanNetwork::ways>;
  bool has_place(const Busy& busy, const Busy& slots) const {
    return busy[Way::inside] < slots[Way::inside] ||
           (net_.has_trunks() && busy[Way::crossing] < slots[Way::crossing]);
  }
  void change_place(Busy& busy, int src, int dst, int by) {
    busy[net_.way(Rank(src), Rank(dst))] += by;
  }
  void change(int src, int dst, int by);
  void note_free(std::size_t port);
  void note_can_send(std::size_t port) {
    can_send_[port] = has_place(send_busy_[port], net_.send_ports[port].slots) ? 1 : 0;
  }

  const PlanNetwork& net_;
  LinkPaths links_;  // send ports, receive ports, trunks out of and into pods
  std::array<PathLink, 4> between_;
  std::vector<Busy> send_busy_, receive_busy_;
  std::vector<std::uint8_t> can_send_;  // by send port; asked of very many ranks in turn
  std::vector<double> work_left_s_, trunk_work_left_s_;
  std::vector<int> pod_of_receive_port_;  // -1: no trunk
  std::vector<std::size_t> free_;
  std::vector<int> place_in_free_;
};

}  // namespace refit
