#include "planner/optimal/swarm.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "base/check.h"
#include "planner/optimal/swarm_instant.h"
#include "sim/flows.h"

namespace refit {
namespace {

constexpr double kNothing_s = 1e-12;  // less work than this is rounding

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Swarm {
 public:
  Swarm(const std::vector<Content>& contents, Assignment& plan, const PlanNetwork& network,
        double bound_s, const SwarmOptions& options, const std::vector<double>& ready_s)
      : plan_(plan),
        options_(options),
        ready_s_(ready_s),
        nvlink_bytes_per_s_(network.nvlink_bytes_per_s),
        handed_bytes_(nvlink_bytes_per_s_.size(), 0),
        ports_(network, plan),
        budgets_(plan, network, ports_, bound_s, options.trunk_budgets),
        offers_(plan, ports_, network.ranks(), ready_s),
        chooser_(contents, plan, network, options, ports_, budgets_, offers_),
        instant_(plan, network, options, ports_, budgets_, offers_, chooser_),
        flows_(ports_.links()),
        pending_(plan.deliveries.size()),
        ranks_of_send_port_(network.send_ports.size()) {
    for (int r = 0; r < network.ranks(); ++r) ranks_of_send_port_[ports_.send_port(r)].push_back(r);
    set_comings();
  }

  SwarmResult run() {
    while (true) {
      const std::vector<SwarmChoice> choices = instant_.match(result_.ops.size());
      hand_out(choices);
      for (const SwarmChoice& choice : choices) start(choice);
      flows_.settle(now_s_);
      if (!flows_.next() && next_coming_ == comings_.size() && handed_later_.empty()) {
        if (pending_ == 0) break;
        // Limits on wakes and offers may have left somebody asleep.
        REFIT_CHECK(++woken_all_ <= 2);
        chooser_.set_stuck(woken_all_ == 2);
        offers_.wake_all();
        continue;
      }
      woken_all_ = 0;
      chooser_.set_stuck(false);
      now_s_ = next_event_s();
      budgets_.set_now(now_s_);
      const double until_s = now_s_ + same_instant_s(now_s_);
      for (auto end = flows_.next(); end && end->time_s <= until_s; end = flows_.next()) {
        flows_.end(end->flow);
        arrive(end->flow);
      }
      for (; !handed_later_.empty() && handed_later_.top().first <= until_s; handed_later_.pop())
        start_flow(handed_later_.top().second);
      for (; next_coming_ < comings_.size() && ready_s_[comings_[next_coming_]] <= until_s;
           ++next_coming_)
        offers_.add_fresh(comings_[next_coming_]);
    }
    result_.end_s = now_s_;
    return std::move(result_);
  }

 private:
  // Chunks that come later, in the order in which they do.
  void set_comings() {
    for (std::uint32_t k = 0; k < ready_s_.size(); ++k) {
      if (ready_s_[k] > 0) comings_.push_back(k);
    }
    std::stable_sort(comings_.begin(), comings_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return ready_s_[a] < ready_s_[b]; });
  }

  double next_event_s() {
    double next_s = std::numeric_limits<double>::infinity();
    if (const auto arrival = flows_.next()) next_s = arrival->time_s;
    if (next_coming_ < comings_.size()) next_s = std::min(next_s, ready_s_[comings_[next_coming_]]);
    if (!handed_later_.empty()) next_s = std::min(next_s, handed_later_.top().first);
    return next_s;
  }

  void start(const SwarmChoice& choice) {
    PlanDelivery& d = plan_.deliveries[choice.delivery];
    PlanChunk& chunk = plan_.chunks[d.chunk];
    plan_.states[choice.delivery] = DeliveryState::under_way;
    chunk.pods |= pod_bit(ports_.pod(d.entry));
    if (choice.fresh && chunk.copies == 1) {
      const int meant = plan_.holders_of(chunk).front();
      offers_.of(meant).first_copies_s -= chunk.bytes / ports_.out(meant).bytes_per_s;
    }
    const auto op = static_cast<std::int64_t>(result_.ops.size());
    const int depth = choice.from < 0 ? 0 : depth_[at(choice.from)] + 1;
    result_.depth = std::max(result_.depth, depth);
    depth_.push_back(depth);
    result_.ops.push_back({Rank(choice.sender), Rank(d.entry), choice.delivery, choice.from,
                           via_of(choice, chunk), now_s_, 0});
    --pending_;
    const double from_s =
        result_.ops.back().via == kNobody ? 0 : handed_s_.at({d.chunk, choice.sender});
    if (from_s <= now_s_) {
      start_flow(op);
    } else {
      handed_later_.emplace(from_s, op);
    }
  }

  void start_flow(std::int64_t id) {
    const WireOp& op = result_.ops[at(id)];
    flows_.start(static_cast<FlowId>(id), ports_.links_between(op.src.value, op.dst.value),
                 plan_.chunks[plan_.deliveries[op.delivery].chunk].bytes, now_s_);
  }

  // Owners hand chunks to neighbours that are to send them, from the start on and as fast as NVLink
  // can; what is handed out at one instant comes at one.
  void hand_out(const std::vector<SwarmChoice>& choices) {
    std::vector<std::pair<double*, int>> when;
    for (const SwarmChoice& choice : choices) {
      const std::uint32_t number = plan_.deliveries[choice.delivery].chunk;
      const int via = via_of(choice, plan_.chunks[number]);
      if (via == kNobody) continue;
      const auto [at_s, is_new] = handed_s_.try_emplace({number, choice.sender}, 0);
      if (!is_new) continue;
      handed_bytes_[at(via)] += plan_.chunks[number].bytes;
      when.emplace_back(&at_s->second, via);
    }
    for (const auto& [at_s, via] : when)
      *at_s = handed_bytes_[at(via)] / nvlink_bytes_per_s_[at(via)];
  }

  int via_of(const SwarmChoice& choice, const PlanChunk& chunk) const {
    if (choice.via != kNobody || choice.from >= 0) return choice.via;
    return choice.sender == plan_.holders_of(chunk).front() ? chunk.proxied_by : kNobody;
  }

  void arrive(std::int64_t id) {
    result_.ops[at(id)].end_s = now_s_;
    const WireOp op = result_.ops[at(id)];
    PlanDelivery& d = plan_.deliveries[op.delivery];
    const std::size_t port = ports_.receive_port(d.entry);
    plan_.states[op.delivery] = DeliveryState::done;
    ports_.leave(op.src.value, d.entry);
    for (const int rank : ranks_of_send_port_[ports_.send_port(op.src.value)]) offers_.wake(rank);
    if (ports_.work_left_s(port) > kNothing_s) offers_.wake_for(port, options_.wakes);
    offer_on(op, id);
  }

  // The rank that a chunk has reached may hand it on.
  void offer_on(const WireOp& op, std::int64_t id) {
    const PlanChunk& chunk = plan_.chunks[plan_.deliveries[op.delivery].chunk];
    const std::uint32_t count = chunk.end - chunk.first;
    const auto offer_open = [&](std::uint32_t d) {
      if (plan_.states[d] == DeliveryState::open)
        offers_.add(op.dst.value, {d, static_cast<std::int32_t>(id)});
    };
    if (options_.offers == 0 || count <= static_cast<std::uint32_t>(options_.offers) + 1) {
      for (std::uint32_t d = chunk.first; d < chunk.end; ++d) offer_open(d);
    } else {
      const std::uint32_t own = op.delivery - chunk.first;
      std::uint32_t step = 1;
      for (int q = 0; q < options_.offers; ++q, step *= 2)
        offer_open(chunk.first + (own + step) % count);
    }
    offers_.wake(op.dst.value);
  }

  Assignment& plan_;
  const SwarmOptions options_;
  const std::vector<double> ready_s_;   // by chunk; may be empty
  std::vector<std::uint32_t> comings_;  // chunks that nobody has at the start
  std::size_t next_coming_ = 0;
  const std::vector<double>& nvlink_bytes_per_s_;  // by rank
  std::vector<double> handed_bytes_;               // by owner, to neighbours that send for it
  std::map<std::pair<std::uint32_t, int>, double> handed_s_;  // by chunk and neighbour: when
  using Later = std::pair<double, std::int64_t>;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> handed_later_;  // time and wire op
  SwarmPorts ports_;
  SwarmBudgets budgets_;
  SwarmOffers offers_;
  SwarmChooser chooser_;
  SwarmInstant instant_;
  Flows flows_;  // by wire op
  SwarmResult result_;
  std::vector<int> depth_;  // by wire op
  double now_s_ = 0;
  std::size_t pending_;
  int woken_all_ = 0;  // times since something ran
  std::vector<std::vector<int>> ranks_of_send_port_;
};

}  // namespace

SwarmResult run_swarm(const std::vector<Content>& contents, Assignment& assignment,
                      const PlanNetwork& network, double bound_s, const SwarmOptions& options,
                      const std::vector<double>& ready_s) {
  return Swarm(contents, assignment, network, bound_s, options, ready_s).run();
}

}  // namespace refit
