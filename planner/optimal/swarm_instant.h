#pragma once

#include <cstdint>
#include <vector>

#include "planner/optimal/swarm_chooser.h"

namespace refit {

// The choices of one instant. All are tentative until it is over: a later sender may want a
// receiver more than the one that has it.
class SwarmInstant {
 public:
  SwarmInstant(Assignment& plan, const PlanNetwork& network, const SwarmOptions& options,
               SwarmPorts& ports, SwarmBudgets& budgets, SwarmOffers& offers,
               SwarmChooser& chooser);

  // What is to start now; `turn` makes ties go round from instant to instant.
  std::vector<SwarmChoice> match(std::size_t turn);

 private:
  PlanChunk& chunk_of(const PlanDelivery& d) { return plan_.chunks[d.chunk]; }
  void set_thieves(const PlanNetwork& network);
  void steal();

  void hold(const SwarmChoice& choice);
  SwarmChoice release(std::size_t port, std::size_t k);
  void release(const SwarmChoice& choice);
  void give_back(std::uint32_t chunk);
  bool augment(int sender);
  bool take_over(const SwarmChoice& wish);

  Assignment& plan_;
  const SwarmOptions options_;
  SwarmPorts& ports_;
  SwarmBudgets& budgets_;
  SwarmOffers& offers_;
  SwarmChooser& chooser_;
  std::size_t turn_ = 0;
  std::vector<std::vector<SwarmChoice>> tentative_;  // by receive port
  std::vector<std::size_t> taken_;                   // receive ports with a tentative choice
  std::vector<std::uint32_t> visited_;  // by receive port: the last visit_ that tried it
  std::uint32_t visit_ = 0;
  std::vector<int> thieves_;  // ranks of islands that own something
  std::size_t next_thief_ = 0;
};

}  // namespace refit
