#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sweep/row.h"

namespace refit {

// Whether a cluster refits in the time there is.
enum class Verdict {
  sure,        // even at the high end of the band
  likely,      // at the prediction, but not at the high end, or nobody knows a band
  unlikely,    // at the low end only
  no,          // not even there
  impossible,  // the bound says that no plan could
  unfit,       // no such layout or plan on it, or it needs more memory or more of a limit
};

struct SizeCandidate {
  std::string name;
  int nodes = 0;
  int gpus = 0;
  std::optional<double> cost;  // in whatever the catalog's prices are in
  SweepRow row;                // of the strategy with the least prediction that fits
  double bound_s = 0;          // of any plan: the least over the strategies
  Verdict verdict = Verdict::unfit;
};

// What `refit size` answers.
struct SizeAnswer {
  std::string name;
  double step_s = 0;
  double below = 0;                       // share of the step
  std::string field;                      // what the candidates differ in; empty: a catalog
  std::vector<SizeCandidate> candidates;  // as listed: with a field, from least to most
  // Indices: the cheapest, or the first with a field, that is sure; and that is likely or sure.
  std::optional<std::size_t> sure, likely;
  // With a catalog: those that nobody beats in cost and in predicted time, cheapest first.
  std::vector<std::size_t> front;

  double most_s() const { return step_s * below; }
};

}  // namespace refit
