#pragma once

namespace refit {

// By how much members of an ensemble differ from what was asked. All factors are drawn evenly.
struct Jitter {
  double rates = 0;     // every link's rate times 1 - rates .. 1 + rates
  double sizes = 0;     // likewise the bytes of every op
  double starts_s = 0;  // ops that wait for nothing start up to this late
};

// Links are known to about a per cent.
inline constexpr Jitter kUnknownRates{.rates = 0.01};
// What no two runs of one plan have in common. Max-min sharing among transfers that wait for one
// another amplifies it, up to some per cent of the whole time.
inline constexpr Jitter kUnequalRuns{.sizes = 1e-3, .starts_s = 10e-6};

// Predictions of one schedule under jitter. A difference below the spread means nothing.
struct Ensemble {
  double least_s = 0, median_s = 0, most_s = 0, mean_s = 0;
  int members = 0;

  double spread_s() const { return most_s - least_s; }
};

}  // namespace refit
