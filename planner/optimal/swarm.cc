#include "planner/optimal/swarm.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/check.h"
#include "planner/optimal/swarm_offers.h"
#include "planner/optimal/swarm_ports.h"
#include "sim/flows.h"

namespace refit {
namespace {

constexpr double kNothing_s = 1e-12;   // less work than this is rounding
constexpr int kMostSkipped = 256;      // chunks passed over that somebody else has taken meanwhile
constexpr int kReceiversOfFresh = 32;  // looked at per chunk that nobody has yet
constexpr int kOffersLooked = 6;       // newest offers looked at per receiver
constexpr std::size_t kMostBundles = 512;
constexpr int kThievesLooked = 16;        // idle ranks looked at per instant
constexpr double kTrunkTolerance = 1.03;  // of what a trunk may carry in the bound's time

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Swarm {
 public:
  Swarm(const std::vector<Content>& contents, Assignment& plan, const PlanNetwork& network,
        double bound_s, const SwarmOptions& options)
      : contents_(contents),
        plan_(plan),
        net_(network),
        options_(options),
        ports_(network, plan),
        offers_(plan, ports_, network.ranks()),
        flows_(ports_.paths()),
        pending_(plan.deliveries.size()),
        peers_(at(network.ranks()), 0),
        tentative_(network.receive_ports.size()),
        visited_(network.receive_ports.size(), 0),
        ranks_of_send_port_(network.send_ports.size()) {
    for (int r = 0; r < network.ranks(); ++r) ranks_of_send_port_[ports_.send_port(r)].push_back(r);
    // What a port may spend on copies that others could make, too.
    for (const double sent_s : plan.sent_s) budget_s_.push_back(bound_s - sent_s);
    if (network.has_trunks()) set_trunk_budgets(bound_s);
    if (options.steal) set_thieves();
  }

  SwarmResult run() {
    while (true) {
      match();
      flows_.settle(now_s_);
      const auto arrival = flows_.next();
      if (!arrival) {
        if (pending_ == 0) break;
        // Limits on wakes and offers may have left somebody asleep.
        REFIT_CHECK(++woken_all_ <= 2);
        offers_.wake_all();
        continue;
      }
      woken_all_ = 0;
      now_s_ = arrival->time_s;
      const double until_s = now_s_ + same_instant_s(now_s_);
      for (auto end = flows_.next(); end && end->time_s <= until_s; end = flows_.next()) {
        flows_.end(end->flow);
        arrive(end->flow);
      }
    }
    result_.end_s = now_s_;
    return std::move(result_);
  }

 private:
  struct Choice {
    int sender = 0;
    std::uint32_t delivery = 0;
    std::int64_t from = -1;
    bool fresh = false;
    int via = kNobody;  // an owner that hands the chunk to the sender first
  };

  void set_thieves() {
    std::vector<bool> owns(net_.island_ranks.size(), false);
    for (const std::int32_t holder : plan_.holders) owns[at(net_.island[at(holder)])] = true;
    for (std::size_t i = 0; i < owns.size(); ++i) {
      if (!owns[i] || net_.island_ranks[i].size() < 2) continue;
      for (const Rank r : net_.island_ranks[i]) thieves_.push_back(r.value);
    }
  }

  PlanChunk& chunk_of(const PlanDelivery& d) { return plan_.chunks[d.chunk]; }
  const PlanChunk& chunk_of(const PlanDelivery& d) const { return plan_.chunks[d.chunk]; }
  double seconds_in(const PlanDelivery& d) const {
    return chunk_of(d).bytes / ports_.in(d.entry).bytes_per_s;
  }
  double seconds_out(int sender, const PlanChunk& chunk) const {
    return chunk.bytes / ports_.out(sender).bytes_per_s;
  }
  double& budget_s(int sender) { return budget_s_[ports_.send_port(sender)]; }

  // A chunk enters a pod once, and moves on inside, and a trunk carries no copies that others could
  // make, where what must cross it needs all of it. Only a swarm that is stuck breaks this.
  bool may_take(int sender, const PlanDelivery& d) const {
    if (!ports_.fits(sender, d.entry)) return false;
    if (options_.peers > 0 && woken_all_ < 2 && !may_meet(sender, d.entry)) return false;
    if (!ports_.crosses_trunks(sender, d.entry) || woken_all_ >= 2) return true;
    const PlanChunk& chunk = chunk_of(d);
    if (enters_again(chunk, d) && trunk_in_budget_[at(ports_.pod(d.entry))] < chunk.bytes)
      return false;
    const int pod = ports_.pod(sender);
    return pod < 0 || !options_.trunk_budgets ||
           (chunk.copies == 0 && pod_meant_to_send(chunk) == pod) ||
           trunk_budget_[at(pod)] >= chunk.bytes;
  }

  bool may_meet(int sender, int receiver) const {
    return pairs_.contains(pair_of(sender, receiver)) ||
           (peers_[at(sender)] < options_.peers && peers_[at(receiver)] < options_.peers);
  }
  static std::uint64_t pair_of(int a, int b) {
    return (static_cast<std::uint64_t>(std::min(a, b)) << 32) |
           static_cast<std::uint64_t>(std::max(a, b));
  }

  int pod_meant_to_send(const PlanChunk& chunk) const {
    return ports_.pod(plan_.holders_of(chunk).front());
  }

  bool enters_again(const PlanChunk& chunk, const PlanDelivery& d) const {
    return (chunk.pods & pod_bit(ports_.pod(d.entry))) != 0;
  }

  // What trunks may carry in the bound's time beside what they must: out of a pod the first copies
  // that it is meant to send, into a pod each chunk that it lacks once.
  void set_trunk_budgets(double bound_s) {
    for (std::size_t pod = 0; pod < net_.trunks_in.size(); ++pod) {
      const double must_s = ports_.trunk_work_left_s(static_cast<int>(pod));
      trunk_in_budget_.push_back(net_.trunks_in[pod].bytes_per_s * (bound_s - must_s));
    }
    for (const PlanNetwork::Port& trunk : net_.trunks_out)
      trunk_budget_.push_back(trunk.bytes_per_s * bound_s * kTrunkTolerance);
    for (const PlanChunk& chunk : plan_.chunks)
      change_trunk_budget(pod_meant_to_send(chunk), -chunk.bytes);
  }
  void change_trunk_budget(int pod, double bytes) {
    if (pod >= 0) trunk_budget_[at(pod)] += bytes;
  }

  // --- one instant: who sends what to whom ---

  void match() {
    taken_.clear();
    for (const int sender : offers_.take_awake()) {
      while (ports_.can_send(sender)) {
        if (const auto choice = pick(sender)) {
          hold(*choice);
        } else if (!options_.augment || (++visit_, !augment(sender))) {
          break;
        }
      }
    }
    if (options_.steal) steal();
    for (const std::size_t port : taken_) {
      for (const Choice& choice : tentative_[port]) start(choice);
      tentative_[port].clear();
    }
  }

  std::optional<Choice> pick(int sender) {
    bool owes = false;
    if (auto fresh = pick_fresh(sender, owes)) return fresh;
    return pick_offered(sender, owes && budget_s(sender) <= 0);
  }

  // Calls look(chunk number) for chunks that the sender owns and nobody has yet, in turn, until it
  // returns false or `most` are looked at. Returns how many were.
  template <class Look>
  int look_at_fresh(const Sender& s, int most, int most_skipped, const Look& look) const {
    int looked = 0, skipped = 0;
    for (std::size_t k = s.fresh_at; k < s.fresh.size() && looked < most && skipped < most_skipped;
         ++k) {
      if (plan_.chunks[s.fresh[k]].copies > 0) {
        ++skipped;
        continue;
      }
      ++looked;
      if (!look(s.fresh[k])) break;
    }
    return looked;
  }

  // A chunk that nobody has yet, to the free receiver with most work left.
  std::optional<Choice> pick_fresh(int sender, bool& owes) {
    Sender& s = offers_.of(sender);
    while (s.fresh_at < s.fresh.size() && plan_.chunks[s.fresh[s.fresh_at]].copies > 0)
      ++s.fresh_at;
    std::optional<Choice> best;
    double best_score = 0;
    int candidates = 0;
    owes = look_at_fresh(s, options_.look, kMostSkipped, [&](std::uint32_t number) {
             const PlanChunk& chunk = plan_.chunks[number];
             const std::uint32_t count = chunk.end - chunk.first;
             for (std::uint32_t z = 0; z < std::min<std::uint32_t>(count, kReceiversOfFresh); ++z) {
               const std::uint32_t id = chunk.first + (number % count + z) % count;
               const PlanDelivery& d = plan_.deliveries[id];
               const std::size_t port = ports_.receive_port(d.entry);
               if (d.state != DeliveryState::open || !may_take(sender, d)) continue;
               ++candidates;
               const int rotation = (net_.island[at(d.entry)] * 131 + net_.rail[at(sender)]) % 97;
               const double score = ports_.urgency_s(port) * (1 + 1e-7 * rotation);
               if (best && score <= best_score) continue;
               best_score = score;
               best = Choice{sender, id, -1, true};
             }
             return candidates < options_.scan;
           }) > 0;
    return best;
  }

  // Of what it has for the free receivers, to the one that lacks most, rare chunks first.
  std::optional<Choice> pick_offered(int sender, bool only_fresh) {
    Sender& s = offers_.of(sender);
    std::optional<Choice> best;
    double best_score = 0;
    // The shorter list of the two.
    const std::vector<std::size_t>& free = ports_.free();
    const bool by_free = free.size() < s.bundles.size();
    const std::size_t count = by_free ? free.size() : s.bundles.size();
    const std::size_t begin = count == 0 ? 0 : (at(sender) * 7919 + result_.ops.size()) % count;
    int seen = 0;
    for (std::size_t k = 0; k < std::min(count, kMostBundles) && seen < options_.scan; ++k) {
      const std::size_t b = (k + begin) % count;
      OfferBundle* bundle = by_free ? s.bundle_to(free[b]) : &s.bundles[b];
      if (bundle == nullptr || bundle->offers.empty()) continue;
      if (!ports_.can_receive(at(bundle->port))) continue;
      ++seen;
      int looked = 0, skipped = 0;
      for (std::size_t z = bundle->offers.size();
           z-- > 0 && looked < kOffersLooked && skipped < kMostSkipped;) {
        const Offer offer = bundle->offers[z];
        const PlanDelivery& d = plan_.deliveries[offer.delivery];
        if (d.state == DeliveryState::chosen) continue;
        if (d.state != DeliveryState::open) {
          s.forget(*bundle, z);
          continue;
        }
        const int copies = chunk_of(d).copies;
        if (only_fresh && copies > 0) {
          ++skipped;
          continue;
        }
        ++looked;
        if (!may_take(sender, d)) continue;
        const double score = ports_.urgency_s(at(bundle->port)) - copies * seconds_in(d);
        if (best && score <= best_score) continue;
        best_score = score;
        best = Choice{sender, offer.delivery, offer.from, copies == 0 && !options_.frugal};
      }
    }
    return best;
  }

  // --- an idle NIC works for a busy one of its island ---

  // Receivers are free that nobody serves: lets some idle ranks send what neighbours owe.
  void steal() {
    for (int looked = 0; looked < kThievesLooked && !thieves_.empty() && !ports_.free().empty();
         ++looked) {
      next_thief_ = (next_thief_ + 1) % thieves_.size();
      const int thief = thieves_[next_thief_];
      while (ports_.can_send(thief)) {
        const auto choice = pick_of_neighbours(thief);
        if (!choice) break;
        hold(*choice);
      }
    }
  }

  // A chunk of the neighbour that owes most.
  std::optional<Choice> pick_of_neighbours(int thief) {
    int victim = kNobody;
    double most_s = 0;
    for (const Rank r : net_.island_ranks[at(net_.island[at(thief)])]) {
      if (r.value == thief) continue;
      const double owed_s = offers_.of(r.value).first_copies_s;
      if (owed_s <= most_s) continue;
      most_s = owed_s;
      victim = r.value;
    }
    if (victim == kNobody) return std::nullopt;
    std::optional<Choice> best;
    double best_score = 0;
    look_at_fresh(offers_.of(victim), options_.look, kMostSkipped, [&](std::uint32_t number) {
      const PlanChunk& chunk = plan_.chunks[number];
      const auto& demanders = *contents_[at(chunk.content)].demanders;
      const auto& owners = *contents_[at(chunk.content)].owners;
      const bool owns = std::binary_search(owners.begin(), owners.end(), Rank(thief));
      if (most_s < 2 * seconds_out(victim, chunk)) return false;  // it will soon be done
      if (std::binary_search(demanders.begin(), demanders.end(), Rank(thief))) return true;
      for (std::uint32_t id = chunk.first; id < chunk.end; ++id) {
        const PlanDelivery& d = plan_.deliveries[id];
        if (d.state != DeliveryState::open || !may_take(thief, d)) continue;
        const double score = ports_.urgency_s(ports_.receive_port(d.entry));
        if (best && score <= best_score) continue;
        const bool proxied =
            chunk.proxied_by != kNobody && plan_.holders_of(chunk).front() == victim;
        const int via = owns ? kNobody : proxied ? chunk.proxied_by : victim;
        best_score = score;
        best = Choice{thief, id, -1, true, via};
      }
      return true;
    });
    return best;
  }

  // --- choices of this instant are tentative: a later sender may want the receiver more ---

  void hold(const Choice& choice) {
    PlanDelivery& d = plan_.deliveries[choice.delivery];
    const std::size_t port = ports_.receive_port(d.entry);
    d.state = DeliveryState::chosen;
    spend_trunk(choice, d, -1);
    if (options_.peers > 0 && pairs_.insert(pair_of(choice.sender, d.entry)).second) {
      ++peers_[at(choice.sender)];
      ++peers_[at(d.entry)];
    }
    ++chunk_of(d).copies;
    ports_.take(choice.sender, d.entry);
    ports_.add_work(port, -seconds_in(d));
    spend(choice, -1);
    if (tentative_[port].empty()) taken_.push_back(port);
    tentative_[port].push_back(choice);
  }

  // A first copy is in the budget of the port that is meant to send it.
  void spend(const Choice& choice, double sign) {
    const PlanChunk& chunk = chunk_of(plan_.deliveries[choice.delivery]);
    const int meant = plan_.holders_of(chunk).front();
    if (choice.fresh && ports_.send_port(meant) == ports_.send_port(choice.sender)) return;
    budget_s(choice.sender) += sign * seconds_out(choice.sender, chunk);
    if (choice.fresh) budget_s(meant) -= sign * seconds_out(meant, chunk);
  }

  // With the chunk's copies as before the choice, or after it was taken back.
  void spend_trunk(const Choice& choice, const PlanDelivery& d, double sign) {
    if (!net_.has_trunks()) return;
    const PlanChunk& chunk = chunk_of(d);
    const int pod = ports_.pod(choice.sender);
    const bool crosses = ports_.crosses_trunks(choice.sender, d.entry);
    if (chunk.copies == 0) change_trunk_budget(pod_meant_to_send(chunk), -sign * chunk.bytes);
    if (!crosses) return;
    change_trunk_budget(pod, sign * chunk.bytes);
    const int to = ports_.pod(d.entry);
    if (!enters_again(chunk, d)) {
      ports_.add_trunk_work(to, sign * chunk.bytes);
    } else if (to >= 0) {
      trunk_in_budget_[at(to)] += sign * chunk.bytes;
    }
  }

  Choice release(std::size_t port, std::size_t k) {
    const Choice choice = tentative_[port][k];
    tentative_[port].erase(tentative_[port].begin() + static_cast<std::ptrdiff_t>(k));
    if (tentative_[port].empty()) std::erase(taken_, port);
    PlanDelivery& d = plan_.deliveries[choice.delivery];
    d.state = DeliveryState::open;
    --chunk_of(d).copies;
    spend_trunk(choice, d, +1);
    ports_.leave(choice.sender, d.entry);
    ports_.add_work(port, seconds_in(d));
    spend(choice, +1);
    if (chunk_of(d).copies == 0) give_back(d.chunk);
    return choice;
  }

  // The chunk has no copy any more, and its owners may have passed it: they must find it again.
  void give_back(std::uint32_t chunk) {
    for (const int holder : plan_.holders_of(plan_.chunks[chunk]))
      offers_.of(holder).fresh.push_back(chunk);
  }

  // Takes a receiver from another sender of this instant that finds another one.
  bool augment(int sender) {
    Sender& s = offers_.of(sender);
    bool done = false;
    const int looked = look_at_fresh(s, 8, 64, [&](std::uint32_t number) {
      const PlanChunk& chunk = plan_.chunks[number];
      for (std::uint32_t d = chunk.first; d < chunk.end && !done; ++d)
        done = take_over({sender, d, -1, true});
      return !done;
    });
    if (done) return true;
    if (looked > 0 && budget_s(sender) <= 0) return false;
    int tried = 0;
    const std::vector<std::size_t> taken = taken_;
    for (std::size_t k = 0; k < taken.size() && k < 256 && tried < 16; ++k) {
      const OfferBundle* bundle = s.bundle_to(taken[k]);
      if (bundle == nullptr || visited_[taken[k]] == visit_) continue;
      ++tried;
      const auto newest_open =
          std::find_if(bundle->offers.rbegin(), bundle->offers.rend(), [&](const Offer& offer) {
            return plan_.deliveries[offer.delivery].state == DeliveryState::open;
          });
      if (newest_open == bundle->offers.rend()) continue;
      if (take_over({sender, newest_open->delivery, newest_open->from, false})) return true;
    }
    return false;
  }

  bool take_over(const Choice& wish) {
    PlanDelivery& wanted = plan_.deliveries[wish.delivery];
    const std::size_t port = ports_.receive_port(wanted.entry);
    if (wanted.state != DeliveryState::open || visited_[port] == visit_) return false;
    visited_[port] = visit_;
    for (std::size_t k = 0; k < tentative_[port].size(); ++k) {
      if (tentative_[port][k].sender == wish.sender) continue;
      const Choice other = release(port, k);
      // The place is kept while the other one looks for a new receiver.
      wanted.state = DeliveryState::chosen;
      const bool possible = may_take(wish.sender, wanted);
      ports_.keep(wish.sender, wanted.entry);
      const auto instead = possible ? pick(other.sender) : std::nullopt;
      wanted.state = DeliveryState::open;
      ports_.unkeep(wish.sender, wanted.entry);
      if (instead) {
        hold(*instead);
        if (may_take(wish.sender, wanted)) {
          hold(wish);
          return true;
        }
        release(*instead);
      }
      hold(other);
    }
    return false;
  }

  void release(const Choice& choice) {
    const std::size_t port = ports_.receive_port(plan_.deliveries[choice.delivery].entry);
    const std::vector<Choice>& here = tentative_[port];
    const auto held = std::find_if(here.begin(), here.end(),
                                   [&](const Choice& c) { return c.delivery == choice.delivery; });
    release(port, static_cast<std::size_t>(held - here.begin()));
  }

  // --- time goes on ---

  void start(const Choice& choice) {
    PlanDelivery& d = plan_.deliveries[choice.delivery];
    PlanChunk& chunk = chunk_of(d);
    d.state = DeliveryState::under_way;
    chunk.pods |= pod_bit(ports_.pod(d.entry));
    if (choice.fresh && chunk.copies == 1) {
      const int meant = plan_.holders_of(chunk).front();
      offers_.of(meant).first_copies_s -= seconds_out(meant, chunk);
    }
    const auto op = static_cast<std::int64_t>(result_.ops.size());
    const int depth = choice.from < 0 ? 0 : depth_[at(choice.from)] + 1;
    result_.depth = std::max(result_.depth, depth);
    depth_.push_back(depth);
    result_.ops.push_back(
        {Rank(choice.sender), Rank(d.entry), choice.delivery, choice.from, via_of(choice, chunk)});
    flows_.start(static_cast<FlowId>(op), ports_.path(choice.sender, d.entry), chunk.bytes, now_s_);
    --pending_;
  }

  int via_of(const Choice& choice, const PlanChunk& chunk) const {
    if (choice.via != kNobody || choice.from >= 0) return choice.via;
    return choice.sender == plan_.holders_of(chunk).front() ? chunk.proxied_by : kNobody;
  }

  void arrive(std::int64_t id) {
    const WireOp op = result_.ops[at(id)];
    PlanDelivery& d = plan_.deliveries[op.delivery];
    const std::size_t port = ports_.receive_port(d.entry);
    d.state = DeliveryState::done;
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
      if (plan_.deliveries[d].state == DeliveryState::open) offers_.add(op.dst.value, {d, id});
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

  const std::vector<Content>& contents_;
  Assignment& plan_;
  const PlanNetwork& net_;
  const SwarmOptions options_;
  SwarmPorts ports_;
  SwarmOffers offers_;
  Flows flows_;  // by wire op
  SwarmResult result_;
  std::vector<int> depth_;  // by wire op
  double now_s_ = 0;
  std::size_t pending_;
  int woken_all_ = 0;  // times since something ran

  std::vector<double> budget_s_;                // by send port
  std::vector<double> trunk_budget_;            // bytes out, by pod
  std::vector<double> trunk_in_budget_;         // bytes in, by pod
  std::unordered_set<std::uint64_t> pairs_;     // that have met; only where their number is limited
  std::vector<int> peers_;                      // by rank
  std::vector<std::vector<Choice>> tentative_;  // by receive port
  std::vector<std::size_t> taken_;              // receive ports with a tentative choice
  std::vector<std::uint32_t> visited_;          // by receive port: the last visit_ that tried it
  std::uint32_t visit_ = 0;
  std::vector<std::vector<int>> ranks_of_send_port_;
  std::vector<int> thieves_;  // ranks of islands that own something
  std::size_t next_thief_ = 0;
};

}  // namespace

SwarmResult run_swarm(const std::vector<Content>& contents, Assignment& assignment,
                      const PlanNetwork& network, double bound_s, const SwarmOptions& options) {
  return Swarm(contents, assignment, network, bound_s, options).run();
}

}  // namespace refit
