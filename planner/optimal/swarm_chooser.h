#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "planner/optimal/swarm.h"
#include "planner/optimal/swarm_budgets.h"
#include "planner/optimal/swarm_offers.h"

namespace refit {

// Who is to make which delivery.
struct SwarmChoice {
  int sender = 0;
  std::uint32_t delivery = 0;
  std::int64_t from = -1;  // wire op that brought the chunk to the sender; -1: had at the start
  bool fresh = false;
  int via = kNobody;  // an owner that hands the chunk to the sender first
};

// What a sender whose port is free had best send now, and to whom.
class SwarmChooser {
 public:
  SwarmChooser(const std::vector<Content>& contents, const Assignment& plan,
               const PlanNetwork& network, const SwarmOptions& options, const SwarmPorts& ports,
               const SwarmBudgets& budgets, SwarmOffers& offers);

  // Nothing: there is no free receiver for anything it has. `turn` makes ties go round.
  std::optional<SwarmChoice> pick(int sender, std::size_t turn);
  // A chunk that the neighbour in its island owes that owes most.
  std::optional<SwarmChoice> pick_of_neighbours(int thief);

  bool may_take(int sender, const PlanDelivery& d) const;
  // The two exchange bytes from now on; only where the number of such pairs is limited.
  void meet(int sender, int receiver);
  // A swarm that is stuck does what it otherwise would not.
  void set_stuck(bool stuck) { stuck_ = stuck; }

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

 private:
  std::optional<SwarmChoice> pick_inside_pod(int thief);
  std::optional<SwarmChoice> pick_fresh(int sender, bool& owes);
  std::optional<SwarmChoice> pick_offered(int sender, bool only_fresh, std::size_t turn);
  bool may_meet(int sender, int receiver) const;

  const std::vector<Content>& contents_;
  const Assignment& plan_;
  const PlanNetwork& net_;
  const SwarmOptions options_;
  const SwarmPorts& ports_;
  const SwarmBudgets& budgets_;
  SwarmOffers& offers_;
  bool stuck_ = false;
  std::unordered_set<std::uint64_t> pairs_;  // that have met
  std::vector<int> peers_;                   // by rank
};

}  // namespace refit
