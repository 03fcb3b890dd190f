#include <nlohmann/json.hpp>

#include "report/sensitivity_words.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const SweepRow& row) {
  Json json{{"bound_s", row.bound_s}, {"prediction_s", row.prediction_s}};
  if (row.low_s) json["low_s"] = *row.low_s;
  if (row.high_s) json["high_s"] = *row.high_s;
  json["busiest_link"] = row.busiest_link;
  json["busiest_used"] = row.busiest_used;
  json["waits_for"] = row.waits_for;
  json["waits_s"] = row.waits_s;
  return json;
}

Json list_of(const std::vector<Sensitivity>& all) {
  Json list = Json::array();
  for (const Sensitivity& one : all) {
    Json what_ifs = Json::array();
    for (const WhatIf& what : one.what_ifs) {
      Json json{{"change", what.change}, {"fields", what.fields}};
      if (what.row.outcome == PointOutcome::predicted) {
        json["more_s"] = what.row.prediction_s - one.base.prediction_s;
        json.update(json_of(what.row));
      } else {
        json["left_out"] = what.row.reason;
      }
      what_ifs.push_back(std::move(json));
    }
    list.push_back({{"strategy", one.strategy},
                    {"as_it_is", json_of(one.base)},
                    {"what_ifs", std::move(what_ifs)}});
  }
  return list;
}

}  // namespace

std::string sensitivity_json(const std::vector<Sensitivity>& all) {
  return list_of(all).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string with_sensitivity(const std::string& simulation, const std::vector<Sensitivity>& all) {
  Json document = Json::parse(simulation);
  document["sensitivity"] = list_of(all);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace refit
