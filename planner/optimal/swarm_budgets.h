#pragma once

#include <cstdint>
#include <vector>

#include "planner/optimal/swarm_ports.h"

namespace refit {

// What ports and trunks may still carry beside what they must, in the time that the whole is meant
// to take. Who owns what nobody else has spends its port on first copies before copies; trunks
// carry what has to cross them before what could come another way.
class SwarmBudgets {
 public:
  // `keep_trunks`: trunks out of pods carry first copies before copies.
  SwarmBudgets(const Assignment& plan, const PlanNetwork& network, SwarmPorts& ports,
               double bound_s, bool keep_trunks);

  // Seconds that the sender's port has for copies that others could make, too.
  double left_s(int sender) const { return port_s_[ports_.send_port(sender)]; }
  // Whether the trunks between the two have room for it.
  bool room_on_trunks(int sender, const PlanDelivery& d) const;

  void set_now(double seconds) { now_s_ = seconds; }

  // A delivery is chosen, or with `sign` +1 given up again: `copies` of its chunk are others'.
  // `fresh`: the sender does it as the chunk's owner, for the first time.
  void change(int sender, const PlanDelivery& d, bool fresh, int copies, int sign);

 private:
  int meant_pod(const PlanChunk& chunk) const {
    return ports_.pod(plan_.holders_of(chunk).front());
  }
  // The pod that a chunk's first copy must enter though somebody in it has the chunk: all who need
  // it are there, and who is meant to send it is not. -1: none.
  int pod_entered_first(const PlanChunk& chunk) const;
  bool enters_again(const PlanChunk& chunk, const PlanDelivery& d) const {
    return (chunk.pods & pod_bit(ports_.pod(d.entry))) != 0;
  }
  void set_trunks(double bound_s);
  void add_out(int pod, double bytes) {
    if (pod >= 0) out_bytes_[static_cast<std::size_t>(pod)] += bytes;
  }
  void add_in(int pod, double bytes) {
    if (pod >= 0) in_bytes_[static_cast<std::size_t>(pod)] += bytes;
  }
  void change_port(int sender, const PlanChunk& chunk, bool fresh, int sign);
  void change_trunks(int sender, const PlanDelivery& d, const PlanChunk& chunk, int copies,
                     int sign);

  // Whether owners in the pod have all they can do to serve it, so that nobody else should ask
  // them.
  bool is_needed_inside(int pod) const;
  void set_needs();

  const Assignment& plan_;
  const PlanNetwork& net_;
  const double bound_s_;
  double now_s_ = 0;
  std::vector<double> need_bytes_, owners_bytes_per_s_;  // by pod
  // By chunk, a bit per pod that owns it and where nobody else has been chosen to get it yet.
  std::vector<std::uint64_t> still_to_serve_;
  std::vector<bool> holds_;  // by rank
  SwarmPorts& ports_;
  const bool keep_trunks_;
  std::vector<double> port_s_;                // by send port
  std::vector<double> out_bytes_, in_bytes_;  // over trunks, by pod
  std::vector<int> entered_first_;            // by chunk: pod_entered_first()
};

}  // namespace refit
