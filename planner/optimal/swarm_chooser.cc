#include "planner/optimal/swarm_chooser.h"

#include <algorithm>

namespace refit {
namespace {

constexpr int kMostSkipped = 256;      // chunks passed over that somebody else has taken meanwhile
constexpr int kReceiversOfFresh = 32;  // looked at per chunk that nobody has yet
constexpr int kOffersLooked = 6;       // newest offers looked at per receiver
constexpr std::size_t kMostBundles = 512;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::uint64_t pair_of(int a, int b) {
  return (static_cast<std::uint64_t>(std::min(a, b)) << 32) |
         static_cast<std::uint64_t>(std::max(a, b));
}

}  // namespace

SwarmChooser::SwarmChooser(const std::vector<Content>& contents, const Assignment& plan,
                           const PlanNetwork& network, const SwarmOptions& options,
                           const SwarmPorts& ports, const SwarmBudgets& budgets,
                           SwarmOffers& offers)
    : contents_(contents),
      plan_(plan),
      net_(network),
      options_(options),
      ports_(ports),
      budgets_(budgets),
      offers_(offers),
      peers_(at(network.ranks()), 0) {}

// A chunk enters a pod once, and moves on inside, and a trunk carries no copies that others could
// make, where what must cross it needs all of it. Only a swarm that is stuck breaks this.
bool SwarmChooser::may_take(int sender, const PlanDelivery& d) const {
  if (!ports_.fits(sender, d.entry)) return false;
  // NVLink would carry it, which a delivery into an island that has it is to spare.
  if (net_.island[at(sender)] == net_.island[at(d.entry)]) return false;
  if (stuck_) return true;
  return may_meet(sender, d.entry) && budgets_.room_on_trunks(sender, d);
}

bool SwarmChooser::may_meet(int sender, int receiver) const {
  return options_.peers == 0 || pairs_.contains(pair_of(sender, receiver)) ||
         (peers_[at(sender)] < options_.peers && peers_[at(receiver)] < options_.peers);
}

void SwarmChooser::meet(int sender, int receiver) {
  if (options_.peers == 0 || !pairs_.insert(pair_of(sender, receiver)).second) return;
  ++peers_[at(sender)];
  ++peers_[at(receiver)];
}

std::optional<SwarmChoice> SwarmChooser::pick(int sender, std::size_t turn) {
  bool owes = false;
  if (auto fresh = pick_fresh(sender, owes)) return fresh;
  return pick_offered(sender, owes && budgets_.left_s(sender) <= 0, turn);
}

// A chunk that nobody has yet, to the free receiver with most work left.
std::optional<SwarmChoice> SwarmChooser::pick_fresh(int sender, bool& owes) {
  Sender& s = offers_.of(sender);
  while (s.fresh_at < s.fresh.size() && plan_.chunks[s.fresh[s.fresh_at]].copies > 0) ++s.fresh_at;
  std::optional<SwarmChoice> best;
  double best_score = 0;
  int candidates = 0;
  owes = look_at_fresh(s, options_.look, kMostSkipped, [&](std::uint32_t number) {
           const PlanChunk& chunk = plan_.chunks[number];
           const std::uint32_t count = chunk.end - chunk.first;
           for (std::uint32_t z = 0; z < std::min<std::uint32_t>(count, kReceiversOfFresh); ++z) {
             const std::uint32_t id = chunk.first + (number % count + z) % count;
             if (plan_.states[id] != DeliveryState::open) continue;
             const PlanDelivery& d = plan_.deliveries[id];
             const std::size_t port = ports_.receive_port(d.entry);
             if (!may_take(sender, d)) continue;
             ++candidates;
             const int rotation = (net_.island[at(d.entry)] * 131 + net_.rail[at(sender)]) % 97;
             const double score = ports_.urgency_s(port) * (1 + 1e-7 * rotation);
             if (best && score <= best_score) continue;
             best_score = score;
             best = SwarmChoice{sender, id, -1, true, kNobody};
           }
           return candidates < options_.scan;
         }) > 0;
  return best;
}

// Of what it has for the free receivers, to the one that lacks most, rare chunks first.
std::optional<SwarmChoice> SwarmChooser::pick_offered(int sender, bool only_fresh,
                                                      std::size_t turn) {
  Sender& s = offers_.of(sender);
  std::optional<SwarmChoice> best;
  double best_score = 0;
  // The shorter list of the two.
  const std::vector<std::size_t>& free = ports_.free();
  const bool by_free = free.size() < s.bundles.size();
  const std::size_t count = by_free ? free.size() : s.bundles.size();
  const std::size_t begin = count == 0 ? 0 : (at(sender) * 7919 + turn) % count;
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
      const DeliveryState state = plan_.states[offer.delivery];
      if (state == DeliveryState::chosen) continue;
      if (state != DeliveryState::open) {
        s.forget(*bundle, z);
        continue;
      }
      const PlanDelivery& d = plan_.deliveries[offer.delivery];
      const PlanChunk& chunk = plan_.chunks[d.chunk];
      if (only_fresh && chunk.copies > 0) {
        ++skipped;
        continue;
      }
      ++looked;
      if (!may_take(sender, d)) continue;
      const double score = ports_.urgency_s(at(bundle->port)) -
                           chunk.copies * (chunk.bytes / ports_.in(d.entry).bytes_per_s);
      if (best && score <= best_score) continue;
      best_score = score;
      const bool fresh = chunk.copies == 0 && !options_.frugal;
      best = SwarmChoice{sender, offer.delivery, offer.from, fresh, kNobody};
    }
  }
  return best;
}

std::optional<SwarmChoice> SwarmChooser::pick_of_neighbours(int thief) {
  int victim = kNobody;
  double most_s = 0;
  for (const Rank r : net_.island_ranks[at(net_.island[at(thief)])]) {
    if (r.value == thief) continue;
    const double owed_s = offers_.of(r.value).first_copies_s;
    if (owed_s <= most_s) continue;
    most_s = owed_s;
    victim = r.value;
  }
  if (victim == kNobody) return pick_inside_pod(thief);
  std::optional<SwarmChoice> best;
  double best_score = 0;
  look_at_fresh(offers_.of(victim), options_.look, kMostSkipped, [&](std::uint32_t number) {
    const PlanChunk& chunk = plan_.chunks[number];
    const auto& demanders = *contents_[at(chunk.content)].demanders;
    const auto& owners = *contents_[at(chunk.content)].owners;
    const bool owns = std::binary_search(owners.begin(), owners.end(), Rank(thief));
    // It will soon be done.
    if (most_s < 2 * chunk.bytes / ports_.out(victim).bytes_per_s) return false;
    if (std::binary_search(demanders.begin(), demanders.end(), Rank(thief))) return true;
    for (std::uint32_t id = chunk.first; id < chunk.end; ++id) {
      const PlanDelivery& d = plan_.deliveries[id];
      if (plan_.states[id] != DeliveryState::open || !may_take(thief, d)) continue;
      const double score = ports_.urgency_s(ports_.receive_port(d.entry));
      if (best && score <= best_score) continue;
      const bool proxied = chunk.proxied_by != kNobody && plan_.holders_of(chunk).front() == victim;
      const int via = owns ? kNobody : proxied ? chunk.proxied_by : victim;
      best_score = score;
      best = SwarmChoice{thief, id, -1, true, via};
    }
    return true;
  });
  return best ? best : pick_inside_pod(thief);
}

// Behind trunks one owner may be all that its pod has for some content, which others outside have
// sent already: a neighbour's idle NIC sends it inside the pod.
std::optional<SwarmChoice> SwarmChooser::pick_inside_pod(int thief) {
  if (!net_.has_trunks()) return std::nullopt;
  std::optional<SwarmChoice> best;
  double best_score = 0;
  int seen = 0;
  for (const Rank victim : net_.island_ranks[at(net_.island[at(thief)])]) {
    if (victim.value == thief || ports_.can_send_inside(victim.value)) continue;
    for (OfferBundle& bundle : offers_.of(victim.value).bundles) {
      if (seen >= options_.scan) return best;
      if (bundle.offers.empty() || !ports_.can_receive(at(bundle.port))) continue;
      ++seen;
      int looked = 0;
      for (std::size_t z = bundle.offers.size(); z-- > 0 && looked < kOffersLooked; ++looked) {
        const Offer& offer = bundle.offers[z];
        if (offer.from >= 0 || plan_.states[offer.delivery] != DeliveryState::open) continue;
        const PlanDelivery& d = plan_.deliveries[offer.delivery];
        const PlanChunk& chunk = plan_.chunks[d.chunk];
        const Content& content = contents_[at(chunk.content)];
        const auto in = [&](const std::vector<Rank>& ranks, Rank r) {
          return std::binary_search(ranks.begin(), ranks.end(), r);
        };
        if (in(*content.demanders, Rank(thief)) || !in(*content.owners, victim)) continue;
        if (ports_.crosses_trunks(thief, d.entry) || !may_take(thief, d)) continue;
        const double score = ports_.urgency_s(at(bundle.port));
        if (best && score <= best_score) continue;
        best_score = score;
        const int via = in(*content.owners, Rank(thief)) ? kNobody : victim.value;
        best = SwarmChoice{thief, offer.delivery, -1, false, via};
      }
    }
  }
  return best;
}

}  // namespace refit
