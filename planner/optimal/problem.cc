#include "planner/optimal/problem.h"

#include <utility>

namespace refit {

Problem make_problem(const std::vector<Parcel>& parcels, const std::vector<Content>& contents,
                     const Cluster& cluster) {
  Problem problem;
  problem.view = domain_classes(parcels, cluster);
  problem.network = plan_network(cluster, problem.view);
  problem.bound = flow_bound(parcels, cluster, problem.view);
  for (const Content& content : contents) {
    problem.class_of_content.push_back(problem.view.of_parcel[content.parcels.front().index()]);
  }
  return problem;
}

Solution solve(const Problem& problem, std::vector<Content> contents, const Setting& setting) {
  Solution solution{std::move(contents), problem.network, {}, {}};
  const double seconds = problem.bound.seconds;
  solution.assignment =
      assign({solution.contents, problem.class_of_content, problem.view, problem.bound,
              setting.holders, setting.proxies, setting.demanders_send},
             problem.network);
  if (problem.network.has_trunks()) {
    share_trunks(solution.contents, solution.assignment, seconds, setting.places, solution.network);
  } else {
    for (auto* ports : {&solution.network.send_ports, &solution.network.receive_ports}) {
      for (PlanNetwork::Port& port : *ports)
        port.slots[PlanNetwork::inside] *= setting.places.inside;
    }
  }
  solution.swarm =
      run_swarm(solution.contents, solution.assignment, solution.network, seconds, setting.swarm);
  return solution;
}

}  // namespace refit
