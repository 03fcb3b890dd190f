#include "report/json.h"

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "report/json_number.h"
#include "report/memory_json.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

Json fault_json(const FaultPrediction& fault) {
  Json dropped = Json::array();
  for (const Rank rank : fault.dropped) dropped.push_back(rank.value);
  return {{"completed", fault.completed},
          {"undisturbed_s", json_number(fault.undisturbed_s)},
          {"fault_s", json_number(fault.fault_s)},
          {"detected_s", json_number(fault.detected_s)},
          {"predicted_s", json_number(fault.makespan_s)},
          {"recovered_bytes", fault.recovered_bytes},
          {"dropped_ranks", std::move(dropped)},
          {"unserved_tensors", fault.unserved}};
}

Json conversions_json(const std::vector<ConversionTotal>& totals) {
  Json list = Json::array();
  for (const ConversionTotal& total : totals) {
    list.push_back({{"op", to_string(total.op)},
                    {"side", to_string(total.side)},
                    {"words", total.words},
                    {"tensors", total.tensors},
                    {"read_bytes", total.read_bytes},
                    {"written_bytes", total.written_bytes}});
  }
  return list;
}

FaultPrediction parse_fault(const Json& json) {
  FaultPrediction fault;
  json.at("completed").get_to(fault.completed);
  json.at("undisturbed_s").get_to(fault.undisturbed_s);
  json.at("fault_s").get_to(fault.fault_s);
  json.at("detected_s").get_to(fault.detected_s);
  json.at("predicted_s").get_to(fault.makespan_s);
  json.at("recovered_bytes").get_to(fault.recovered_bytes);
  for (const Json& rank : json.at("dropped_ranks")) fault.dropped.push_back(Rank(rank.get<int>()));
  json.at("unserved_tensors").get_to(fault.unserved);
  return fault;
}

Json certificate_json(const Certificate& certificate) {
  const std::optional<double> ratio = certificate.ratio();
  return {{"plan", certificate.plan},
          {"wire_s", json_number(certificate.wire_s)},
          {"ratio", ratio ? json_number(*ratio) : Json()},
          {"latency_dominates", certificate.latency_dominates()},
          {"latency_s", json_number(certificate.latency_s)},
          {"levels", certificate.levels},
          {"chunk_bytes", certificate.chunk_bytes},
          {"relay_depth", certificate.relay_depth},
          {"fill_s", json_number(certificate.fill_s)}};
}

// `row` has the bounds, `ratio` and `latency_dominates` follow from the rest.
Certificate parse_certificate(const Json& row) {
  Certificate certificate;
  row.at("bound_s").get_to(certificate.bound_s);
  row.at("bound_by").get_to(certificate.bound_by);
  if (!row.at("no_relay_bound_s").is_null())
    certificate.no_relay_bound_s = row.at("no_relay_bound_s").get<double>();
  const Json& json = row.at("certificate");
  json.at("plan").get_to(certificate.plan);
  json.at("wire_s").get_to(certificate.wire_s);
  json.at("latency_s").get_to(certificate.latency_s);
  json.at("levels").get_to(certificate.levels);
  json.at("chunk_bytes").get_to(certificate.chunk_bytes);
  json.at("relay_depth").get_to(certificate.relay_depth);
  json.at("fill_s").get_to(certificate.fill_s);
  return certificate;
}

Json limits_json(const LimitUse& use) {
  return {{"extra_memory_bytes", json_number(use.extra_memory_bytes)},
          {"ops", use.ops},
          {"communicators", use.communicators},
          {"peers", use.peers},
          {"price_s", use.price_s ? json_number(*use.price_s) : Json()},
          {"exceeded", use.exceeded}};
}

LimitUse parse_limit_use(const Json& json) {
  LimitUse use;
  json.at("extra_memory_bytes").get_to(use.extra_memory_bytes);
  json.at("ops").get_to(use.ops);
  json.at("communicators").get_to(use.communicators);
  json.at("peers").get_to(use.peers);
  if (!json.at("price_s").is_null()) use.price_s = json.at("price_s").get<double>();
  json.at("exceeded").get_to(use.exceeded);
  return use;
}

Json reductions_json(const StrategyResult& row) {
  const ReductionReport& report = row.reductions;
  return {{"solver", row.solver},
          {"tasks", report.tasks},
          {"links", report.links},
          {"slack_links", report.slack_links},
          {"simulated_tasks", report.simulated_tasks},
          {"simulated_links", report.simulated_links},
          {"merged", report.merge ? Json(report.merged) : Json()}};
}

ReductionReport parse_reductions(const Json& json) {
  ReductionReport report;
  json.at("tasks").get_to(report.tasks);
  json.at("links").get_to(report.links);
  json.at("slack_links").get_to(report.slack_links);
  json.at("simulated_tasks").get_to(report.simulated_tasks);
  json.at("simulated_links").get_to(report.simulated_links);
  report.merge = !json.at("merged").is_null();
  if (report.merge) json.at("merged").get_to(report.merged);
  return report;
}

Json ensemble_json(const Ensemble& ensemble) {
  return {{"members", ensemble.members},
          {"mean_s", json_number(ensemble.mean_s)},
          {"least_s", json_number(ensemble.least_s)},
          {"median_s", json_number(ensemble.median_s)},
          {"most_s", json_number(ensemble.most_s)}};
}

Ensemble parse_ensemble(const Json& json) {
  return {json.at("least_s").get<double>(), json.at("median_s").get<double>(),
          json.at("most_s").get<double>(), json.at("mean_s").get<double>(),
          json.at("members").get<int>()};
}

Json seconds_json(const StrategyResult& row) {
  Json seconds = Json::object();
  for (const auto& [name, value] : row.seconds_by_constant) seconds[name] = json_number(value);
  return seconds;
}

Json row_json(const StrategyResult& row) {
  Json phases = Json::array();
  for (const PhaseTime& phase : row.phases) {
    phases.push_back({{"name", phase.name},
                      {"start_s", json_number(phase.start_s)},
                      {"end_s", json_number(phase.end_s)},
                      {"work_s", json_number(phase.work_s)}});
  }
  const std::optional<double>& no_relay_bound_s = row.certificate.no_relay_bound_s;
  Json json = {{"strategy", row.strategy},
               {"ops", row.ops},
               {"unique_bytes", row.unique_bytes},
               {"payload_bytes", row.payload_bytes},
               {"logical_bytes", row.logical_bytes},
               {"network_bytes", json_number(row.network_bytes)},
               {"network_copies", json_number(row.copies)},
               {"nvlink_bytes", json_number(row.nvlink_bytes)},
               {"bound_s", json_number(row.certificate.bound_s)},
               {"bound_by", row.certificate.bound_by},
               {"no_relay_bound_s", no_relay_bound_s ? json_number(*no_relay_bound_s) : Json()},
               {"predicted_s", json_number(row.predicted_s)},
               {"busiest",
                {{"name", row.busiest.name},
                 {"kind", to_string(row.busiest.kind)},
                 {"utilisation", json_number(row.busiest.utilisation)},
                 {"bytes", json_number(row.busiest.bytes)}}},
               {"phases", std::move(phases)},
               {"certificate", certificate_json(row.certificate)}};
  if (!row.seconds_by_constant.empty()) json["seconds_by_constant"] = seconds_json(row);
  if (!row.coded.empty()) json["coded"] = row.coded;
  if (row.low_s) json["low_s"] = json_number(*row.low_s);
  if (row.high_s) json["high_s"] = json_number(*row.high_s);
  json["first_refit"] = {{"communicators", row.first_use.communicators},
                         {"registered_bytes", json_number(row.first_use.registered_bytes)},
                         {"more_s", json_number(row.first_use.seconds)}};
  json["memory"] = {{"rank", row.memory_rank.value},
                    {"peak_bytes", json_number(row.memory_bytes)},
                    {"dominant", row.memory_dominant},
                    {"dominant_bytes", json_number(row.memory_dominant_bytes)},
                    {"gpu_bytes", json_number(row.gpu_memory_bytes)},
                    {"first_rank_over", row.memory_over ? Json(row.memory_over->value) : Json()}};
  if (row.memory_by_class) json["memory"]["by_class"] = memory_json(*row.memory_by_class);
  json["simulated"] = reductions_json(row);
  if (row.limits) json["limits"] = limits_json(*row.limits);
  if (row.ensemble) json["ensemble"] = ensemble_json(*row.ensemble);
  if (row.fault) json["fault"] = fault_json(*row.fault);
  return json;
}

LinkKind link_kind(const std::string& word) {
  for (const LinkKind kind :
       {LinkKind::nvlink, LinkKind::pcie, LinkKind::nic, LinkKind::fabric, LinkKind::wan,
        LinkKind::store}) {
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
  Json document = {{"schema", "refit.prediction/1"},
                   {"scenario", report.scenario},
                   {"model", report.model},
                   {"cluster", report.cluster},
                   {"assumptions", report.assumptions},
                   {"network_model", first.network_model},
                   {"solver", first.solver},
                   {"strategies", std::move(rows)}};
  if (report.chosen) {
    document["chosen"] = {{"strategy", report.chosen->strategy}, {"reason", report.chosen->reason}};
  }
  if (!report.fault.empty()) document["fault"] = report.fault;
  if (!report.conversions.empty()) document["conversions"] = conversions_json(report.conversions);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json_text(const StrategyResult& row) {
  Json document = row_json(row);
  document["network_model"] = row.network_model;
  document["solver"] = row.solver;
  document["solver_reason"] = row.solver_reason;
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
  row.coded = document.value("coded", "");
  row.certificate = parse_certificate(document);
  document.at("predicted_s").get_to(row.predicted_s);
  if (document.contains("low_s")) row.low_s = document.at("low_s").get<double>();
  if (document.contains("high_s")) row.high_s = document.at("high_s").get<double>();
  if (document.contains("seconds_by_constant")) {
    for (const auto& [name, seconds] : document.at("seconds_by_constant").items())
      row.seconds_by_constant.emplace_back(name, seconds.get<double>());
  }
  const Json& first = document.at("first_refit");
  first.at("communicators").get_to(row.first_use.communicators);
  first.at("registered_bytes").get_to(row.first_use.registered_bytes);
  first.at("more_s").get_to(row.first_use.seconds);
  document.at("network_model").get_to(row.network_model);
  document.at("solver").get_to(row.solver);
  document.at("solver_reason").get_to(row.solver_reason);
  row.reductions = parse_reductions(document.at("simulated"));
  const Json& busiest = document.at("busiest");
  busiest.at("name").get_to(row.busiest.name);
  row.busiest.kind = link_kind(busiest.at("kind").get<std::string>());
  busiest.at("utilisation").get_to(row.busiest.utilisation);
  busiest.at("bytes").get_to(row.busiest.bytes);
  for (const Json& phase : document.at("phases")) {
    row.phases.push_back({phase.at("name").get<std::string>(), phase.at("start_s").get<double>(),
                          phase.at("end_s").get<double>(), phase.at("work_s").get<double>()});
  }
  const Json& memory = document.at("memory");
  row.memory_rank = Rank(memory.at("rank").get<int>());
  memory.at("peak_bytes").get_to(row.memory_bytes);
  memory.at("dominant").get_to(row.memory_dominant);
  memory.at("dominant_bytes").get_to(row.memory_dominant_bytes);
  memory.at("gpu_bytes").get_to(row.gpu_memory_bytes);
  if (!memory.at("first_rank_over").is_null())
    row.memory_over = Rank(memory.at("first_rank_over").get<int>());
  if (memory.contains("by_class")) row.memory_by_class = parse_memory(memory.at("by_class"));
  if (document.contains("limits")) row.limits = parse_limit_use(document.at("limits"));
  if (document.contains("ensemble")) row.ensemble = parse_ensemble(document.at("ensemble"));
  if (document.contains("fault")) row.fault = parse_fault(document.at("fault"));
  return row;
}

}  // namespace refit
