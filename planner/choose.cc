#include "planner/choose.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/units.h"

namespace refit {
namespace {

constexpr double kClose = 1.05;

using Candidates = std::vector<Candidate>;

std::size_t fastest(const Candidates& candidates) {
  const auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.predicted_s < b.predicted_s; });
  return static_cast<std::size_t>(best - candidates.begin());
}

std::string range(const Candidate& c) {
  return fmt::format("{} to {}", format_seconds(c.ensemble->least_s),
                     format_seconds(c.ensemble->most_s));
}

// "a (1 s to 2 s), b (2 s to 3 s) and c (3 s to 4 s)"
std::string joined(const std::vector<std::size_t>& of, const Candidates& candidates) {
  std::string text;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i > 0) text += i + 1 == of.size() ? " and " : ", ";
    text += fmt::format("{} ({})", candidates[of[i]].name, range(candidates[of[i]]));
  }
  return text;
}

// Nobody is close to the fastest.
Choice alone(const Candidates& candidates, std::size_t best) {
  const std::string time = format_seconds(candidates[best].predicted_s);
  if (candidates.size() == 1)
    return {best, fmt::format("predicted {};\nthere is no other candidate", time)};
  Candidates others = candidates;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(best));
  const Candidate& next = others[fastest(others)];
  return {best,
          fmt::format("predicted {}; the next, {}, takes {},\n{:.0f} % longer, more than link "
                      "rates that differ by 1 % explain",
                      time, next.name, format_seconds(next.predicted_s),
                      100 * (next.predicted_s / candidates[best].predicted_s - 1))};
}

// The one with the fewest ops; of equals the first.
Choice of_tie(const Candidates& candidates, const std::vector<std::size_t>& tied) {
  std::size_t taken = tied.front();
  for (const std::size_t i : tied) {
    if (candidates[i].ops < candidates[taken].ops) taken = i;
  }
  std::vector<std::size_t> others;
  bool fewest = true;
  for (const std::size_t i : tied) {
    if (i == taken) continue;
    others.push_back(i);
    fewest = fewest && candidates[i].ops > candidates[taken].ops;
  }
  return {taken, fmt::format("{} if link rates differ by 1 %, as fast as {},\n{}, {}",
                             range(candidates[taken]), joined(others, candidates),
                             fewest ? "and with the fewest ops" : "and nobody has fewer ops",
                             format_count(candidates[taken].ops))};
}

}  // namespace

std::vector<std::size_t> close_to_best(const Candidates& candidates) {
  REFIT_CHECK(!candidates.empty());
  const double most_s = kClose * candidates[fastest(candidates)].predicted_s;
  std::vector<std::size_t> close;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].predicted_s <= most_s) close.push_back(i);
  }
  if (close.size() == 1) close.clear();
  return close;
}

Choice choose(const Candidates& candidates) {
  const std::vector<std::size_t> close = close_to_best(candidates);
  if (close.empty()) return alone(candidates, fastest(candidates));
  std::size_t best = close.front();
  for (const std::size_t i : close) {
    REFIT_CHECK(candidates[i].ensemble.has_value());
    if (candidates[i].ensemble->median_s < candidates[best].ensemble->median_s) best = i;
  }
  const Ensemble& least = *candidates[best].ensemble;
  std::vector<std::size_t> tied;
  std::optional<std::size_t> next;  // of those that are slower
  for (const std::size_t i : close) {
    const Ensemble& ensemble = *candidates[i].ensemble;
    const double spread_s = std::max(least.spread_s(), ensemble.spread_s());
    if (ensemble.median_s - least.median_s <= spread_s) {
      tied.push_back(i);
    } else if (!next || ensemble.median_s < candidates[*next].ensemble->median_s) {
      next = i;
    }
  }
  if (tied.size() > 1) return of_tie(candidates, tied);
  return {best,
          fmt::format("{} if link rates differ by 1 %,\nagainst {} ({}), the next",
                      range(candidates[best]), candidates[*next].name, range(candidates[*next]))};
}

}  // namespace refit
