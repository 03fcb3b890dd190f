#include "planner/optimal/swarm_budgets.h"

#include <algorithm>

namespace refit {
namespace {

constexpr double kTrunkTolerance = 1.03;  // of what a trunk may carry in the bound's time
constexpr double kBusy = 1.02;            // of what owners can send in the time that is left
constexpr double kLastPart = 0.05;        // of the bound's time, which a late plan still has

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

SwarmBudgets::SwarmBudgets(const Assignment& plan, const PlanNetwork& network, SwarmPorts& ports,
                           double bound_s, bool keep_trunks)
    : plan_(plan), net_(network), bound_s_(bound_s), ports_(ports), keep_trunks_(keep_trunks) {
  for (const double sent_s : plan.sent_s) port_s_.push_back(bound_s - sent_s);
  if (network.has_trunks()) set_trunks(bound_s);
}

// Out of a pod must the first copies that it is meant to send. Into a pod must each chunk that it
// lacks, once, and first copies that somebody outside is to send though an owner is in the pod.
void SwarmBudgets::set_trunks(double bound_s) {
  for (std::size_t pod = 0; pod < net_.trunks_in.size(); ++pod) {
    const double must_s = ports_.trunk_work_left_s(static_cast<int>(pod));
    in_bytes_.push_back(net_.trunks_in[pod].bytes_per_s * (bound_s - must_s));
  }
  for (const PlanNetwork::Port& trunk : net_.trunks_out)
    out_bytes_.push_back(trunk.bytes_per_s * bound_s * kTrunkTolerance);
  for (const PlanChunk& chunk : plan_.chunks) {
    entered_first_.push_back(pod_entered_first(chunk));
    add_out(meant_pod(chunk), -chunk.bytes);
    add_in(entered_first_.back(), -chunk.bytes);
  }
  set_needs();
}

void SwarmBudgets::set_needs() {
  need_bytes_.assign(net_.trunks_in.size(), 0);
  owners_bytes_per_s_ = need_bytes_;
  holds_.assign(static_cast<std::size_t>(net_.ranks()), false);
  for (const std::int32_t r : plan_.holders) holds_[at(r)] = true;
  std::vector<bool> counted(net_.send_ports.size(), false);
  for (int r = 0; r < net_.ranks(); ++r) {
    const std::size_t port = ports_.send_port(r);
    if (!holds_[at(r)] || counted[port] || ports_.pod(r) < 0) continue;
    counted[port] = true;
    owners_bytes_per_s_[at(ports_.pod(r))] += net_.send_ports[port].bytes_per_s;
  }
  for (const PlanChunk& chunk : plan_.chunks) {
    still_to_serve_.push_back(chunk.pods);
    std::uint64_t seen = 0;
    for (std::uint32_t d = chunk.first; d < chunk.end; ++d) {
      const int pod = ports_.pod(plan_.deliveries[d].entry);
      if ((chunk.pods & ~seen & pod_bit(pod)) == 0) continue;
      seen |= pod_bit(pod);
      need_bytes_[at(pod)] += chunk.bytes;
    }
  }
}

bool SwarmBudgets::is_needed_inside(int pod) const {
  if (pod < 0) return false;
  const double left_s = std::max(bound_s_ - now_s_, kLastPart * bound_s_);
  return need_bytes_[at(pod)] > kBusy * owners_bytes_per_s_[at(pod)] * left_s;
}

int SwarmBudgets::pod_entered_first(const PlanChunk& chunk) const {
  const int to = ports_.pod(plan_.deliveries[chunk.first].entry);
  if (to < 0 || to == meant_pod(chunk) || (chunk.pods & pod_bit(to)) == 0) return kNobody;
  for (std::uint32_t d = chunk.first; d < chunk.end; ++d) {
    if (ports_.pod(plan_.deliveries[d].entry) != to) return kNobody;
  }
  return to;
}

bool SwarmBudgets::room_on_trunks(int sender, const PlanDelivery& d) const {
  if (!ports_.crosses_trunks(sender, d.entry)) return true;
  const PlanChunk& chunk = plan_.chunks[d.chunk];
  const int pod = ports_.pod(sender);
  if (holds_[at(sender)] && is_needed_inside(pod)) return false;
  const bool meant = chunk.copies == 0 && meant_pod(chunk) == pod;
  const bool must_enter = meant && entered_first_[d.chunk] == ports_.pod(d.entry);
  if (!must_enter && enters_again(chunk, d) && in_bytes_[at(ports_.pod(d.entry))] < chunk.bytes)
    return false;
  return pod < 0 || !keep_trunks_ || meant || out_bytes_[at(pod)] >= chunk.bytes;
}

void SwarmBudgets::change(int sender, const PlanDelivery& d, bool fresh, int copies, int sign) {
  const PlanChunk& chunk = plan_.chunks[d.chunk];
  change_port(sender, chunk, fresh, sign);
  if (net_.has_trunks()) change_trunks(sender, d, chunk, copies, sign);
}

// A first copy is in the budget of the port that is meant to send it.
void SwarmBudgets::change_port(int sender, const PlanChunk& chunk, bool fresh, int sign) {
  const int meant = plan_.holders_of(chunk).front();
  if (fresh && ports_.send_port(meant) == ports_.send_port(sender)) return;
  port_s_[ports_.send_port(sender)] += sign * chunk.bytes / ports_.out(sender).bytes_per_s;
  if (fresh) port_s_[ports_.send_port(meant)] -= sign * chunk.bytes / ports_.out(meant).bytes_per_s;
}

void SwarmBudgets::change_trunks(int sender, const PlanDelivery& d, const PlanChunk& chunk,
                                 int copies, int sign) {
  if (copies == 0) {
    add_out(meant_pod(chunk), -sign * chunk.bytes);
    add_in(entered_first_[d.chunk], -sign * chunk.bytes);
  }
  const int into = ports_.pod(d.entry);
  // Who is given up again is soon chosen again: it still counts as served.
  if (sign < 0 && (still_to_serve_[d.chunk] & pod_bit(into)) != 0) {
    still_to_serve_[d.chunk] &= ~pod_bit(into);
    need_bytes_[at(into)] -= chunk.bytes;
  }
  if (!ports_.crosses_trunks(sender, d.entry)) return;
  add_out(ports_.pod(sender), sign * chunk.bytes);
  if (!enters_again(chunk, d)) {
    ports_.add_trunk_work(into, sign * chunk.bytes);
  } else {
    add_in(into, sign * chunk.bytes);
  }
}

}  // namespace refit
