#include "planner/optimal/swarm.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_map>

#include "base/check.h"

namespace refit {
namespace {

constexpr double kInstant = 1e-12;     // events within it, relatively, are one instant
constexpr int kMostSkipped = 256;      // chunks passed over that somebody else has taken meanwhile
constexpr int kReceiversOfFresh = 32;  // looked at per chunk that nobody has yet
constexpr int kOffersLooked = 6;       // newest offers looked at per receiver
constexpr std::size_t kMostBundles = 512;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Swarm {
 public:
  Swarm(Assignment& plan, const PlanNetwork& network, double bound_s, const SwarmOptions& options)
      : plan_(plan), net_(network), options_(options) {
    const auto ranks = at(network.ranks());
    senders_.resize(ranks);
    send_busy_.assign(network.send_ports.size(), 0);
    receive_busy_.assign(network.receive_ports.size(), 0);
    trunk_out_busy_.assign(network.trunks_out.size(), 0);
    trunk_in_busy_.assign(network.trunks_in.size(), 0);
    work_left_s_.assign(network.receive_ports.size(), 0);
    offered_by_.resize(network.receive_ports.size());
    next_woken_.assign(network.receive_ports.size(), 0);
    tentative_.resize(network.receive_ports.size());
    visited_.assign(network.receive_ports.size(), 0);
    free_place_.assign(network.receive_ports.size(), kNobody);
    ranks_of_send_port_.resize(network.send_ports.size());
    for (std::size_t r = 0; r < ranks; ++r)
      ranks_of_send_port_[at(network.send_port[r])].push_back(static_cast<int>(r));
    // What a port may spend on copies that others could make, too.
    for (std::size_t p = 0; p < network.send_ports.size(); ++p)
      budget_s_.push_back(bound_s - plan.sent_s[p]);
    for (const PlanDelivery& d : plan.deliveries) work_left_s_[receive_port(d)] += seconds_in(d);
    for (std::size_t p = 0; p < network.receive_ports.size(); ++p) note_free(p);
    pending_ = plan.deliveries.size();
    seed();
  }

  SwarmResult run() {
    while (true) {
      match();
      if (running_.empty()) {
        if (pending_ == 0) break;
        // Limits on wakes and offers may have left somebody asleep.
        REFIT_CHECK(wake_everybody());
        continue;
      }
      woken_all_ = 0;
      now_s_ = running_.top().end_s;
      const double until_s = now_s_ * (1 + kInstant) + kInstant;
      while (!running_.empty() && running_.top().end_s <= until_s) {
        const Running done = running_.top();
        running_.pop();
        arrive(done);
      }
    }
    result_.end_s = now_s_;
    return std::move(result_);
  }

 private:
  struct Offer {
    std::uint32_t delivery = 0;
    std::int64_t from = -1;  // wire op that brought it here
  };
  // Everything that a sender could send to one receive port.
  struct Bundle {
    int port = 0;
    std::vector<Offer> offers;
  };
  struct Sender {
    std::vector<std::uint32_t> fresh;  // chunks that it owns, in the order of their turn
    std::size_t fresh_at = 0;          // those before have a copy on the way
    std::vector<Bundle> bundles;
    std::unordered_map<int, int> bundle_of_port;  // only looked up, never walked
    std::int64_t offered = 0;
    double first_copies_s = 0;  // that it still owes
    bool queued = false;
  };
  struct Choice {
    int sender = 0;
    std::uint32_t delivery = 0;
    std::int64_t from = -1;
    bool fresh = false;
  };
  struct Running {
    double end_s = 0;
    std::int64_t op = 0;
    friend bool operator<(const Running& a, const Running& b) {  // the earliest is on top
      return a.end_s != b.end_s ? a.end_s > b.end_s : a.op > b.op;
    }
  };

  std::size_t send_port(int rank) const { return at(net_.send_port[at(rank)]); }
  std::size_t receive_port(const PlanDelivery& d) const {
    return at(net_.receive_port[at(d.entry)]);
  }
  const PlanNetwork::Port& out(int rank) const { return net_.send_ports[send_port(rank)]; }
  const PlanNetwork::Port& in(const PlanDelivery& d) const {
    return net_.receive_ports[receive_port(d)];
  }
  PlanChunk& chunk_of(const PlanDelivery& d) { return plan_.chunks[d.chunk]; }
  const PlanChunk& chunk_of(const PlanDelivery& d) const { return plan_.chunks[d.chunk]; }
  double seconds_in(const PlanDelivery& d) const { return chunk_of(d).bytes / in(d).bytes_per_s; }
  double seconds_out(int sender, const PlanChunk& chunk) const {
    return chunk.bytes / out(sender).bytes_per_s;
  }
  bool can_send(int rank) const { return send_busy_[send_port(rank)] < out(rank).slots; }
  bool can_receive(std::size_t port) const {
    return receive_busy_[port] < net_.receive_ports[port].slots;
  }

  // --- trunks: a chunk enters a pod once, and moves on inside ---

  int pod(int rank) const { return net_.has_trunks() ? net_.pod[at(rank)] : kNobody; }
  static std::uint64_t bit(int pod) { return pod < 0 || pod >= 64 ? 0 : std::uint64_t{1} << pod; }

  bool may_cross(int sender, const PlanDelivery& d) const {
    if (!net_.has_trunks()) return true;
    const int from = pod(sender), to = pod(d.entry);
    if (from == to) return true;
    if ((chunk_of(d).pods & bit(to)) != 0 && woken_all_ < 2) return false;
    if (from >= 0 && trunk_out_busy_[at(from)] >= net_.trunks_out[at(from)].slots) return false;
    return to < 0 || trunk_in_busy_[at(to)] < net_.trunks_in[at(to)].slots;
  }

  void use_trunks(int sender, const PlanDelivery& d, int change) {
    if (!net_.has_trunks() || pod(sender) == pod(d.entry)) return;
    if (pod(sender) >= 0) trunk_out_busy_[at(pod(sender))] += change;
    if (pod(d.entry) >= 0) trunk_in_busy_[at(pod(d.entry))] += change;
  }

  // --- offers ---

  // Chunks of one content in turn with those of others, so that no owner is stuck with one island.
  std::vector<std::uint32_t> chunks_in_turn() const {
    std::vector<int> of_content;
    for (const PlanChunk& c : plan_.chunks) {
      if (at(c.content) >= of_content.size()) of_content.resize(at(c.content) + 1, 0);
      ++of_content[at(c.content)];
    }
    std::vector<int> seen(of_content.size(), 0);
    std::vector<std::pair<double, std::uint32_t>> turn;
    for (std::uint32_t i = 0; i < plan_.chunks.size(); ++i) {
      const std::size_t content = at(plan_.chunks[i].content);
      const double spread = 1e-7 * static_cast<double>((i * 2654435761U) % 1000U);
      turn.emplace_back((seen[content]++ + 0.5) / of_content[content] + spread, i);
    }
    std::sort(turn.begin(), turn.end());
    std::vector<std::uint32_t> order;
    for (const auto& [when, i] : turn) order.push_back(i);
    return order;
  }

  void seed() {
    const std::vector<std::uint32_t> order = chunks_in_turn();
    for (std::size_t k = 0; k < 2; ++k) {
      for (const std::uint32_t i : order) {
        const PlanChunk& chunk = plan_.chunks[i];
        const int holder = chunk.holders[k];
        if (holder == kNobody) continue;
        senders_[at(holder)].fresh.push_back(i);
        senders_[at(holder)].first_copies_s += seconds_out(holder, chunk);
        for (std::uint32_t d = chunk.first; d < chunk.end; ++d) offer(holder, d, -1);
      }
    }
    for (PlanChunk& chunk : plan_.chunks) {
      for (const int holder : chunk.holders)
        if (holder != kNobody) chunk.pods |= bit(pod(holder));
    }
    for (std::size_t r = 0; r < senders_.size(); ++r) wake(static_cast<int>(r));
  }

  void offer(int sender, std::uint32_t delivery, std::int64_t from) {
    Sender& s = senders_[at(sender)];
    const auto port = static_cast<int>(receive_port(plan_.deliveries[delivery]));
    const auto [found, is_new] =
        s.bundle_of_port.try_emplace(port, static_cast<int>(s.bundles.size()));
    if (is_new) s.bundles.push_back({port, {}});
    std::vector<Offer>& offers = s.bundles[at(found->second)].offers;
    if (offers.empty()) offered_by_[at(port)].emplace_back(sender, found->second);
    offers.push_back({delivery, from});
    ++s.offered;
  }

  void wake(int sender) {
    Sender& s = senders_[at(sender)];
    if (s.queued || s.offered <= 0 || !can_send(sender)) return;
    s.queued = true;
    awake_.push_back(sender);
  }

  bool wake_everybody() {
    if (++woken_all_ > 2) return false;
    for (std::size_t r = 0; r < senders_.size(); ++r) wake(static_cast<int>(r));
    return true;
  }

  // --- one instant: who sends what to whom ---

  void match() {
    std::sort(awake_.begin(), awake_.end(), [&](int a, int b) {
      const Sender& x = senders_[at(a)];
      const Sender& y = senders_[at(b)];
      if (x.first_copies_s != y.first_copies_s) return x.first_copies_s > y.first_copies_s;
      return x.offered != y.offered ? x.offered < y.offered : a < b;
    });
    taken_.clear();
    std::vector<int> awake;
    awake.swap(awake_);
    for (const int sender : awake) {
      senders_[at(sender)].queued = false;
      while (can_send(sender)) {
        if (const auto choice = pick(sender)) {
          hold(*choice);
        } else if (!options_.augment || (++visit_, !augment(sender))) {
          break;
        }
      }
    }
    for (const std::size_t port : taken_) {
      for (const Choice& choice : tentative_[port]) start(choice);
      tentative_[port].clear();
    }
  }

  std::optional<Choice> pick(int sender) {
    bool owes = false;
    if (auto fresh = pick_fresh(sender, owes)) return fresh;
    if (owes && budget_s_[send_port(sender)] <= 0) return std::nullopt;
    return pick_copy(sender);
  }

  // A chunk that nobody has yet, to the free receiver with most work left.
  std::optional<Choice> pick_fresh(int sender, bool& owes) {
    Sender& s = senders_[at(sender)];
    while (s.fresh_at < s.fresh.size() && plan_.chunks[s.fresh[s.fresh_at]].copies > 0)
      ++s.fresh_at;
    std::optional<Choice> best;
    double best_score = 0;
    int looked = 0, skipped = 0, candidates = 0;
    for (std::size_t k = s.fresh_at;
         k < s.fresh.size() && looked < options_.look && skipped < kMostSkipped; ++k) {
      const PlanChunk& chunk = plan_.chunks[s.fresh[k]];
      if (chunk.copies > 0) {
        ++skipped;
        continue;
      }
      ++looked;
      const std::uint32_t count = chunk.end - chunk.first;
      const std::uint32_t begin = s.fresh[k] % count;
      for (std::uint32_t z = 0; z < std::min<std::uint32_t>(count, kReceiversOfFresh); ++z) {
        const std::uint32_t id = chunk.first + (begin + z) % count;
        const PlanDelivery& d = plan_.deliveries[id];
        const std::size_t port = receive_port(d);
        if (d.state != DeliveryState::open || !can_receive(port) || !may_cross(sender, d)) continue;
        ++candidates;
        const int rotation = (net_.island[at(d.entry)] * 131 + net_.rail[at(sender)]) % 97;
        const double score = work_left_s_[port] * (1 + 1e-7 * rotation);
        if (best && score <= best_score) continue;
        best_score = score;
        best = Choice{sender, id, -1, true};
      }
      if (candidates >= options_.scan) break;
    }
    owes = looked > 0;
    return best;
  }

  // A copy of what it has, to the free receiver that lacks most, rare chunks first.
  std::optional<Choice> pick_copy(int sender) {
    Sender& s = senders_[at(sender)];
    std::optional<Choice> best;
    double best_score = 0;
    const bool by_free = free_.size() < s.bundles.size();
    const std::size_t count = by_free ? free_.size() : s.bundles.size();
    const std::size_t begin = count == 0 ? 0 : (at(sender) * 7919 + result_.ops.size()) % count;
    int seen = 0;
    for (std::size_t k = 0; k < std::min(count, kMostBundles) && seen < options_.scan; ++k) {
      std::size_t b = (k + begin) % count;
      if (by_free) {
        const auto found = s.bundle_of_port.find(static_cast<int>(free_[b]));
        if (found == s.bundle_of_port.end()) continue;
        b = at(found->second);
      }
      Bundle& bundle = s.bundles[b];
      if (!can_receive(at(bundle.port)) || bundle.offers.empty()) continue;
      ++seen;
      int looked = 0;
      for (std::size_t z = bundle.offers.size(); z-- > 0 && looked < kOffersLooked;) {
        const PlanDelivery& d = plan_.deliveries[bundle.offers[z].delivery];
        if (d.state != DeliveryState::open) {
          if (d.state != DeliveryState::chosen) forget(s, bundle, z);
          continue;
        }
        ++looked;
        if (!may_cross(sender, d)) continue;
        const double score = work_left_s_[at(bundle.port)] - chunk_of(d).copies * seconds_in(d);
        if (best && score <= best_score) continue;
        best_score = score;
        best = Choice{sender, bundle.offers[z].delivery, bundle.offers[z].from, false};
      }
    }
    return best;
  }

  static void forget(Sender& s, Bundle& bundle, std::size_t z) {
    bundle.offers[z] = bundle.offers.back();
    bundle.offers.pop_back();
    --s.offered;
  }

  // --- choices of this instant are tentative: a later sender may want the receiver more ---

  void hold(const Choice& choice) {
    PlanDelivery& d = plan_.deliveries[choice.delivery];
    const std::size_t port = receive_port(d);
    PlanChunk& chunk = chunk_of(d);
    d.state = DeliveryState::chosen;
    ++chunk.copies;
    ++send_busy_[send_port(choice.sender)];
    ++receive_busy_[port];
    use_trunks(choice.sender, d, +1);
    work_left_s_[port] -= seconds_in(d);
    note_free(port);
    if (!choice.fresh) budget_s_[send_port(choice.sender)] -= seconds_out(choice.sender, chunk);
    if (tentative_[port].empty()) taken_.push_back(port);
    tentative_[port].push_back(choice);
  }

  Choice release(std::size_t port, std::size_t k) {
    const Choice choice = tentative_[port][k];
    tentative_[port].erase(tentative_[port].begin() + static_cast<std::ptrdiff_t>(k));
    if (tentative_[port].empty()) std::erase(taken_, port);
    PlanDelivery& d = plan_.deliveries[choice.delivery];
    PlanChunk& chunk = chunk_of(d);
    d.state = DeliveryState::open;
    --chunk.copies;
    --send_busy_[send_port(choice.sender)];
    --receive_busy_[port];
    use_trunks(choice.sender, d, -1);
    work_left_s_[port] += seconds_in(d);
    note_free(port);
    if (!choice.fresh) budget_s_[send_port(choice.sender)] += seconds_out(choice.sender, chunk);
    if (chunk.copies == 0) give_back(d.chunk);
    return choice;
  }

  // The chunk has no copy any more, and its owners may have passed it: they must find it again.
  void give_back(std::uint32_t chunk) {
    for (const int holder : plan_.chunks[chunk].holders)
      if (holder != kNobody) senders_[at(holder)].fresh.push_back(chunk);
  }

  // Takes a receiver from another sender of this instant that finds another one.
  bool augment(int sender) {
    Sender& s = senders_[at(sender)];
    int looked = 0, skipped = 0;
    for (std::size_t k = s.fresh_at; k < s.fresh.size() && looked < 8 && skipped < 64; ++k) {
      const PlanChunk& chunk = plan_.chunks[s.fresh[k]];
      if (chunk.copies > 0) {
        ++skipped;
        continue;
      }
      ++looked;
      for (std::uint32_t d = chunk.first; d < chunk.end; ++d)
        if (take_over({sender, d, -1, true})) return true;
    }
    if (looked > 0 && budget_s_[send_port(sender)] <= 0) return false;
    int tried = 0;
    const std::vector<std::size_t> taken = taken_;
    for (std::size_t k = 0; k < taken.size() && k < 256 && tried < 16; ++k) {
      const auto found = s.bundle_of_port.find(static_cast<int>(taken[k]));
      if (found == s.bundle_of_port.end() || visited_[taken[k]] == visit_) continue;
      ++tried;
      const Bundle& bundle = s.bundles[at(found->second)];
      for (std::size_t z = bundle.offers.size(); z-- > 0;) {
        if (plan_.deliveries[bundle.offers[z].delivery].state != DeliveryState::open) continue;
        if (take_over({sender, bundle.offers[z].delivery, bundle.offers[z].from, false}))
          return true;
        break;
      }
    }
    return false;
  }

  bool take_over(const Choice& wish) {
    PlanDelivery& wanted = plan_.deliveries[wish.delivery];
    const std::size_t port = receive_port(wanted);
    if (wanted.state != DeliveryState::open || visited_[port] == visit_) return false;
    visited_[port] = visit_;
    for (std::size_t k = 0; k < tentative_[port].size(); ++k) {
      if (tentative_[port][k].sender == wish.sender) continue;
      const Choice other = release(port, k);
      // The place is kept while the other one looks for a new receiver.
      wanted.state = DeliveryState::chosen;
      ++receive_busy_[port];
      const auto instead = may_cross(wish.sender, wanted) ? pick(other.sender) : std::nullopt;
      wanted.state = DeliveryState::open;
      --receive_busy_[port];
      if (instead) {
        hold(*instead);
        if (can_receive(port) && may_cross(wish.sender, wanted)) {
          hold(wish);
          return true;
        }
        const std::size_t back = receive_port(plan_.deliveries[instead->delivery]);
        for (std::size_t j = 0; j < tentative_[back].size(); ++j) {
          if (tentative_[back][j].delivery == instead->delivery) {
            release(back, j);
            break;
          }
        }
      }
      hold(other);
    }
    return false;
  }

  // --- time goes on ---

  void start(const Choice& choice) {
    PlanDelivery& d = plan_.deliveries[choice.delivery];
    PlanChunk& chunk = chunk_of(d);
    d.state = DeliveryState::under_way;
    chunk.pods |= bit(pod(d.entry));
    if (choice.fresh && chunk.copies == 1) {
      for (const int holder : chunk.holders)
        if (holder != kNobody) senders_[at(holder)].first_copies_s -= seconds_out(holder, chunk);
    }
    double rate = std::min(out(choice.sender).slot_rate(), in(d).slot_rate());
    if (net_.has_trunks() && pod(choice.sender) != pod(d.entry)) {
      if (pod(choice.sender) >= 0)
        rate = std::min(rate, net_.trunks_out[at(pod(choice.sender))].slot_rate());
      if (pod(d.entry) >= 0) rate = std::min(rate, net_.trunks_in[at(pod(d.entry))].slot_rate());
    }
    const auto op = static_cast<std::int64_t>(result_.ops.size());
    const int depth = choice.from < 0 ? 0 : depth_[at(choice.from)] + 1;
    result_.depth = std::max(result_.depth, depth);
    depth_.push_back(depth);
    result_.ops.push_back({Rank(choice.sender), Rank(d.entry), choice.delivery, choice.from});
    running_.push({now_s_ + chunk.bytes / rate, op});
    --pending_;
  }

  void arrive(const Running& done) {
    const WireOp op = result_.ops[at(done.op)];
    PlanDelivery& d = plan_.deliveries[op.delivery];
    const std::size_t port = receive_port(d);
    d.state = DeliveryState::done;
    --send_busy_[send_port(op.src.value)];
    --receive_busy_[port];
    use_trunks(op.src.value, d, -1);
    note_free(port);
    for (const int rank : ranks_of_send_port_[send_port(op.src.value)]) wake(rank);
    if (work_left_s_[port] > kInstant) wake_senders_to(port);
    if (net_.has_trunks() && pod(op.src.value) != pod(d.entry)) wake_pod(pod(op.src.value));
    offer_on(op, done.op);
  }

  void offer_on(const WireOp& op, std::int64_t id) {
    const PlanChunk& chunk = plan_.chunks[plan_.deliveries[op.delivery].chunk];
    const std::uint32_t count = chunk.end - chunk.first;
    const auto offer_open = [&](std::uint32_t d) {
      if (plan_.deliveries[d].state == DeliveryState::open) offer(op.dst.value, d, id);
    };
    if (options_.offers == 0 || count <= static_cast<std::uint32_t>(options_.offers) + 1) {
      for (std::uint32_t d = chunk.first; d < chunk.end; ++d) offer_open(d);
    } else {
      const std::uint32_t own = op.delivery - chunk.first;
      std::uint32_t step = 1;
      for (int q = 0; q < options_.offers; ++q, step *= 2)
        offer_open(chunk.first + (own + step) % count);
    }
    wake(op.dst.value);
  }

  // Some of the idle senders that have something for a receiver that has fallen free.
  void wake_senders_to(std::size_t port) {
    auto& by = offered_by_[port];
    std::size_t q = by.empty() ? 0 : next_woken_[port] % by.size();
    int woken = 0;
    for (std::size_t z = 0, steps = 0; z < by.size() && woken < options_.wakes && steps < 256;
         ++steps) {
      if (q >= by.size()) q = 0;
      const auto [sender, bundle] = by[q];
      Sender& s = senders_[at(sender)];
      if (s.queued || !can_send(sender)) {
        ++z;
        ++q;
        continue;
      }
      std::vector<Offer>& offers = s.bundles[at(bundle)].offers;
      while (!offers.empty() &&
             plan_.deliveries[offers.back().delivery].state >= DeliveryState::under_way) {
        offers.pop_back();
        --s.offered;
      }
      if (offers.empty()) {
        by[q] = by.back();
        by.pop_back();
        continue;
      }
      ++z;
      ++q;
      ++woken;
      wake(sender);
    }
    next_woken_[port] = q;
  }

  void wake_pod(int pod) {
    for (std::size_t r = 0; r < senders_.size(); ++r) {
      if (net_.pod[r] == pod) wake(static_cast<int>(r));
    }
  }

  // The list of receive ports that could take something.
  void note_free(std::size_t port) {
    const bool is_free = can_receive(port) && work_left_s_[port] > 1e-15;
    int& place = free_place_[port];
    if (is_free && place == kNobody) {
      place = static_cast<int>(free_.size());
      free_.push_back(port);
    } else if (!is_free && place != kNobody) {
      free_[at(place)] = free_.back();
      free_place_[free_.back()] = place;
      free_.pop_back();
      place = kNobody;
    }
  }

  Assignment& plan_;
  const PlanNetwork& net_;
  const SwarmOptions options_;
  SwarmResult result_;
  std::vector<int> depth_;  // by wire op
  double now_s_ = 0;
  std::size_t pending_ = 0;
  int woken_all_ = 0;

  std::vector<Sender> senders_;                       // by rank
  std::vector<std::vector<int>> ranks_of_send_port_;  // by port
  std::vector<int> send_busy_, receive_busy_, trunk_out_busy_, trunk_in_busy_;
  std::vector<double> budget_s_;     // by send port
  std::vector<double> work_left_s_;  // by receive port, not yet chosen
  std::vector<std::size_t> free_;    // receive ports
  std::vector<int> free_place_;
  std::vector<std::vector<std::pair<int, int>>> offered_by_;  // by receive port: sender, bundle
  std::vector<std::size_t> next_woken_;
  std::vector<int> awake_;
  std::vector<std::vector<Choice>> tentative_;  // by receive port
  std::vector<std::size_t> taken_;              // receive ports with a tentative choice
  std::vector<std::uint32_t> visited_;
  std::uint32_t visit_ = 0;
  std::priority_queue<Running> running_;
};

}  // namespace

SwarmResult run_swarm(Assignment& assignment, const PlanNetwork& network, double bound_s,
                      const SwarmOptions& options) {
  return Swarm(assignment, network, bound_s, options).run();
}

}  // namespace refit
