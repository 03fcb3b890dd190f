#include <nlohmann/json.hpp>

#include "report/html.h"
#include "report/json.h"
#include "report/json_number.h"
#include "report/sensitivity_words.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json maps_json(const ShardMaps& maps) {
  return {{"layers", maps.layers}, {"experts", maps.experts}, {"part", maps.part}};
}

Json layouts_json(const LayoutPicture& picture) {
  Json maps = Json::array();
  for (const ShardMap& map : picture.maps)
    maps.push_back({{"labels", map.labels}, {"label_of_rank", map.label_of_rank}});
  Json kinds = Json::array();
  for (const TensorKind& kind : picture.kinds)
    kinds.push_back({{"name", kind.name},
                     {"role", to_string(kind.role)},
                     {"shape", kind.shape},
                     {"bytes", kind.bytes},
                     {"source", maps_json(kind.source)},
                     {"destination", maps_json(kind.destination)}});
  return {{"maps", std::move(maps)}, {"kinds", std::move(kinds)}, {"left_out", picture.left_out}};
}

// Ranks in ascending order as runs, both ends included.
Json runs_json(const std::vector<Rank>& ranks) {
  Json runs = Json::array();
  for (const Rank rank : ranks) {
    if (!runs.empty() && runs.back()[1].get<int>() + 1 == rank.value) {
      runs.back()[1] = rank.value;
    } else {
      runs.push_back({rank.value, rank.value});
    }
  }
  return runs;
}

// A domain is [first rank, ranks, node of the first].
Json machines_json(const Refit& refit, const Cluster& cluster) {
  Json domains = Json::array();
  for (int d = 0; d < cluster.domains(); ++d) {
    const auto ranks = cluster.domain_ranks(DomainId(d));
    domains.push_back({ranks.front().value, ranks.size(), cluster.node(ranks.front()).value});
  }
  return {{"ranks", refit.ranks},
          {"gpus", cluster.gpus()},
          {"nodes", cluster.nodes()},
          {"gpus_per_node", cluster.spec().groups.front().gpus_per_node},
          {"sources", runs_json(refit.sources)},
          {"destinations", runs_json(refit.destinations)},
          {"domains", std::move(domains)}};
}

Json roles_json(const std::vector<RoleBytes>& roles) {
  Json rows = Json::array();
  for (const RoleBytes& role : roles)
    rows.push_back({{"role", to_string(role.role)},
                    {"tensors", role.tensors},
                    {"unique_bytes", role.unique_bytes},
                    {"source_bytes", role.source_bytes},
                    {"destination_bytes", role.destination_bytes}});
  return rows;
}

Json checks_json(const std::vector<CheckResult>& checks) {
  Json rows = Json::array();
  for (const CheckResult& check : checks)
    rows.push_back({{"subject", check.subject},
                    {"fine", check.fine},
                    {"findings", check.findings},
                    {"note", check.note}});
  return rows;
}

Json provenance_json(const std::vector<Provenance>& provenance) {
  Json rows = Json::array();
  for (const Provenance& p : provenance)
    rows.push_back({{"subject", p.subject},
                    {"name", p.name},
                    {"meaning", p.meaning},
                    {"value", p.value},
                    {"source", p.source}});
  return rows;
}

Json sensitivities_json(const std::vector<std::vector<ConstantChange>>& by_row) {
  Json all = Json::array();
  for (const std::vector<ConstantChange>& row : by_row) {
    Json list = Json::array();
    for (const ConstantChange& s : row)
      list.push_back(
          {{"constant", s.constant}, {"change", s.change}, {"delta_s", json_number(s.delta_s)}});
    all.push_back(std::move(list));
  }
  return all;
}

}  // namespace

std::string html_data(const HtmlReport& report, const Refit& refit, const Cluster& cluster) {
  const Json document = {{"schema", "refit.page/1"},
                         {"version", report.version},
                         {"shown", report.shown},
                         {"question", report.question},
                         {"machines", machines_json(refit, cluster)},
                         {"layouts", layouts_json(report.layouts)},
                         {"roles", roles_json(report.roles)},
                         {"checks", checks_json(report.checks)},
                         {"sensitivities", sensitivities_json(report.sensitivities)},
                         {"provenance", provenance_json(report.provenance)},
                         {"scenario_text", report.scenario_text},
                         {"of_plan", report.of_plan},
                         {"commands", report.commands}};
  std::string text = dump(document);
  text.pop_back();
  // These are JSON already: what `simulate --json` prints, and what workers wrote.
  std::string prediction = simulation_json(report.simulation);
  prediction.pop_back();
  text += ",\"what_ifs\":" + sensitivity_json(report.what_ifs);
  text += ",\"prediction\":" + prediction + ",\"plans\":[";
  for (std::size_t i = 0; i < report.plan_pictures.size(); ++i)
    text += (i == 0 ? "" : ",") + report.plan_pictures[i];
  return text + "]}";
}

}  // namespace refit
