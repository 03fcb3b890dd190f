#include "planner/optimal/assignment.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>

namespace refit {
namespace {

// How far above the bound a port may be loaded before a neighbour's NIC is used instead.
constexpr double kTolerance = 0.002;
// The same for one that has the chunk anyway: others may have nobody else to use.
constexpr double kFreely = 0.95;
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
    if (input.proxies && !input.bound.nic_shares.empty())
      handed_lead_.assign(static_cast<std::size_t>(network.ranks()), 0);
    kept_lead_ = handed_lead_;
    none_lead_.assign(network.island_ranks.size(), 0);
  }

  Assignment run() {
    for (const int c : in_order_of_freedom()) place(c);
    result_.sent_s = out_s_;
    return std::move(result_);
  }

 private:
  struct Entry {
    Rank rank;
    bool alone = false;
  };
  using Entries = std::vector<Entry>;

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
    if (view.needers.empty() && shares(c).empty()) return;
    for (int i = 0; i < content.chunks; ++i) add_chunk(c, i, content.bytes_of_chunk(i), view);
  }

  void add_chunk(int c, int index, double bytes, const DomainClasses::Class& view) {
    PlanChunk chunk;
    chunk.bytes = bytes;
    chunk.content = c;
    chunk.index = index;
    // Into islands that own it, where NVLink is full.
    Entries beside;
    for (const auto& [where, demanders] : demanders_in_) {
      if (!std::binary_search(view.needers.begin(), view.needers.end(), where))
        add_by_shares(c, where, bytes, false, beside);
    }
    if (view.needers.empty()) {
      if (beside.empty()) return;
      const std::vector<Rank> outside = owners_outside(c, island(beside.front().rank));
      const Rank sender = sending_nic(c, chunk, beside,
                                      least(outside, [&](Rank r) { return out_s_[send_port(r)]; }));
      out_s_[send_port(sender)] += bytes / out_rate(sender);
      add_holders(outside, sender, chunk);
      add_deliveries(chunk, {}, beside, sender);
      return;
    }
    const Rank sender = sending_nic(c, chunk, beside, choose_sender(c, bytes, view));
    out_s_[send_port(sender)] += bytes / out_rate(sender);
    add_holders(*input_.contents[at(c)].owners, sender, chunk);
    add_deliveries(chunk, view.needers, beside, sender);
  }

  // The owner that is to send first, or a neighbour that works for it.
  Rank sending_nic(int c, PlanChunk& chunk, const Entries& beside, Rank sender) {
    const double bytes = chunk.bytes;
    if (out_s_[send_port(sender)] + bytes / out_rate(sender) <= limit_s_) return sender;
    const Rank proxy = choose_proxy(sender, bytes, beside);
    if (send_port(proxy) == send_port(sender)) return sender;
    const auto& owners = *input_.contents[at(c)].owners;
    if (!std::binary_search(owners.begin(), owners.end(), proxy)) {
      chunk.proxied_by = sender.value;
      nvlink_[sender.index()] += bytes;
    }
    return proxy;
  }

  // A rank that demands it is handed the chunk anyway: the first choice where NVLink has little
  // room, else none, since it will have to wait for it. Not one that takes it in from outside
  // (`beside`).
  Rank choose_proxy(Rank sender, double bytes, const Entries& beside) const {
    const auto load = [&](Rank r) {
      const bool enters =
          std::any_of(beside.begin(), beside.end(), [&](const Entry& e) { return e.rank == r; });
      return enters ? kNever : out_s_[send_port(r)] + bytes / out_rate(r);
    };
    static const std::vector<Rank> nobody;
    const auto found = demanders_in_.find(island(sender));
    const std::vector<Rank>& demanders = found == demanders_in_.end() ? nobody : found->second;
    if (input_.demanders_send) {
      const Rank proxy = demanders.empty() ? sender : least(demanders, load);
      return load(proxy) <= kFreely * limit_s_ ? proxy : least(island_ranks(sender), load);
    }
    return least(island_ranks(sender), [&](Rank r) {
      return std::binary_search(demanders.begin(), demanders.end(), r) ? kNever : load(r);
    });
  }

  void add_deliveries(PlanChunk& chunk, const std::vector<int>& needers, const Entries& beside,
                      Rank sender) {
    chunk.first = static_cast<std::uint32_t>(result_.deliveries.size());
    Entries entries;
    for (const int where : needers) {
      entries.clear();
      add_by_shares(chunk.content, where, chunk.bytes, true, entries);
      if (entries.empty()) {  // by weight
        const Rank entry = choose_entry(demanders_in_.at(where), sender, chunk.bytes);
        add_delivery(entry, chunk.bytes, false);
      }
      for (const Entry& e : entries) add_delivery(e.rank, chunk.bytes, e.alone);
    }
    for (const Entry& e : beside) add_delivery(e.rank, chunk.bytes, e.alone);
    chunk.end = static_cast<std::uint32_t>(result_.deliveries.size());
    result_.chunks.push_back(chunk);
  }

  void add_delivery(Rank entry, double bytes, bool alone) {
    in_s_[receive_port(entry)] += bytes / in_rate(entry);
    received_[entry.index()] += bytes;
    const auto number = static_cast<std::uint32_t>(result_.chunks.size());
    result_.add({entry.value, number, alone});
  }

  // What of the content comes in at which NICs of full domains.
  std::span<const NicShare> shares(int c) const {
    if (handed_lead_.empty()) return {};
    return input_.bound.nic_shares[at(c)];
  }

  // Ranks of the island that are to take the chunk in by their own NICs, since they are behind
  // their shares: first the one that hands it on. `must`: nobody in the island has it.
  void add_by_shares(int c, int where, double bytes, bool must, Entries& entries) {
    const Rank none(kNobody);
    Rank hands_on = none;
    double most_behind = must ? kNever : -0.5 * bytes;
    double by_none = 1;  // the part that all who want it take in themselves
    bool any = false;
    for (const NicShare& s : shares(c)) {
      if (island(s.rank) != where) continue;
      any = true;
      by_none -= s.handed;
      const double lead = handed_lead_[s.rank.index()] -= s.handed * bytes;
      kept_lead_[s.rank.index()] -= s.kept * bytes;
      if (s.handed == 0 || lead >= most_behind) continue;
      most_behind = lead;
      hands_on = s.rank;
    }
    if (!any) return;
    const std::vector<Rank>& takers = demanders_in_.at(where);
    bool all = false;
    if (must) {
      double& lead = none_lead_[at(where)] -= by_none * bytes;
      all = by_none > 1e-3 && lead < most_behind;
      if (all) lead += bytes;
    }
    if (all) hands_on = none;
    if (hands_on != none) {
      handed_lead_[hands_on.index()] += bytes;
      entries.push_back({hands_on, false});
    }
    for (const Rank r : takers) {
      if (r == hands_on || !(all || kept_lead_[r.index()] <= -0.5 * bytes)) continue;
      kept_lead_[r.index()] += bytes;
      entries.push_back({r, !(all && entries.empty())});
    }
  }

  std::vector<Rank> owners_outside(int c, int where) const {
    std::vector<Rank> owners;
    for (const Rank r : *input_.contents[at(c)].owners) {
      if (island(r) != where) owners.push_back(r);
    }
    return owners;
  }

  // The sender, of these owners one in each pod that needs the chunk, and others in turn.
  void add_holders(const std::vector<Rank>& owners, Rank sender, PlanChunk& chunk) {
    chunk.holders_begin = static_cast<std::uint32_t>(result_.holders.size());
    result_.holders.push_back(sender.value);
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
  // By rank: bytes that its NIC takes in beyond its shares; empty: no shares.
  std::vector<double> handed_lead_, kept_lead_;
  std::vector<double> none_lead_;  // by island: the same of what nobody hands on
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
