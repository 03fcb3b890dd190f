#include <nlohmann/json.hpp>

#include "report/json_number.h"
#include "report/validation_words.h"

namespace refit {

std::string validation_json(const Validation& v) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const ValidationRow& row : v.rows) {
    Json one{{"id", row.id},
             {"system", row.system},
             {"model", row.model},
             {"hardware", row.hardware},
             {"grade", row.grade},
             {"published_s", row.published_s},
             {"predicted_s", row.predicted_s},
             {"low_s", row.low_s},
             {"high_s", row.high_s},
             {"bound_s", row.bound_s},
             {"ratio", row.ratio()},
             {"error", row.error()},
             {"held_out_error", row.held_out_error()},
             {"dominant_phase", row.dominant_phase},
             {"phases_s", row.phase_s},
             {"assumptions", row.assumptions}};
    if (row.system_out_s) one["system_held_out_error"] = *row.system_out_s / row.published_s - 1;
    rows.push_back(std::move(one));
  }
  Json reproduced = Json::array();
  for (const ValidationRow& row : v.reproduced) {
    reproduced.push_back({{"id", row.id},
                          {"system", row.system},
                          {"model", row.model},
                          {"published_s", row.published_s},
                          {"predicted_s", row.predicted_s},
                          {"bound_s", row.bound_s},
                          {"error", row.error()},
                          {"assumptions", row.assumptions}});
  }
  Json skipped = Json::array();
  for (const SkippedRow& row : v.skipped)
    skipped.push_back({{"id", row.id}, {"field", row.field}, {"reason", row.reason}});
  const ErrorSummary s = summary_of(v.rows);
  Json summary{{"rows", s.rows},
               {"skipped", v.skipped.size()},
               {"median_error", s.median_error},
               {"held_out_median_error", s.held_out_median},
               {"worst_held_out_error", s.worst_held_out},
               {"within_25_percent", s.within_25_percent},
               {"inside_80_percent_band", s.inside_band},
               {"under_bound", s.under_bound}};
  if (s.system_out_median) summary["system_held_out_median_error"] = *s.system_out_median;
  if (s.rule_median) summary["gb_per_s_rule_median_error"] = *s.rule_median;
  const Json all{{"schema", "refit.validation/1"},
                 {"source", v.source},
                 {"network_model", v.network_model},
                 {"frozen", v.frozen},
                 {"summary", summary},
                 {"rows", std::move(rows)},
                 {"reproduced", std::move(reproduced)},
                 {"skipped", std::move(skipped)}};
  return all.dump(1) + "\n";
}

}  // namespace refit
