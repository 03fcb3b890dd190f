#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace refit {

enum class PointOutcome {
  predicted,
  infeasible,  // there is no such scenario, or no plan for it; `reason` says why
  failed,      // the machine failed us: out of memory, a file that is gone; worth another try
};

// What a sweep says of one of its points. The byte words are those of docs/glossary.md.
struct SweepRow {
  std::int64_t point = 0;
  std::vector<std::string> values;  // of Sweep::columns()
  std::string strategy;
  PointOutcome outcome = PointOutcome::infeasible;
  std::string reason;
  // The rest: only of what was predicted.
  double bound_s = 0;
  std::string bound_by;
  double prediction_s = 0;
  std::optional<double> low_s, high_s;  // 80 % band, if the network model says how sure it is
  std::string waits_for;  // the constant of the network model that most of the time is spent on
  double waits_s = 0;     // how much of it
  double network_bytes = 0;
  double copies = 0;
  std::string busiest_link;
  double busiest_used = 0;  // share of the time at line rate
  double memory_peak_bytes = 0;
  double gpu_memory_bytes = 0;  // of the fullest GPU; 0: not known
  std::string over;             // what does not fit, in words: memory, limits of the plan

  friend bool operator==(const SweepRow&, const SweepRow&) = default;
};

// The rows of a sweep, or of a part of it.
struct SweepTable {
  std::string hash;         // Sweep::hash
  std::int64_t points = 0;  // of the whole sweep
  std::vector<std::string> columns;
  std::vector<SweepRow> rows;
};

}  // namespace refit
