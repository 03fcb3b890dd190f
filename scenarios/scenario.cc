#include "scenarios/scenario.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text_file.h"
#include "base/yaml.h"
#include "models/import/model_file.h"
#include "scenarios/detail/read.h"
#include "scenarios/layout_error.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

// A path inside a scenario is relative to the scenario's file.
std::string beside(const std::string& scenario_path, const std::string& path) {
  if (std::filesystem::path(path).is_absolute()) return path;
  return (std::filesystem::path(scenario_path).parent_path() / path).string();
}

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json") ||
         text.ends_with(".yaml") || text.ends_with(".safetensors");
}

// The file that a key names; it must be there.
std::string file_of(const YamlNode& node, const std::string& scenario_path) {
  const std::string path = beside(scenario_path, node.text());
  std::error_code ignored;  // a path that can't be looked at is not there for us
  if (!std::filesystem::exists(path, ignored)) {
    try {
      node.fail(
          fmt::format("there is no file {}; paths are relative to the scenario's folder", path));
    } catch (const Error& error) {  // with place and key, but the code of all missing files
      throw Error(ErrorCode::environment, error.what());
    }
  }
  return path;
}

Cluster make_cluster(const YamlNode& node) {
  ClusterSpec spec = read_cluster(node);
  try {
    return Cluster(std::move(spec));
  } catch (const Error& error) {
    node.fail(error.what());
  }
}

// model: deepseek-v3, model: my/config.json, or a map with `name` and options.
ModelSpec read_model(const YamlNode& node, const std::string& scenario_path) {
  HfConfigOptions options;
  YamlNode name = node;
  if (node.is_map()) {
    node.allow_only({"name", "dtype", "mtp", "fp32_small_tensors"});
    name = node.at("name");
    if (const auto mtp = node.find("mtp")) options.mtp = mtp->boolean();
    if (const auto small = node.find("fp32_small_tensors")) {
      options.fp32_small_tensors = small->boolean();
    }
    if (const auto dtype = node.find("dtype")) {
      try {
        options.dtype = parse_dtype(dtype->text());
      } catch (const Error& error) {
        dtype->fail(error.what());
      }
    }
  }
  const std::string text = name.text();
  if (looks_like_path(text)) return load_model(file_of(name, scenario_path), options);
  try {
    return catalog_model(text, options);
  } catch (const Error& error) {
    name.fail(error.what());
  }
}

NetworkModel read_model_of_network(const YamlNode& node, const std::string& scenario_path) {
  if (node.is_map()) return read_network_model(node);
  const std::string text = node.text();
  if (looks_like_path(text))
    return read_network_model(YamlNode::parse_file(file_of(node, scenario_path)));
  try {
    return catalog_network_model(text);
  } catch (const Error& error) {
    node.fail(error.what());
  }
}

// Either `tensors`, or `model` with `training` and `generation`.
void read_refit(const YamlNode& root, const std::string& path, Scenario& scenario) {
  const int gpus = scenario.cluster.gpus();
  if (const auto tensors = root.find("tensors")) {
    for (const char* other : {"model", "training", "generation", "convert", "runtime"}) {
      if (const auto v = root.find(other)) {
        v->fail("a scenario has either `tensors`, or `model` with its two sides");
      }
    }
    scenario.refit = detail::read_tensors(*tensors, gpus);
    return;
  }
  if (!root.find("model"))
    root.fail("missing key 'model'; or write the layouts out under 'tensors'");
  scenario.model = read_model(root.at("model"), path);
  const YamlNode training_node = root.at("training");
  const YamlNode generation_node = root.at("generation");
  // Both sides are looked at, so that all that is wrong can be said at once.
  std::vector<std::string> findings;
  const auto read_side = [&](const YamlNode& node, int from) -> detail::EngineSide {
    try {
      return detail::read_engine(node, *scenario.model, {from, gpus});
    } catch (const LayoutError& error) {
      findings.insert(findings.end(), error.findings().begin(), error.findings().end());
      return {};
    }
  };
  const detail::EngineSide training = read_side(training_node, 0);
  const auto place = detail::read_place(training_node, {0, gpus});
  const detail::EngineSide generation = read_side(generation_node, place.first.value + place.gpus);
  if (!findings.empty()) throw LayoutError(std::move(findings));
  scenario.training = training.facts;
  scenario.generation = generation.facts;
  scenario.edge = {detail::read_stored_form(training_node, *scenario.model),
                   detail::read_stored_form(generation_node, *scenario.model),
                   detail::read_convert(root)};
  if (const auto convert = root.find("convert")) {
    if (!changes_precision(*scenario.model, scenario.edge)) {
      convert->fail("no tensor changes its precision between the two sides; leave this out");
    }
  }
  scenario.refit = detail::refit_of(*scenario.model, *training.layouts, training_node,
                                    *generation.layouts, generation_node, scenario.edge, gpus);
}

Scenario read(const YamlNode& root, std::string text, const std::string& path) {
  root.allow_only({"scenario", "description", "assumptions", "cluster", "model", "training",
                   "generation", "convert", "tensors", "plan", "network_model", "fault", "runtime",
                   "background", "stragglers", "delta"});
  Scenario scenario{root.at("scenario").text(),
                    path,
                    std::move(text),
                    {},
                    {},
                    make_cluster(root.at("cluster")),
                    std::nullopt,
                    {},
                    std::nullopt,
                    {},
                    catalog_network_model(catalog_network_models().front()),
                    std::nullopt,
                    {},
                    std::nullopt,
                    std::nullopt};
  if (const auto v = root.find("background"))
    scenario.cluster = detail::read_background(*v, std::move(scenario.cluster));
  if (const auto v = root.find("stragglers"))
    scenario.cluster = detail::read_stragglers(*v, std::move(scenario.cluster));
  if (const auto v = root.find("description")) scenario.description = v->text();
  if (const auto v = root.find("assumptions")) {
    for (const YamlNode& item : v->items()) scenario.assumptions.push_back(item.text());
  }
  if (const auto v = root.find("plan")) {
    detail::PlanPart part = detail::read_plan(*v);
    scenario.plan = part.options;
    scenario.policy = std::move(part.policy);
  }
  if (const auto v = root.find("network_model")) {
    scenario.network_model = read_model_of_network(*v, path);
  }
  if (const auto v = root.find("runtime")) scenario.runtime = detail::read_runtime(*v);
  if (const auto v = root.find("fault")) scenario.fault = detail::read_fault(*v, scenario.cluster);
  read_refit(root, path, scenario);
  scenario.refit.ranks = scenario.cluster.ranks();  // no layout names a store, but plans may
  if (const auto v = root.find("delta"))
    scenario.plan.delta = detail::read_delta(*v, scenario.refit, scenario.model);
  detail::check_buckets(root, scenario.plan, scenario.refit);
  return scenario;
}

}  // namespace

Scenario load_scenario(const std::string& path) {
  return parse_scenario(read_text_file(path, std::size_t{16} << 20), path);
}

Scenario parse_scenario(const std::string& text, const std::string& name) {
  return read(YamlNode::parse_text(text, name), text, name);
}

}  // namespace refit
