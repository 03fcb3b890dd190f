#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/edge.h"
#include "models/model_spec.h"
#include "models/refit.h"
#include "models/side_facts.h"
#include "planner/plan.h"
#include "scenarios/runtime_facts.h"
#include "schedule/fault.h"
#include "sim/network_model.h"
#include "topology/cluster.h"

namespace refit {

// A question as a person writes it (docs/scenario_format.md), read and checked.
struct Scenario {
  std::string name;
  std::string path;  // of the file, as given
  std::string text;  // the YAML itself: plans carry it, so that they can be read back alone
  std::string description;
  std::vector<std::string> assumptions;  // what the author assumed and wants printed
  Cluster cluster;
  std::optional<ModelSpec> model;  // none if the tensors are written out
  Refit refit;
  std::optional<Policy> policy;  // the scenario's own, shown beside the built-in strategies
  PlanOptions plan;
  NetworkModel network_model;
  std::optional<FaultSpec> fault;                 // a loss to be predicted, or caused in a run
  Edge edge = {};                                 // how either side keeps the model
  std::optional<SideFacts> training, generation;  // none if the tensors are written out
  RuntimeFacts runtime = {};                      // what runtimes ask besides
};

// Errors name file, line, column, key, what is wrong and what would be right. Relative paths inside
// a scenario are relative to its file.
Scenario load_scenario(const std::string& path);
Scenario parse_scenario(const std::string& text, const std::string& name);

}  // namespace refit
