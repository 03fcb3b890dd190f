#include "planner/optimal/swarm_ports.h"

#include <algorithm>

namespace refit {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

SwarmPorts::SwarmPorts(const PlanNetwork& network, const Assignment& plan)
    : net_(network),
      send_busy_(network.send_ports.size(), 0),
      receive_busy_(network.receive_ports.size(), 0),
      trunk_out_busy_(network.trunks_out.size(), 0),
      trunk_in_busy_(network.trunks_in.size(), 0),
      work_left_s_(network.receive_ports.size(), 0),
      place_in_free_(network.receive_ports.size(), kNobody) {
  for (const PlanDelivery& d : plan.deliveries)
    work_left_s_[receive_port(d.entry)] += plan.chunks[d.chunk].bytes / in(d.entry).bytes_per_s;
  for (std::size_t p = 0; p < network.receive_ports.size(); ++p) note_free(p);
}

bool SwarmPorts::trunks_are_free(int src, int dst) const {
  const int from = pod(src), to = pod(dst);
  if (from >= 0 && trunk_out_busy_[at(from)] >= net_.trunks_out[at(from)].slots) return false;
  return to < 0 || trunk_in_busy_[at(to)] < net_.trunks_in[at(to)].slots;
}

double SwarmPorts::slot_rate(int src, int dst) const {
  double rate = std::min(out(src).slot_rate(), in(dst).slot_rate());
  if (!crosses_trunks(src, dst)) return rate;
  if (pod(src) >= 0) rate = std::min(rate, net_.trunks_out[at(pod(src))].slot_rate());
  if (pod(dst) >= 0) rate = std::min(rate, net_.trunks_in[at(pod(dst))].slot_rate());
  return rate;
}

void SwarmPorts::change(int src, int dst, int by) {
  send_busy_[send_port(src)] += by;
  receive_busy_[receive_port(dst)] += by;
  note_free(receive_port(dst));
  if (!crosses_trunks(src, dst)) return;
  if (pod(src) >= 0) trunk_out_busy_[at(pod(src))] += by;
  if (pod(dst) >= 0) trunk_in_busy_[at(pod(dst))] += by;
}

void SwarmPorts::add_work(std::size_t port, double seconds) {
  work_left_s_[port] += seconds;
  note_free(port);
}

void SwarmPorts::note_free(std::size_t port) {
  const bool is_free = can_receive(port) && work_left_s_[port] > 1e-15;
  int& place = place_in_free_[port];
  if (is_free && place == kNobody) {
    place = static_cast<int>(free_.size());
    free_.push_back(port);
  } else if (!is_free && place != kNobody) {
    free_[at(place)] = free_.back();
    place_in_free_[free_.back()] = place;
    free_.pop_back();
    place = kNobody;
  }
}

}  // namespace refit
