#include "planner/optimal/swarm_instant.h"

#include <algorithm>
#include <optional>

namespace refit {
namespace {

constexpr int kThievesLooked = 16;  // idle ranks looked at per instant

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

SwarmInstant::SwarmInstant(Assignment& plan, const PlanNetwork& network,
                           const SwarmOptions& options, SwarmPorts& ports, SwarmBudgets& budgets,
                           SwarmOffers& offers, SwarmChooser& chooser)
    : plan_(plan),
      options_(options),
      ports_(ports),
      budgets_(budgets),
      offers_(offers),
      chooser_(chooser),
      tentative_(network.receive_ports.size()),
      visited_(network.receive_ports.size(), 0) {
  if (options.steal) set_thieves(network);
}

void SwarmInstant::set_thieves(const PlanNetwork& network) {
  std::vector<bool> owns(network.island_ranks.size(), false);
  for (const std::int32_t holder : plan_.holders) owns[at(network.island[at(holder)])] = true;
  for (std::size_t i = 0; i < owns.size(); ++i) {
    if (!owns[i] || network.island_ranks[i].size() < 2) continue;
    for (const Rank r : network.island_ranks[i]) thieves_.push_back(r.value);
  }
}

std::vector<SwarmChoice> SwarmInstant::match(std::size_t turn) {
  turn_ = turn;
  taken_.clear();
  for (const int sender : offers_.take_awake()) {
    while (ports_.can_send(sender)) {
      if (const auto choice = chooser_.pick(sender, turn_)) {
        hold(*choice);
      } else if (!options_.augment || (++visit_, !augment(sender))) {
        break;
      }
    }
  }
  if (options_.steal) steal();
  std::vector<SwarmChoice> choices;
  for (const std::size_t port : taken_) {
    choices.insert(choices.end(), tentative_[port].begin(), tentative_[port].end());
    tentative_[port].clear();
  }
  return choices;
}

// Receivers are free that nobody serves: lets some idle ranks send what neighbours owe.
void SwarmInstant::steal() {
  for (int looked = 0; looked < kThievesLooked && !thieves_.empty() && !ports_.free().empty();
       ++looked) {
    next_thief_ = (next_thief_ + 1) % thieves_.size();
    const int thief = thieves_[next_thief_];
    while (ports_.can_send(thief)) {
      const auto choice = chooser_.pick_of_neighbours(thief);
      if (!choice) break;
      hold(*choice);
    }
  }
}

void SwarmInstant::hold(const SwarmChoice& choice) {
  const PlanDelivery& d = plan_.deliveries[choice.delivery];
  PlanChunk& chunk = chunk_of(d);
  const std::size_t port = ports_.receive_port(d.entry);
  plan_.states[choice.delivery] = DeliveryState::chosen;
  budgets_.change(choice.sender, d, choice.fresh, chunk.copies, -1);
  chooser_.meet(choice.sender, d.entry);
  ++chunk.copies;
  ports_.take(choice.sender, d.entry);
  ports_.add_work(port, -chunk.bytes / ports_.in(d.entry).bytes_per_s);
  if (tentative_[port].empty()) taken_.push_back(port);
  tentative_[port].push_back(choice);
}

SwarmChoice SwarmInstant::release(std::size_t port, std::size_t k) {
  const SwarmChoice choice = tentative_[port][k];
  tentative_[port].erase(tentative_[port].begin() + static_cast<std::ptrdiff_t>(k));
  if (tentative_[port].empty()) std::erase(taken_, port);
  const PlanDelivery& d = plan_.deliveries[choice.delivery];
  PlanChunk& chunk = chunk_of(d);
  plan_.states[choice.delivery] = DeliveryState::open;
  --chunk.copies;
  budgets_.change(choice.sender, d, choice.fresh, chunk.copies, +1);
  ports_.leave(choice.sender, d.entry);
  ports_.add_work(port, chunk.bytes / ports_.in(d.entry).bytes_per_s);
  if (chunk.copies == 0) give_back(d.chunk);
  return choice;
}

void SwarmInstant::release(const SwarmChoice& choice) {
  const std::size_t port = ports_.receive_port(plan_.deliveries[choice.delivery].entry);
  const std::vector<SwarmChoice>& here = tentative_[port];
  const auto held = std::find_if(here.begin(), here.end(), [&](const SwarmChoice& c) {
    return c.delivery == choice.delivery;
  });
  release(port, static_cast<std::size_t>(held - here.begin()));
}

// The chunk has no copy any more, and its owners may have passed it: they must find it again.
void SwarmInstant::give_back(std::uint32_t chunk) {
  for (const int holder : plan_.holders_of(plan_.chunks[chunk]))
    offers_.of(holder).fresh.push_back(chunk);
}

// Takes a receiver from another sender of this instant that finds another one.
bool SwarmInstant::augment(int sender) {
  Sender& s = offers_.of(sender);
  bool done = false;
  const int looked = chooser_.look_at_fresh(s, 8, 64, [&](std::uint32_t number) {
    const PlanChunk& chunk = plan_.chunks[number];
    for (std::uint32_t d = chunk.first; d < chunk.end && !done; ++d)
      done = take_over({sender, d, -1, true, kNobody});
    return !done;
  });
  if (done) return true;
  if (looked > 0 && budgets_.left_s(sender) <= 0) return false;
  int tried = 0;
  const std::vector<std::size_t> taken = taken_;
  for (std::size_t k = 0; k < taken.size() && k < 256 && tried < 16; ++k) {
    const OfferBundle* bundle = s.bundle_to(taken[k]);
    if (bundle == nullptr || visited_[taken[k]] == visit_) continue;
    ++tried;
    const auto newest_open = std::find_if(
        bundle->offers.rbegin(), bundle->offers.rend(),
        [&](const Offer& offer) { return plan_.states[offer.delivery] == DeliveryState::open; });
    if (newest_open == bundle->offers.rend()) continue;
    if (take_over({sender, newest_open->delivery, newest_open->from, false, kNobody})) return true;
  }
  return false;
}

bool SwarmInstant::take_over(const SwarmChoice& wish) {
  const PlanDelivery& wanted = plan_.deliveries[wish.delivery];
  DeliveryState& state = plan_.states[wish.delivery];
  const std::size_t port = ports_.receive_port(wanted.entry);
  if (state != DeliveryState::open || visited_[port] == visit_) return false;
  visited_[port] = visit_;
  for (std::size_t k = 0; k < tentative_[port].size(); ++k) {
    if (tentative_[port][k].sender == wish.sender) continue;
    const SwarmChoice other = release(port, k);
    // The place is kept while the other one looks for a new receiver.
    state = DeliveryState::chosen;
    const bool possible = chooser_.may_take(wish.sender, wanted);
    ports_.keep(wish.sender, wanted.entry);
    const auto instead = possible ? chooser_.pick(other.sender, turn_) : std::nullopt;
    state = DeliveryState::open;
    ports_.unkeep(wish.sender, wanted.entry);
    if (instead) {
      hold(*instead);
      if (chooser_.may_take(wish.sender, wanted)) {
        hold(wish);
        return true;
      }
      release(*instead);
    }
    hold(other);
  }
  return false;
}

}  // namespace refit
