#include <nlohmann/json.hpp>

#include "report/size_words.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

const char* word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::sure:
      return "sure";
    case Verdict::likely:
      return "likely";
    case Verdict::unlikely:
      return "unlikely";
    case Verdict::no:
      return "no";
    case Verdict::impossible:
      return "impossible";
    case Verdict::unfit:
      return "unfit";
  }
  return "";
}

Json json_of(const SizeCandidate& candidate, double step_s) {
  const SweepRow& row = candidate.row;
  Json json{{"name", candidate.name}, {"verdict", word_of(candidate.verdict)}};
  if (candidate.nodes > 0) json["nodes"] = candidate.nodes;
  if (candidate.gpus > 0) json["gpus"] = candidate.gpus;
  if (candidate.cost) json["cost"] = *candidate.cost;
  json["strategy"] = row.strategy;
  if (row.outcome != PointOutcome::predicted) {
    json["reason"] = row.reason;
    return json;
  }
  json["bound_s"] = candidate.bound_s;
  json["prediction_s"] = row.prediction_s;
  if (row.low_s) json["low_s"] = *row.low_s;
  if (row.high_s) json["high_s"] = *row.high_s;
  json["share_of_step"] = row.prediction_s / step_s;
  json["busiest_link"] = row.busiest_link;
  json["waits_for"] = row.waits_for;
  if (!row.over.empty()) json["over"] = row.over;
  return json;
}

}  // namespace

std::string size_json(const SizeAnswer& answer) {
  Json candidates = Json::array();
  for (const SizeCandidate& candidate : answer.candidates)
    candidates.push_back(json_of(candidate, answer.step_s));
  Json front = Json::array();
  for (const std::size_t i : answer.front) front.push_back(answer.candidates[i].name);
  Json all{{"schema", "refit.size/1"},
           {"size", answer.name},
           {"step_s", answer.step_s},
           {"below", answer.below},
           {"at_most_s", answer.most_s()}};
  if (!answer.field.empty()) all["field"] = answer.field;
  all["sure"] = answer.sure ? Json(answer.candidates[*answer.sure].name) : Json();
  all["likely"] = answer.likely ? Json(answer.candidates[*answer.likely].name) : Json();
  all["candidates"] = std::move(candidates);
  if (answer.field.empty()) all["front"] = std::move(front);
  return all.dump(1) + "\n";
}

}  // namespace refit
