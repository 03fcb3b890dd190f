#include "planner/optimal/swarm_offers.h"

#include <algorithm>

namespace refit {
namespace {

constexpr std::size_t kMostSteps = 256;  // of a search for somebody to wake

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Chunks of one content in turn with those of others, so that no owner is stuck with one island.
std::vector<std::uint32_t> chunks_in_turn(const Assignment& plan) {
  std::vector<int> of_content;
  for (const PlanChunk& c : plan.chunks) {
    if (at(c.content) >= of_content.size()) of_content.resize(at(c.content) + 1, 0);
    ++of_content[at(c.content)];
  }
  std::vector<int> seen(of_content.size(), 0);
  std::vector<std::pair<double, std::uint32_t>> turn;
  for (std::uint32_t i = 0; i < plan.chunks.size(); ++i) {
    const std::size_t content = at(plan.chunks[i].content);
    const double spread = 1e-7 * static_cast<double>((i * 2654435761U) % 1000U);
    turn.emplace_back((seen[content]++ + 0.5) / of_content[content] + spread, i);
  }
  std::sort(turn.begin(), turn.end());
  std::vector<std::uint32_t> order;
  for (const auto& [when, i] : turn) order.push_back(i);
  return order;
}

}  // namespace

int BundleIndex::find(int port, const std::vector<OfferBundle>& bundles) const {
  if (slots_.empty()) return -1;
  for (std::size_t s = first_slot(port); slots_[s] >= 0; s = (s + 1) & (slots_.size() - 1)) {
    if (bundles[at(slots_[s])].port == port) return slots_[s];
  }
  return -1;
}

void BundleIndex::add_last(const std::vector<OfferBundle>& bundles) {
  if (2 * bundles.size() <= slots_.size()) {
    insert(bundles.back().port, static_cast<std::int32_t>(bundles.size() - 1));
    return;
  }
  shift_ = slots_.empty() ? 29 : shift_ - 1;
  slots_.assign(std::size_t{1} << (32 - shift_), -1);
  for (std::size_t b = 0; b < bundles.size(); ++b)
    insert(bundles[b].port, static_cast<std::int32_t>(b));
}

void BundleIndex::insert(int port, std::int32_t bundle) {
  std::size_t s = first_slot(port);
  while (slots_[s] >= 0) s = (s + 1) & (slots_.size() - 1);
  slots_[s] = bundle;
}

OfferBundle* Sender::bundle_to(std::size_t port) {
  const int found = bundle_of_port.find(static_cast<int>(port), bundles);
  return found < 0 ? nullptr : &bundles[at(found)];
}

void Sender::forget(OfferBundle& bundle, std::size_t z) {
  bundle.offers[z] = bundle.offers.back();
  bundle.offers.pop_back();
  --offered;
}

SwarmOffers::SwarmOffers(const Assignment& plan, const SwarmPorts& ports, int ranks,
                         const std::vector<double>& ready_s)
    : plan_(plan), ports_(ports), senders_(at(ranks)), is_awake_(at(ranks), 0) {
  std::size_t receive_ports = 0;
  for (int r = 0; r < ranks; ++r)
    receive_ports = std::max(receive_ports, ports.receive_port(r) + 1);
  offered_to_.resize(receive_ports);
  next_woken_.assign(receive_ports, 0);
  add_fresh_chunks(ready_s);
  wake_all();
}

void SwarmOffers::add_fresh_chunks(const std::vector<double>& ready_s) {
  const std::vector<std::uint32_t> order = chunks_in_turn(plan_);
  // Those who are meant to send a chunk have it in their lists before others do.
  bool more = true;
  for (std::size_t k = 0; more; ++k) {
    more = false;
    for (const std::uint32_t i : order) {
      if (!ready_s.empty() && ready_s[i] > 0) continue;
      if (k >= plan_.holders_of(plan_.chunks[i]).size()) continue;
      more = true;
      add_fresh(i, k);
    }
  }
}

void SwarmOffers::add_fresh(std::uint32_t number, std::size_t k) {
  const PlanChunk& chunk = plan_.chunks[number];
  const int holder = plan_.holders_of(chunk)[k];
  of(holder).fresh.push_back(number);
  if (k == 0) of(holder).first_copies_s += chunk.bytes / ports_.out(holder).bytes_per_s;
  for (std::uint32_t d = chunk.first; d < chunk.end; ++d) add(holder, {d, -1});
}

void SwarmOffers::add_fresh(std::uint32_t chunk) {
  const auto holders = plan_.holders_of(plan_.chunks[chunk]);
  for (std::size_t k = 0; k < holders.size(); ++k) {
    add_fresh(chunk, k);
    wake(holders[k]);
  }
}

void SwarmOffers::add(int rank, Offer offer) {
  Sender& s = of(rank);
  const auto port = static_cast<int>(ports_.receive_port(plan_.deliveries[offer.delivery].entry));
  int bundle = s.bundle_of_port.find(port, s.bundles);
  if (bundle < 0) {
    bundle = static_cast<int>(s.bundles.size());
    s.bundles.push_back({port, {}});
    s.bundle_of_port.add_last(s.bundles);
  }
  std::vector<Offer>& offers = s.bundles[at(bundle)].offers;
  if (offers.empty()) offered_to_[at(port)].emplace_back(rank, bundle);
  offers.push_back(offer);
  ++s.offered;
}

void SwarmOffers::wake(int rank) {
  if (is_awake_[at(rank)] != 0 || of(rank).offered <= 0 || !ports_.can_send(rank)) return;
  is_awake_[at(rank)] = 1;
  awake_.push_back(rank);
}

void SwarmOffers::wake_all() {
  for (int r = 0; r < ranks(); ++r) wake(r);
}

void SwarmOffers::wake_for(std::size_t port, int most) {
  auto& by = offered_to_[port];
  std::size_t q = by.empty() ? 0 : next_woken_[port] % by.size();
  int woken = 0;
  for (std::size_t looked = 0, steps = 0; looked < by.size() && woken < most && steps < kMostSteps;
       ++steps) {
    if (q >= by.size()) q = 0;
    const auto [rank, bundle] = by[q];
    if (is_awake_[at(rank)] == 0 && ports_.can_send(rank)) {
      Sender& s = of(rank);
      std::vector<Offer>& offers = s.bundles[at(bundle)].offers;
      while (!offers.empty() && plan_.states[offers.back().delivery] >= DeliveryState::under_way) {
        offers.pop_back();
        --s.offered;
      }
      if (offers.empty()) {
        by[q] = by.back();
        by.pop_back();
        continue;
      }
      ++woken;
      wake(rank);
    }
    ++looked;
    ++q;
  }
  next_woken_[port] = q;
}

std::vector<int> SwarmOffers::take_awake() {
  std::sort(awake_.begin(), awake_.end(), [&](int a, int b) {
    const Sender& x = of(a);
    const Sender& y = of(b);
    if (x.first_copies_s != y.first_copies_s) return x.first_copies_s > y.first_copies_s;
    return x.offered != y.offered ? x.offered < y.offered : a < b;
  });
  for (const int rank : awake_) is_awake_[at(rank)] = 0;
  return std::exchange(awake_, {});
}

}  // namespace refit
