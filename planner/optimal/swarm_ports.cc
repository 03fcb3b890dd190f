#include "planner/optimal/swarm_ports.h"

#include <algorithm>

namespace refit {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

SwarmPorts::SwarmPorts(const PlanNetwork& network, const Assignment& plan)
    : net_(network),
      send_busy_(network.send_ports.size(), {0, 0}),
      receive_busy_(network.receive_ports.size(), {0, 0}),
      can_send_(network.send_ports.size(), 0),
      work_left_s_(network.receive_ports.size(), 0),
      trunk_work_left_s_(network.trunks_in.size(), 0),
      pod_of_receive_port_(network.receive_ports.size(), kNobody),
      place_in_free_(network.receive_ports.size(), kNobody) {
  for (const auto* ports :
       {&network.send_ports, &network.receive_ports, &network.trunks_out, &network.trunks_in}) {
    for (const PlanNetwork::Port& port : *ports)
      links_.capacity_bytes_per_s.push_back(port.bytes_per_s);
  }
  for (const PlanDelivery& d : plan.deliveries)
    work_left_s_[receive_port(d.entry)] += plan.chunks[d.chunk].bytes / in(d.entry).bytes_per_s;
  if (network.has_trunks()) {
    for (int r = 0; r < network.ranks(); ++r) pod_of_receive_port_[receive_port(r)] = pod(r);
    for (const PlanChunk& chunk : plan.chunks) {
      std::uint64_t entered = chunk.pods;
      for (std::uint32_t d = chunk.first; d < chunk.end; ++d) {
        const int to = pod(plan.deliveries[d].entry);
        if (to < 0 || (entered & pod_bit(to)) != 0) continue;
        entered |= pod_bit(to);
        add_trunk_work(to, chunk.bytes);
      }
    }
  }
  for (std::size_t p = 0; p < network.send_ports.size(); ++p) note_can_send(p);
  for (std::size_t p = 0; p < network.receive_ports.size(); ++p) note_free(p);
}

std::span<const PathLink> SwarmPorts::links_between(int src, int dst) {
  std::size_t count = 0, first = 0;
  const auto add = [&](const std::vector<PlanNetwork::Port>& ports, std::int64_t which) {
    if (which >= 0) between_[count++] = {LinkId(static_cast<std::int64_t>(first) + which), 1};
    first += ports.size();
  };
  const bool crosses = crosses_trunks(src, dst);
  add(net_.send_ports, static_cast<std::int64_t>(send_port(src)));
  add(net_.receive_ports, static_cast<std::int64_t>(receive_port(dst)));
  add(net_.trunks_out, crosses ? pod(src) : kNobody);
  add(net_.trunks_in, crosses ? pod(dst) : kNobody);
  return std::span(between_).first(count);
}

void SwarmPorts::change(int src, int dst, int by) {
  change_place(send_busy_[send_port(src)], src, dst, by);
  note_can_send(send_port(src));
  change_place(receive_busy_[receive_port(dst)], src, dst, by);
  note_free(receive_port(dst));
}

void SwarmPorts::add_work(std::size_t port, double seconds) {
  work_left_s_[port] += seconds;
  note_free(port);
}

void SwarmPorts::add_trunk_work(int pod, double bytes) {
  if (pod >= 0) trunk_work_left_s_[at(pod)] += bytes / net_.trunks_in[at(pod)].bytes_per_s;
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
