#include "report/json.h"

#include <cmath>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

// Bytes are whole in most plans: print those without a fraction.
Json number(double value) {
  REFIT_CHECK(std::isfinite(value));
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::abs(value) <= kExact && std::trunc(value) == value) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json row_json(const StrategyResult& row) {
  Json phases = Json::array();
  for (const PhaseTime& phase : row.phases) {
    phases.push_back({{"name", phase.name},
                      {"start_s", number(phase.start_s)},
                      {"end_s", number(phase.end_s)},
                      {"work_s", number(phase.work_s)}});
  }
  return {{"strategy", row.strategy},
          {"ops", row.ops},
          {"unique_bytes", row.unique_bytes},
          {"payload_bytes", row.payload_bytes},
          {"logical_bytes", row.logical_bytes},
          {"network_bytes", number(row.network_bytes)},
          {"network_copies", number(row.copies)},
          {"nvlink_bytes", number(row.nvlink_bytes)},
          {"bound_s", number(row.bound_s)},
          {"bound_by", row.bound_by},
          {"predicted_s", number(row.predicted_s)},
          {"busiest",
           {{"name", row.busiest.name},
            {"kind", to_string(row.busiest.kind)},
            {"utilisation", number(row.busiest.utilisation)},
            {"bytes", number(row.busiest.bytes)}}},
          {"phases", std::move(phases)}};
}

LinkKind link_kind(const std::string& word) {
  for (const LinkKind kind :
       {LinkKind::nvlink, LinkKind::pcie, LinkKind::nic, LinkKind::fabric, LinkKind::wan}) {
    if (word == to_string(kind)) return kind;
  }
  throw std::invalid_argument("no link kind is called " + word);
}

}  // namespace

std::string simulation_json(const SimulationReport& report) {
  Json rows = Json::array();
  for (const StrategyResult& row : report.strategies) rows.push_back(row_json(row));
  const StrategyResult none;
  const StrategyResult& first = report.strategies.empty() ? none : report.strategies.front();
  const Json document = {{"schema", "refit.prediction/1"},
                         {"scenario", report.scenario},
                         {"model", report.model},
                         {"cluster", report.cluster},
                         {"assumptions", report.assumptions},
                         {"network_model", first.network_model},
                         {"solver", first.solver},
                         {"strategies", std::move(rows)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json_text(const StrategyResult& row) {
  Json document = row_json(row);
  document["network_model"] = row.network_model;
  document["solver"] = row.solver;
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StrategyResult parse_strategy_result(const std::string& text) {
  const Json document = Json::parse(text);
  StrategyResult row;
  document.at("strategy").get_to(row.strategy);
  document.at("ops").get_to(row.ops);
  document.at("unique_bytes").get_to(row.unique_bytes);
  document.at("payload_bytes").get_to(row.payload_bytes);
  document.at("logical_bytes").get_to(row.logical_bytes);
  document.at("network_bytes").get_to(row.network_bytes);
  document.at("network_copies").get_to(row.copies);
  document.at("nvlink_bytes").get_to(row.nvlink_bytes);
  document.at("bound_s").get_to(row.bound_s);
  document.at("bound_by").get_to(row.bound_by);
  document.at("predicted_s").get_to(row.predicted_s);
  document.at("network_model").get_to(row.network_model);
  document.at("solver").get_to(row.solver);
  const Json& busiest = document.at("busiest");
  busiest.at("name").get_to(row.busiest.name);
  row.busiest.kind = link_kind(busiest.at("kind").get<std::string>());
  busiest.at("utilisation").get_to(row.busiest.utilisation);
  busiest.at("bytes").get_to(row.busiest.bytes);
  for (const Json& phase : document.at("phases")) {
    row.phases.push_back({phase.at("name").get<std::string>(), phase.at("start_s").get<double>(),
                          phase.at("end_s").get<double>(), phase.at("work_s").get<double>()});
  }
  return row;
}

}  // namespace refit
