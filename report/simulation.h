#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/conversion_totals.h"
#include "sim/certificate.h"
#include "sim/ensemble_times.h"
#include "sim/fault.h"
#include "sim/first_use.h"
#include "sim/memory_use.h"
#include "sim/prediction.h"

namespace refit {

// What a plan takes of what a scenario limits, and what that costs.
struct LimitUse {
  double extra_memory_bytes = 0;  // these on the rank that takes most
  std::int64_t ops = 0;
  int communicators = 0;
  int peers = 0;
  std::optional<double> price_s;      // prediction with the limits less that without
  std::vector<std::string> exceeded;  // in words; empty: all limits are kept
};

// What one strategy's plan moves and what is predicted of it: one row of the table. The byte words
// are those of docs/glossary.md.
struct StrategyResult {
  std::string strategy;
  std::int64_t ops = 0;
  std::int64_t unique_bytes = 0;
  std::int64_t payload_bytes = 0;
  std::int64_t logical_bytes = 0;
  double network_bytes = 0;
  double nvlink_bytes = 0;
  double copies = 0;  // network bytes / unique bytes
  std::string coded;  // "1 % changed, rice": what is sent, and the bound holds for; empty: weights
  Certificate certificate;
  double predicted_s = 0;
  std::optional<double> low_s, high_s;  // 80 % band, if the network model says how sure it is
  std::vector<std::pair<std::string, double>> seconds_by_constant;  // of the network model
  FirstUse first_use;
  LinkLoad busiest;
  std::vector<PhaseTime> phases;
  std::string network_model;
  std::string solver;
  std::string solver_reason;
  ReductionReport reductions;
  std::optional<LimitUse> limits;        // if there are any
  std::optional<Ensemble> ensemble;      // under kUnequalRuns, if it was asked for
  std::optional<FaultPrediction> fault;  // if the scenario has one
  // The rank that needs most memory at once, and whether every GPU has that much.
  Rank memory_rank;
  double memory_bytes = 0;
  std::string memory_dominant;  // "destination shards"
  double memory_dominant_bytes = 0;
  double gpu_memory_bytes = 0;                   // of that rank's GPU; 0: not known
  std::optional<Rank> memory_over;               // the first rank that has too little
  std::optional<MemoryByClass> memory_by_class;  // if it was asked for
};

// The answer of `refit simulate`: a scenario and a row per strategy.
struct SimulationReport {
  std::string scenario;
  std::string model;    // name, or "no model: 3 tensors"
  std::string cluster;  // in words, cluster_words.h
  std::vector<std::string> assumptions;
  std::vector<StrategyResult> strategies;
  std::string fault;                              // in words; empty: none
  std::vector<ConversionTotal> conversions = {};  // what is more than a copy of bytes
  struct Chosen {
    std::string strategy;
    std::string reason;  // two lines
  };
  std::optional<Chosen> chosen = {};  // if it was asked to choose
  bool explain = false;               // what was left out before simulating, too
};

}  // namespace refit
