#include "report/memory_json.h"

#include <string>
#include <utility>

#include "report/json_number.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

// {"source shards": 8190000000, …}: what is there at all.
Json terms_json(const MemoryTerms& terms) {
  Json json = Json::object();
  for (std::size_t t = 0; t < kMemoryTerms; ++t) {
    if (terms[t] > 0) json[std::string(kMemoryTermWords[t])] = json_number(terms[t]);
  }
  return json;
}

MemoryTerms parse_terms(const Json& json) {
  MemoryTerms terms{};
  for (std::size_t t = 0; t < kMemoryTerms; ++t)
    terms[t] = json.value(std::string(kMemoryTermWords[t]), 0.0);
  return terms;
}

// Runs of ranks, both ends included: [[0, 7], [16, 23]].
Json ranks_json(const std::vector<Rank>& ranks) {
  Json runs = Json::array();
  for (const Rank rank : ranks) {
    if (runs.empty() || runs.back()[1].get<std::int32_t>() + 1 != rank.value) {
      runs.push_back({rank.value, rank.value});
    } else {
      runs.back()[1] = rank.value;
    }
  }
  return runs;
}

std::vector<Rank> parse_ranks(const Json& runs) {
  std::vector<Rank> ranks;
  for (const Json& run : runs) {
    for (std::int32_t r = run.at(0).get<std::int32_t>(); r <= run.at(1).get<std::int32_t>(); ++r)
      ranks.push_back(Rank(r));
  }
  return ranks;
}

// One list per term: shorter than one object per moment.
Json curve_json(const std::vector<MemoryTerms>& curve) {
  Json json = Json::object();
  for (std::size_t t = 0; t < kMemoryTerms; ++t) {
    Json values = Json::array();
    bool any = false;
    for (const MemoryTerms& terms : curve) {
      values.push_back(json_number(terms[t]));
      any = any || terms[t] > 0;
    }
    if (any) json[std::string(kMemoryTermWords[t])] = std::move(values);
  }
  return json;
}

std::vector<MemoryTerms> parse_curve(const Json& json) {
  std::vector<MemoryTerms> curve;
  for (std::size_t t = 0; t < kMemoryTerms; ++t) {
    const auto values = json.find(std::string(kMemoryTermWords[t]));
    if (values == json.end()) continue;
    curve.resize(values->size());
    for (std::size_t i = 0; i < values->size(); ++i) curve[i][t] = (*values)[i].get<double>();
  }
  return curve;
}

}  // namespace

Json memory_json(const MemoryByClass& memory) {
  Json classes = Json::array();
  for (const MemoryClass& c : memory.classes) {
    classes.push_back({{"ranks", ranks_json(c.ranks)},
                       {"fullest", c.fullest.value},
                       {"peak_bytes", json_number(c.peak.total())},
                       {"peak_s", json_number(c.peak.when_s)},
                       {"dominant", std::string(to_string(c.peak.dominant()))},
                       {"gpu_bytes", json_number(c.gpu_memory_bytes)},
                       {"bytes", terms_json(c.peak.bytes)},
                       {"curve", curve_json(c.curve)}});
  }
  return {{"step_s", json_number(memory.step_s)},
          {"classes", std::move(classes)},
          {"left_out", memory.left_out}};
}

MemoryByClass parse_memory(const Json& json) {
  MemoryByClass memory;
  memory.step_s = json.at("step_s").get<double>();
  memory.left_out = json.at("left_out").get<std::size_t>();
  for (const Json& c : json.at("classes")) {
    memory.classes.push_back(
        {parse_ranks(c.at("ranks")), Rank(c.at("fullest").get<int>()),
         RankMemoryUse{parse_terms(c.at("bytes")), c.at("peak_s").get<double>()},
         c.at("gpu_bytes").get<double>(), parse_curve(c.at("curve"))});
  }
  return memory;
}

}  // namespace refit
