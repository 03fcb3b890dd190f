#include "planner/optimal/assignment.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "planner/optimal/own_nic.h"

namespace refit {
namespace {

// How far above the bound a port may be loaded before a neighbour's NIC is used instead.
constexpr double kTolerance = 0.002;
constexpr double kNever = std::numeric_limits<double>::infinity();

class Assigner {
 public:
  Assigner(const AssignmentInput& input, const PlanNetwork& network)
      : input_(input),
        network_(network),
        limit_s_(input.proxies ? input.bound.seconds * (1 + kTolerance) : kNever) {
    out_s_.assign(network.send_ports.size(), 0);
    in_s_.assign(network.receive_ports.size(), 0);
    nvlink_.assign(static_cast<std::size_t>(network.ranks()), 0);
    received_.assign(static_cast<std::size_t>(network.ranks()), 0);
    given_.resize(input.view.classes.size());
    for (std::size_t c = 0; c < given_.size(); ++c)
      given_[c].assign(input.view.classes[c].owners.size(), 0);
    seen_.assign(given_.size(), 0);
    if (input.proxies) own_share_ = own_nic_shares(input, network);
    any_own_ = std::any_of(own_share_.begin(), own_share_.end(), [](double s) { return s > 0; });
    own_lead_.assign(own_share_.size(), 0);
  }

  Assignment run() {
    for (const int c : in_order_of_freedom()) place(c);
    result_.sent_s = out_s_;
    return std::move(result_);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::size_t send_port(Rank r) const { return at(network_.send_port[r.index()]); }
  std::size_t receive_port(Rank r) const { return at(network_.receive_port[r.index()]); }
  double out_rate(Rank r) const { return network_.send_ports[send_port(r)].bytes_per_s; }
  double in_rate(Rank r) const { return network_.receive_ports[receive_port(r)].bytes_per_s; }
  int island(Rank r) const { return network_.island[r.index()]; }

  // What can go few ways first: few owners, few demanders per island.
  std::vector<int> in_order_of_freedom() const {
    std::vector<double> freedom;
    for (std::size_t c = 0; c < input_.contents.size(); ++c) {
      const Content& content = input_.contents[c];
      const std::size_t islands = needers(c).size();
      freedom.push_back(static_cast<double>(content.owners->size()) +
                        100.0 * static_cast<double>(content.demanders->size()) /
                            static_cast<double>(std::max<std::size_t>(1, islands)));
    }
    std::vector<int> order(freedom.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return freedom[at(a)] < freedom[at(b)]; });
    return order;
  }

  const std::vector<int>& needers(std::size_t content) const {
    return input_.view.classes[at(input_.class_of_content[content])].needers;
  }

  void place(int c) {
    const Content& content = input_.contents[at(c)];
    const auto& view = input_.view.classes[at(input_.class_of_content[at(c)])];
    owners_in_.clear();
    demanders_in_.clear();
    for (const Rank r : *content.owners) owners_in_[island(r)].push_back(r);
    for (const Rank r : *content.demanders) {
      if (!std::binary_search(content.owners->begin(), content.owners->end(), r))
        demanders_in_[island(r)].push_back(r);
    }
    if (view.needers.empty() && !any_own_) return;
    for (int i = 0; i < content.chunks; ++i) add_chunk(c, i, content.bytes_of_chunk(i), view);
  }

  void add_chunk(int c, int index, double bytes, const DomainClasses::Class& view) {
    PlanChunk chunk;
    chunk.bytes = bytes;
    chunk.content = c;
    chunk.index = index;
    if (view.needers.empty()) {
      // Owned in every island that demands it.
      const std::vector<Rank> alone = who_takes_alone(c, bytes);
      if (alone.empty()) return;
      const std::vector<Rank> outside = owners_outside(c, island(alone.front()));
      const Rank sender = least(outside, [&](Rank r) { return out_s_[send_port(r)]; });
      out_s_[send_port(sender)] += bytes / out_rate(sender);
      add_holders(c, sender, chunk);
      add_deliveries(chunk, {}, alone, sender);
      return;
    }
    const Rank sender = choose_sending_nic(c, chunk, view);
    out_s_[send_port(sender)] += bytes / out_rate(sender);
    add_holders(c, sender, chunk);
    add_deliveries(chunk, view.needers, {}, sender);
  }

  // The owner that is to send first, or a neighbour that works for it.
  Rank choose_sending_nic(int c, PlanChunk& chunk, const DomainClasses::Class& view) {
    const double bytes = chunk.bytes;
    const Rank sender = choose_sender(c, bytes, view);
    if (out_s_[send_port(sender)] + bytes / out_rate(sender) <= limit_s_) return sender;
    // Not one that demands it: that rank gets it from an owner anyway.
    const auto served = demanders_in_.find(island(sender));
    const Rank proxy = least(island_ranks(sender), [&](Rank r) {
      const bool demands = served != demanders_in_.end() &&
                           std::binary_search(served->second.begin(), served->second.end(), r);
      return demands ? kNever : out_s_[send_port(r)] + bytes / out_rate(r);
    });
    if (send_port(proxy) == send_port(sender)) return sender;
    const auto& owners = *input_.contents[at(c)].owners;
    if (!std::binary_search(owners.begin(), owners.end(), proxy)) {
      chunk.proxied_by = sender.value;
      nvlink_[sender.index()] += bytes;
    }
    return proxy;
  }

  void add_deliveries(PlanChunk& chunk, const std::vector<int>& needers, std::vector<Rank> alone,
                      Rank sender) {
    chunk.first = static_cast<std::uint32_t>(result_.deliveries.size());
    for (const int where : needers)
      add_delivery(choose_entry(demanders_in_.at(where), sender, chunk.bytes), chunk.bytes, false);
    if (any_own_ && alone.empty()) alone = who_takes_alone(chunk.content, chunk.bytes);
    const std::size_t entries = result_.deliveries.size();
    for (const Rank rank : alone) {
      // Far behind its share, the island's entry would be told twice.
      const auto begin = result_.deliveries.begin() + chunk.first;
      const auto end = result_.deliveries.begin() + static_cast<std::ptrdiff_t>(entries);
      const bool enters =
          std::any_of(begin, end, [&](const PlanDelivery& d) { return d.entry == rank.value; });
      if (!enters) add_delivery(rank, chunk.bytes, true);
    }
    chunk.end = static_cast<std::uint32_t>(result_.deliveries.size());
    result_.chunks.push_back(chunk);
  }

  void add_delivery(Rank entry, double bytes, bool alone) {
    in_s_[receive_port(entry)] += bytes / in_rate(entry);
    received_[entry.index()] += bytes;
    const auto number = static_cast<std::uint32_t>(result_.chunks.size());
    result_.add({entry.value, number, alone});
    if (any_own_) own_lead_[entry.index()] += bytes;
  }

  // Ranks whose own NICs are behind their share. Owners in their own islands don't count.
  std::vector<Rank> who_takes_alone(int c, double bytes) {
    std::vector<Rank> ranks;
    for (const auto& [where, demanders] : demanders_in_) {
      const bool possible = !owners_outside(c, where).empty();
      if (!possible) continue;
      for (const Rank r : demanders) own_lead_[r.index()] -= own_share_[r.index()] * bytes;
      // One that hands it on; others only if they are far behind.
      const Rank first = least(demanders, [&](Rank r) { return own_lead_[r.index()]; });
      for (const Rank r : demanders) {
        if (own_lead_[r.index()] < (r == first ? -0.5 : -1.5) * bytes) ranks.push_back(r);
      }
    }
    return ranks;
  }

  std::vector<Rank> owners_outside(int c, int where) const {
    std::vector<Rank> owners;
    for (const Rank r : *input_.contents[at(c)].owners) {
      if (island(r) != where) owners.push_back(r);
    }
    return owners;
  }

  // The sender, an owner in each pod that needs the chunk, and others in turn.
  void add_holders(int c, Rank sender, PlanChunk& chunk) {
    chunk.holders_begin = static_cast<std::uint32_t>(result_.holders.size());
    result_.holders.push_back(sender.value);
    const auto& owners = *input_.contents[at(c)].owners;
    const auto in_turn = [&](std::size_t k) {
      return owners[(result_.chunks.size() + k) % owners.size()];
    };
    const auto add = [&](Rank r) {
      const auto begin = result_.holders.begin() + chunk.holders_begin;
      if (std::find(begin, result_.holders.end(), r.value) == result_.holders.end())
        result_.holders.push_back(r.value);
    };
    if (network_.has_trunks()) {
      for (const Rank owner : owners) chunk.pods |= pod_bit(network_.pod[owner.index()]);
      for (const auto& [where, demanders] : demanders_in_) {
        const int pod = network_.pod[demanders.front().index()];
        if ((chunk.pods & pod_bit(pod)) == 0) continue;
        for (std::size_t k = 0; k < owners.size(); ++k) {
          if (network_.pod[in_turn(k).index()] != pod) continue;
          add(in_turn(k));
          break;
        }
      }
    }
    const auto wanted = at(input_.most_holders);
    for (std::size_t k = 0; k < owners.size(); ++k) {
      if (result_.holders.size() - chunk.holders_begin >= wanted) break;
      add(in_turn(k));
    }
    chunk.holders_end = static_cast<std::uint32_t>(result_.holders.size());
  }

  // The owner island that is furthest behind its share, there the owner that sends least.
  Rank choose_sender(int c, double bytes, const DomainClasses::Class& view) {
    const auto k = at(input_.class_of_content[at(c)]);
    seen_[k] += bytes;
    const std::vector<double>& share = input_.bound.first_copy_shares[k];
    std::size_t behind = 0;
    double most = -1e300;
    for (std::size_t o = 0; o < view.owners.size(); ++o) {
      const double deficit = share[o] * seen_[k] - given_[k][o];
      if (deficit > most) {
        most = deficit;
        behind = o;
      }
    }
    given_[k][behind] += bytes;
    return least(owners_in_.at(view.owners[behind]),
                 [&](Rank r) { return out_s_[send_port(r)] + 1e-15 * nvlink_[r.index()]; });
  }

  // The demander whose NIC has least to take in; the sender's rail where that hardly matters.
  Rank choose_entry(const std::vector<Rank>& demanders, Rank sender, double bytes) {
    Rank entry = least(demanders, [&](Rank r) {
      const double rail = network_.rail[r.index()] == network_.rail[sender.index()] ? 0.5 : 0;
      return in_s_[receive_port(r)] - rail * bytes / in_rate(r) + 1e-15 * received_[r.index()];
    });
    if (in_s_[receive_port(entry)] + bytes / in_rate(entry) > limit_s_) {
      entry = least(island_ranks(entry), [&](Rank r) {
        return in_s_[receive_port(r)] + bytes / in_rate(r) - (r == entry ? 1e-12 : 0);
      });
    }
    return entry;
  }

  const std::vector<Rank>& island_ranks(Rank r) const {
    return network_.island_ranks[at(island(r))];
  }

  template <class Load>
  static Rank least(const std::vector<Rank>& ranks, const Load& load) {
    Rank best = ranks.front();
    double lowest = load(best);
    for (const Rank r : ranks) {
      const double here = load(r);
      if (here < lowest) {
        lowest = here;
        best = r;
      }
    }
    return best;
  }

  const AssignmentInput& input_;
  const PlanNetwork& network_;
  double limit_s_;
  std::vector<double> own_share_;  // by rank: of what it gets from outside, for its own NIC
  std::vector<double> own_lead_;   // by rank: bytes that its NIC takes in beyond that share
  bool any_own_ = false;           // whether any rank has a share
  Assignment result_;
  std::vector<double> out_s_, in_s_;        // by port
  std::vector<double> nvlink_, received_;   // bytes by rank
  std::vector<std::vector<double>> given_;  // bytes by class, by owner island
  std::vector<double> seen_;
  std::map<int, std::vector<Rank>> owners_in_, demanders_in_;  // of the content that is placed
};

}  // namespace

Assignment assign(const AssignmentInput& input, const PlanNetwork& network) {
  return Assigner(input, network).run();
}

}  // namespace refit
