#pragma once

#include <cstddef>
#include <vector>

#include "planner/optimal/assignment.h"
#include "planner/optimal/network.h"

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

  bool can_send(int rank) const { return send_busy_[send_port(rank)] < out(rank).slots; }
  bool can_receive(std::size_t port) const {
    return receive_busy_[port] < net_.receive_ports[port].slots;
  }

  // -1 where no trunk limits anything.
  int pod(int rank) const {
    return net_.has_trunks() ? net_.pod[static_cast<std::size_t>(rank)] : kNobody;
  }
  bool crosses_trunks(int src, int dst) const { return pod(src) != pod(dst); }
  bool trunks_are_free(int src, int dst) const;

  // At which one transfer runs between two ranks, alone in its slots.
  double slot_rate(int src, int dst) const;

  // A transfer takes its places, or leaves them.
  void take(int src, int dst) { change(src, dst, +1); }
  void leave(int src, int dst) { change(src, dst, -1); }
  // A place at a receive port that is kept while its taker looks elsewhere.
  void keep(std::size_t port) { ++receive_busy_[port]; }
  void unkeep(std::size_t port) { --receive_busy_[port]; }

  // What nobody has been chosen to send yet.
  double work_left_s(std::size_t port) const { return work_left_s_[port]; }
  void add_work(std::size_t port, double seconds);

  // Receive ports that could take something now, in no particular but reproducible order.
  const std::vector<std::size_t>& free() const { return free_; }

 private:
  void change(int src, int dst, int by);
  void note_free(std::size_t port);

  const PlanNetwork& net_;
  std::vector<int> send_busy_, receive_busy_, trunk_out_busy_, trunk_in_busy_;
  std::vector<double> work_left_s_;
  std::vector<std::size_t> free_;
  std::vector<int> place_in_free_;
};

}  // namespace refit
