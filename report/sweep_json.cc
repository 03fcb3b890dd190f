#include <nlohmann/json.hpp>

#include "report/json_number.h"
#include "report/sweep_words.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

const char* word_of(PointOutcome outcome) {
  switch (outcome) {
    case PointOutcome::predicted:
      return "predicted";
    case PointOutcome::infeasible:
      return "infeasible";
    case PointOutcome::failed:
      return "failed";
  }
  return "";
}

Json json_of(const SweepRow& row, const std::vector<std::string>& columns) {
  Json values = Json::object();
  for (std::size_t c = 0; c < columns.size(); ++c) values[columns[c]] = row.values[c];
  Json json{{"point", row.point},
            {"values", std::move(values)},
            {"strategy", row.strategy},
            {"outcome", word_of(row.outcome)}};
  if (row.outcome != PointOutcome::predicted) {
    json["reason"] = row.reason;
    return json;
  }
  json["bound_s"] = row.bound_s;
  json["bound_by"] = row.bound_by;
  json["prediction_s"] = row.prediction_s;
  if (row.low_s) json["low_s"] = *row.low_s;
  if (row.high_s) json["high_s"] = *row.high_s;
  json["waits_for"] = row.waits_for;
  json["waits_s"] = row.waits_s;
  json["network_bytes"] = json_number(row.network_bytes);
  json["copies"] = row.copies;
  json["busiest_link"] = row.busiest_link;
  json["busiest_used"] = row.busiest_used;
  json["memory_peak_bytes"] = json_number(row.memory_peak_bytes);
  json["gpu_memory_bytes"] = json_number(row.gpu_memory_bytes);
  if (!row.over.empty()) json["over"] = row.over;
  return json;
}

}  // namespace

std::string sweep_json(const std::string& name, const SweepTable& table) {
  Json rows = Json::array();
  for (const SweepRow& row : table.rows) rows.push_back(json_of(row, table.columns));
  const Json all{{"schema", "refit.sweep/1"},
                 {"sweep", name},
                 {"hash", table.hash},
                 {"points", table.points},
                 {"rows", std::move(rows)}};
  return all.dump(1) + "\n";
}

}  // namespace refit
