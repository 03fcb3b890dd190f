#include "report/size_words.h"

#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "report/sweep_words.h"
#include "report/table.h"

namespace refit {
namespace {

const char* words_of(Verdict verdict, bool has_band = true) {
  switch (verdict) {
    case Verdict::sure:
      return "meets it, even at the high end of the band";
    case Verdict::likely:
      return has_band ? "meets it at the middle of the band only"
                      : "meets it; the network model has no band";
    case Verdict::unlikely:
      return "misses it, but for the low end of the band";
    case Verdict::no:
      return has_band ? "misses it, even at the low end of the band" : "misses it";
    case Verdict::impossible:
      return "no plan can: the bound is above it";
    case Verdict::unfit:
      return "does not fit";
  }
  return "";
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string cost_words(double cost) {
  if (cost < 1e15 && cost == std::floor(cost)) return format_count(static_cast<std::int64_t>(cost));
  return fmt::format("{:.12g}", cost);
}

std::string described(const SizeAnswer& answer, const SizeCandidate& candidate) {
  const SweepRow& row = candidate.row;
  const std::string cost = candidate.cost
                               ? fmt::format(", {} nodes for {}", format_count(candidate.nodes),
                                             cost_words(*candidate.cost))
                               : "";
  const std::string band = band_words(row);
  return fmt::format("{}{}: predicted {}, {} of the step, by {}{}; bound {}", candidate.name, cost,
                     format_seconds(row.prediction_s), percent(row.prediction_s / answer.step_s),
                     row.strategy, band.empty() ? "" : fmt::format(" (80 % band {})", band),
                     format_seconds(candidate.bound_s));
}

std::string answer_lines(const SizeAnswer& answer) {
  const std::string best = answer.field.empty() ? "cheapest" : "least";
  if (!answer.likely)
    return fmt::format("answer       none of these {} meets it\n", answer.candidates.size());
  std::string text;
  if (answer.sure) {
    text +=
        fmt::format("answer       {} that {}:\n             {}\n", best, words_of(Verdict::sure),
                    described(answer, answer.candidates[*answer.sure]));
  } else {
    text += "answer       none meets it at the high end of the band\n";
  }
  if (answer.likely != answer.sure) {
    const SizeCandidate& likely = answer.candidates[*answer.likely];
    text += fmt::format("             {} that {}:\n             {}\n", best,
                        words_of(Verdict::likely, likely.row.high_s.has_value()),
                        described(answer, likely));
  }
  return text;
}

std::string front_table(const SizeAnswer& answer, Paint paint) {
  if (answer.front.empty()) return {};
  Table table({{"cluster", Align::left}, {"cost"}, {"prediction"}, {"of step"}});
  for (const std::size_t i : answer.front) {
    const SizeCandidate& c = answer.candidates[i];
    table.add_row({c.name, cost_words(*c.cost), format_seconds(c.row.prediction_s),
                   percent(c.row.prediction_s / answer.step_s)});
  }
  return "\ncost against time: nobody else is as cheap and as fast\n" + table.text(paint);
}

}  // namespace

Table size_table(const SizeAnswer& answer) {
  Table table({{answer.field.empty() ? "cluster" : answer.field, Align::left},
               {"nodes"},
               {"cost"},
               {"strategy", Align::left},
               {"bound", Align::right, "bound_s"},
               {"prediction", Align::right, "prediction_s"},
               {"80 % band", Align::right, {}, true},
               {"low_s", Align::unseen},
               {"high_s", Align::unseen},
               {"of step", Align::right, "of_step"},
               {"busiest link", Align::left, "busiest_link"},
               {"verdict", Align::left}});
  for (const SizeCandidate& c : answer.candidates) {
    const SweepRow& row = c.row;
    const Cell nodes = c.nodes > 0 ? count_cell(c.nodes) : "";
    const Cell cost = c.cost ? Cell(cost_words(*c.cost), *c.cost) : "";
    if (row.outcome != PointOutcome::predicted) {
      table.add_row({c.name, nodes, cost, row.strategy, "", "", "", "", "", "", "",
                     fmt::format("{}: {}", words_of(c.verdict), row.reason)});
      continue;
    }
    const std::string why = row.over.empty() ? "" : ": " + row.over;
    const double share = row.prediction_s / answer.step_s;
    table.add_row({c.name, nodes, cost, row.strategy, seconds_cell(c.bound_s),
                   seconds_cell(row.prediction_s), band_words(row), number_cell(row.low_s),
                   number_cell(row.high_s), Cell(percent(share), share), row.busiest_link,
                   words_of(c.verdict, row.high_s.has_value()) + why});
  }
  return table;
}

std::string size_summary(const SizeAnswer& answer, Paint paint) {
  return fmt::format("size         {}\nquestion     refit below {} of a step of {}: at most {}\n",
                     answer.name, percent(answer.below), format_seconds(answer.step_s),
                     format_seconds(answer.most_s())) +
         answer_lines(answer) + "\n" + size_table(answer).text(paint) + front_table(answer, paint) +
         fmt::format("\nbound: proven. prediction: simulated.{} Nothing here was measured.\n",
                     answer.field.empty() ? " Prices are those of the file." : "");
}

}  // namespace refit
