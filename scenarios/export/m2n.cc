#include "scenarios/export/m2n.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/yaml.h"
#include "scenarios/import/m2n_system.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;
using Shard = std::vector<IntervalSet>;

constexpr std::size_t kMostDims = 3;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::bad_input, "NCCL M2N's bench: " + why);
}

std::string dtype_word(Dtype dtype) {
  std::string word(to_string(dtype));
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

std::string model_json(const ModelSpec& model) {
  Json json = Json::object();
  for (const TensorSpec& tensor : model.tensors) {
    std::vector<std::int64_t> shape;
    for (std::size_t d = tensor.experts > 0 ? 1 : 0; d < tensor.dims.size(); ++d)
      shape.push_back(tensor.dims[d].size);
    const Json value = {{"shape", shape}, {"dtype", dtype_word(tensor.dtype)}};
    if (tensor.experts == 0) {
      json[tensor.name] = value;
      continue;
    }
    constexpr std::string_view kExpert = "{expert}";
    const std::size_t at = tensor.name.find(kExpert);
    if (at == std::string::npos)
      refuse(fmt::format("{}: its experts have no numbers in its name", tensor.name));
    for (int e = 0; e < tensor.experts; ++e)
      json[tensor.name.substr(0, at) + std::to_string(e) +
           tensor.name.substr(at + kExpert.size())] = value;
  }
  return json.dump(1) + "\n";
}

Json side_json(const SideFacts& side) {
  const int copies = side.gpus / std::max(1, side.pipeline * side.tensor * side.context);
  return {{"num_gpus", side.gpus},         {"tp_size", side.tensor},   {"cp_size", side.context},
          {"ep_size", side.expert},        {"pp_size", side.pipeline}, {"fsdp_size", 1},
          {"dp_size", std::max(1, copies)}};
}

std::string system_json(const Scenario& scenario) {
  const Json json = {{"train", side_json(*scenario.training)},
                     {"generation", side_json(*scenario.generation)}};
  return json.dump(2) + "\n";
}

// The name or path of the scenario's model, as seen from here.
std::string model_name(const Scenario& scenario) {
  const YamlNode root = YamlNode::parse_text(scenario.text, scenario.name);
  const YamlNode model = root.at("model");
  const std::string name = model.is_scalar() ? model.text() : model.at("name").text();
  if (name.find('/') == std::string::npos && !name.ends_with(".json")) return name;
  const std::filesystem::path path(name);
  if (path.is_absolute()) return name;
  return (std::filesystem::path(scenario.path).parent_path() / path).string();
}

Scenario read_back(const Scenario& scenario, const std::string& system) {
  ImportAnswers answers;
  answers.model = model_name(scenario);
  // The layouts do not ask which machines these are.
  answers.cluster_yaml =
      fmt::format("catalog: dgx_h100\nnodes: {}\n", (scenario.refit.ranks + 7) / 8);
  const std::string text = scenario_text(read_m2n_system(system, "system.json", answers), answers);
  return parse_scenario(text, "what the bench makes of it");
}

// What each rank holds of a member; its number among members is left out.
std::map<Rank, Shard> shards_by_rank(const Layout& layout) {
  std::map<Rank, Shard> shards;
  const std::vector<Rank> ranks = layout.mesh().ranks();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Shard shard = layout.shard(static_cast<int>(i));
    const bool holds = std::none_of(shard.begin(), shard.end(),
                                    [](const IntervalSet& set) { return set.empty(); });
    shard.erase(shard.begin());
    if (holds) shards[ranks[i]] = std::move(shard);
  }
  return shards;
}

std::map<std::int64_t, std::size_t> class_of_members(const Refit& refit) {
  std::map<std::int64_t, std::size_t> classes;
  for (std::size_t c = 0; c < refit.classes.size(); ++c)
    for (const std::int64_t member : refit.classes[c].members) classes[member] = c;
  return classes;
}

void require_same_layouts(const Scenario& scenario, const Scenario& back) {
  const auto ours = class_of_members(scenario.refit);
  const auto theirs = class_of_members(back.refit);
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const auto& [member, c] : ours) {
    const TensorClass& a = scenario.refit.classes[c];
    const auto other = theirs.find(member);
    if (other == theirs.end()) refuse(fmt::format("{}: is not sent there, and is here", a.name));
    if (!seen.insert({c, other->second}).second) continue;
    const TensorClass& b = back.refit.classes[other->second];
    if (a.dtype != b.dtype || a.conversions != b.conversions)
      refuse(
          fmt::format("{}: travels as {} or is converted here, and the bench sends it as the "
                      "model has it",
                      a.name, to_string(a.dtype)));
    if (shards_by_rank(a.source) != shards_by_rank(b.source))
      refuse(
          fmt::format("{}: lies on other training ranks, or in other parts, than the bench "
                      "would put it: training first, stages of layers x stages / all layers, "
                      "experts whole",
                      a.name));
    if (shards_by_rank(a.destination) != shards_by_rank(b.destination))
      refuse(
          fmt::format("{}: lies on other generation ranks, or in other parts, than the bench "
                      "would put it: behind training, cut by tp_size or experts by ep_size",
                      a.name));
  }
  if (theirs.size() != ours.size()) refuse("it would send tensors that stay here");
}

// One side of a call, or why there is none.
struct CallSide {
  Json json;
  std::string refused;
};

CallSide call_side(const TensorClass& tensor, const Layout& layout) {
  const std::map<Rank, Shard> shards = shards_by_rank(layout);
  const std::vector<std::int64_t> shape(tensor.shape().begin() + 1, tensor.shape().end());
  const auto refused = [](std::string why) { return CallSide{{}, std::move(why)}; };
  if (shape.empty() || shape.size() > kMostDims)
    return refused(fmt::format("{} dims, and a call takes 1 to {}", shape.size(), kMostDims));
  if (shards.empty()) return refused("nobody holds it");
  const std::int32_t first = shards.begin()->first.value;
  const auto ranks = static_cast<std::int64_t>(shards.size());
  if (shards.rbegin()->first.value - first + 1 != ranks)
    return refused("its ranks are not one run of ranks");
  std::vector<Shard> order;  // by rank
  std::vector<Shard> distinct;
  for (const auto& [rank, shard] : shards) {
    order.push_back(shard);
    if (std::find(distinct.begin(), distinct.end(), shard) == distinct.end())
      distinct.push_back(shard);
  }
  const auto parts = static_cast<std::int64_t>(distinct.size());
  int cut = -1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (std::int64_t k = 0; k < parts; ++k) {
      const IntervalSet& set = distinct[static_cast<std::size_t>(k)][d];
      if (set == IntervalSet(Interval{0, shape[d]})) continue;
      if (cut >= 0 && cut != static_cast<int>(d)) return refused("two dims are cut");
      cut = static_cast<int>(d);
      const std::int64_t size = shape[d] / parts;
      if (shape[d] % parts != 0 || set != IntervalSet(Interval{k * size, (k + 1) * size}))
        return refused("its parts are not equal runs of rows in the order of ranks");
    }
  }
  const std::int64_t copies = ranks / parts;
  const auto shard_of = [&](std::int64_t i) { return order[static_cast<std::size_t>(i)]; };
  bool copies_outside = parts * copies == ranks, copies_inside = copies_outside;
  for (std::int64_t i = 0; i < ranks && (copies_outside || copies_inside); ++i) {
    copies_outside = copies_outside && shard_of(i) == distinct[static_cast<std::size_t>(i % parts)];
    copies_inside =
        copies_inside &&
        shard_of(i) == distinct[static_cast<std::size_t>(std::min(parts - 1, i / copies))];
  }
  if (!copies_outside && !copies_inside)
    return refused("its copies are a mesh of more than two axes");
  std::vector<std::int64_t> local = shape;
  if (cut >= 0) local[static_cast<std::size_t>(cut)] /= parts;
  Json json = {{"start_rank", first}};
  if (parts == 1) {
    json["mesh"] = {ranks};
    json["placements"] = {-1};
  } else if (copies_outside) {
    json["mesh"] = {copies, parts};
    json["placements"] = {-1, cut};
  } else {
    json["mesh"] = {parts, copies};
    json["placements"] = {cut, -1};
  }
  json["local_shape"] = local;
  return {json, ""};
}

std::string calls_json(const Scenario& scenario, std::size_t& refused) {
  const auto classes = class_of_members(scenario.refit);
  std::vector<std::pair<CallSide, CallSide>> sides;
  for (const TensorClass& tensor : scenario.refit.classes)
    sides.emplace_back(call_side(tensor, tensor.source), call_side(tensor, tensor.destination));
  Json calls = Json::array();
  for (const auto& [member, c] : classes) {
    const auto& [source, destination] = sides[c];
    Json call = {{"tensor", scenario.model->tensors[static_cast<std::size_t>(member)].name},
                 {"dtype", dtype_word(scenario.refit.classes[c].dtype)}};
    if (source.refused.empty() && destination.refused.empty()) {
      call["source"] = source.json;
      call["destination"] = destination.json;
    } else {
      ++refused;
      call["refused"] = source.refused.empty() ? "destination: " + destination.refused
                                               : "source: " + source.refused;
    }
    calls.push_back(std::move(call));
  }
  const Json json = {{"schema", "refit.m2n_calls/1"},
                     {"scenario", scenario.name},
                     {"communicator_ranks", scenario.refit.ranks},
                     {"calls", std::move(calls)}};
  return json.dump(1) + "\n";
}

}  // namespace

M2nFiles m2n_files(const Scenario& scenario) {
  if (!scenario.model || !scenario.training || !scenario.generation)
    refuse(fmt::format("{}: has tensors that are written out; it needs a model and degrees",
                       scenario.name));
  M2nFiles files;
  files.model = model_json(*scenario.model);
  files.system = system_json(scenario);
  require_same_layouts(scenario, read_back(scenario, files.system));
  files.calls = calls_json(scenario, files.refused_calls);
  return files;
}

}  // namespace refit
