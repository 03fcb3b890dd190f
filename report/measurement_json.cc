#include "report/measurement_json.h"

#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

std::string compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double number(double value) {
  REFIT_CHECK(std::isfinite(value));
  return value;
}

Json span_json(const Span& span) {
  return {{"start_s", number(span.start_s)}, {"end_s", number(span.end_s)}};
}

Json phases_json(const RunReport& report) {
  Json phases = Json::array();
  for (const RunPhase& phase : report.phases) {
    phases.push_back({{"name", phase.name},
                      {"largest_rank_bytes", phase.largest_rank_bytes},
                      {"measured", span_json(phase.measured)},
                      {"predicted", phase.predicted ? span_json(*phase.predicted) : Json()}});
  }
  return phases;
}

Json iterations_json(const RunReport& report) {
  Json iterations = Json::array();
  for (const Iteration& iteration : report.measurement.iterations) {
    iterations.push_back({{"seconds", number(iteration.seconds)},
                          {"slowest_rank", iteration.slowest.value},
                          {"wrong_bytes", report.checked ? Json(iteration.wrong_bytes) : Json()}});
  }
  return iterations;
}

Json examples_json(const Measurement& measurement) {
  Json examples = Json::array();
  for (const WrongByte& wrong : measurement.wrong_examples) {
    examples.push_back(
        {{"rank", wrong.rank.value}, {"tensor", wrong.tensor}, {"element", wrong.element}});
  }
  return examples;
}

Json fault_json(const FaultRecord& fault) {
  Json dropped = Json::array();
  for (const Rank rank : fault.dropped) dropped.push_back(rank.value);
  return {{"lost_rank", fault.lost.value},
          {"reason", fault.reason},
          {"policy", to_string(fault.policy)},
          {"detected_s", number(fault.detected_s)},
          {"reconnected_s", number(fault.reconnected_s)},
          {"recovered_bytes", fault.recovered_bytes},
          {"dropped_ranks", std::move(dropped)}};
}

Json ops_json(const Timeline& timeline) {
  Json starts = Json::array();
  Json ends = Json::array();
  for (const Span& span : timeline) {
    starts.push_back(number(span.start_s));
    ends.push_back(number(span.end_s));
  }
  return {{"start_s", std::move(starts)}, {"end_s", std::move(ends)}};
}

Json environment_json(const Measurement& measurement) {
  Json environment = Json::object();
  for (const auto& [name, value] : measurement.environment) environment[name] = value;
  return environment;
}

Json document(const RunReport& report) {
  const Measurement& measurement = report.measurement;
  const double median_s = number(measurement.median_s());
  const bool has_ratio = report.predicted_s && *report.predicted_s > 0;
  Json json;
  json["schema"] = "refit.measurement/1";
  json["scenario"] = report.scenario;
  json["strategy"] = report.strategy;
  json["transport"] = measurement.transport;
  json["ranks"] = measurement.ranks;
  json["scale"] = Json();
  if (report.scale) {
    json["scale"] = {{"factor", number(report.scale->factor)},
                     {"byte_factor", number(report.scale->byte_factor)}};
  }
  json["seed"] = report.seed;
  json["warmup"] = report.warmup;
  json["largest_rank_bytes"] = measurement.largest_rank_bytes;
  json["measured_s"] = {{"min", number(measurement.minimum_s())},
                        {"median", median_s},
                        {"max", number(measurement.maximum_s())}};
  json["predicted_s"] = report.predicted_s ? Json(number(*report.predicted_s)) : Json();
  json["ratio"] = has_ratio ? Json(number(median_s / *report.predicted_s)) : Json();
  json["wrong_bytes"] = report.checked ? Json(measurement.wrong_bytes) : Json();
  json["wrong_examples"] = examples_json(measurement);
  json["graded"] = report.not_graded.empty();
  if (!report.not_graded.empty()) json["reason"] = report.not_graded;
  if (measurement.fault) json["fault"] = fault_json(*measurement.fault);
  json["environment"] = environment_json(measurement);
  json["cpu_s"] = number(measurement.cpu_s);
  json["phases"] = phases_json(report);
  json["iterations"] = iterations_json(report);
  json["ops"] = ops_json(measurement.timeline);
  return json;
}

}  // namespace

void write_measurement(std::ostream& out, const RunReport& report) {
  const Json json = document(report);
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    out << (first ? "{" : ",\n") << compact(Json(key)) << ": " << compact(value);
    first = false;
  }
  out << "}\n";
}

}  // namespace refit
