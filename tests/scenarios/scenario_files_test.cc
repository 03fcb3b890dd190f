// The scenarios that come with the program, and paths from one file to another.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "scenarios/scenario.h"
#include "schedule/verify.h"

namespace refit::test {
namespace {

const std::string kRoot = REFIT_SOURCE_DIR;

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/" + folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("every small scenario is planned by every strategy, and every plan is proved",
          "[scenarios]") {
  const std::vector<std::string> files = files_in("scenarios/small");
  REQUIRE(files.size() >= 12);
  for (const std::string& file : files) {
    CAPTURE(file);
    const Scenario s = load_scenario(file);
    CHECK(s.path == file);
    CHECK(s.text == text_of(file));
    // One sentence: it ends with the only full stop that a blank or the end follows.
    REQUIRE_FALSE(s.description.empty());
    CHECK(s.description.find(". ") == std::string::npos);
    CHECK(s.description.back() == '.');
    std::vector<Policy> policies;
    for (const char* name : {"gather_broadcast", "direct", "reshard", "hybrid", "optimal"}) {
      policies.push_back(named_policy(name));
    }
    if (s.policy) policies.push_back(*s.policy);
    for (const Policy& policy : policies) {
      CAPTURE(policy.name);
      const Schedule schedule = plan(s.refit, s.cluster, policy, s.plan);
      const Diagnostics findings = verify(schedule, s.refit);
      INFO((findings.empty() ? "" : findings.front().where + ": " + findings.front().message));
      REQUIRE(findings.empty());
    }
  }
}

TEST_CASE("the small scenarios show each kind of machine, model and option once", "[scenarios]") {
  int own_policy = 0, tensors = 0, mixtures = 0, dense = 0, sites = 0, shared_nics = 0, leaves = 0;
  int fp8 = 0, mxfp4 = 0, casts = 0;
  int mamba = 0, one_domain = 0, both_sides = 0, chunks = 0, buffers = 0;
  for (const std::string& file : files_in("scenarios/small")) {
    const Scenario s = load_scenario(file);
    own_policy += s.policy ? 1 : 0;
    tensors += s.model ? 0 : 1;
    mixtures += s.model && s.model->experts > 0 ? 1 : 0;
    dense += s.model && s.model->experts == 0 ? 1 : 0;
    mamba += s.model && s.model->bytes(Role::linear_attention) > 0 ? 1 : 0;
    sites += s.cluster.sites() > 1 ? 1 : 0;
    const Format needed = s.edge.destination.precision.format;
    fp8 += needed == Format::fp8_blockwise ? 1 : 0;
    mxfp4 += needed == Format::mxfp4 ? 1 : 0;
    casts += needed == Format::bf16 ? 1 : 0;
    const NodeGroupSpec& group = s.cluster.spec().groups.front();
    shared_nics += group.nics_per_node < group.gpus_per_node ? 1 : 0;
    leaves += s.cluster.leaf_up(Rank(0)) ? 1 : 0;
    one_domain += s.cluster.domains() == 1 ? 1 : 0;
    const std::vector<Rank>& sources = s.refit.sources;
    both_sides += std::binary_search(sources.begin(), sources.end(), s.refit.destinations.front());
    chunks += s.plan.chunks != PlanOptions{}.chunks ? 1 : 0;
    buffers += s.plan.buffers != PlanOptions{}.buffers ? 1 : 0;
  }
  for (const int count : {own_policy, tensors, mixtures, dense, mamba, sites, shared_nics, leaves,
                          one_domain, both_sides, chunks, buffers, fp8, mxfp4, casts}) {
    CHECK(count > 0);
  }
}

TEST_CASE("every published scenario is read", "[scenarios]") {
  const std::vector<std::string> files = files_in("scenarios/published");
  REQUIRE(files.size() >= 7);
  for (const std::string& file : files) {
    CAPTURE(file);
    const Scenario s = load_scenario(file);
    CHECK_FALSE(s.description.empty());
    REQUIRE(s.model);
    CHECK(s.refit.unique_bytes() == s.model->bytes());
  }
}

TEST_CASE("paths are relative to the scenario's folder, not to where the program runs",
          "[scenarios]") {
  const std::string text =
      "scenario: s\n"
      "cluster: {catalog: dgx_h100, nodes: 1}\n"
      "model: ../../models/catalog/qwen3-8b.json\n"
      "training: {engine: megatron, gpus: 4}\n"
      "generation: {engine: vllm, gpus: 4}\n"
      "network_model: ../../sim/network_models/wire_only.yaml\n";
  const Scenario s = parse_scenario(text, kRoot + "/scenarios/small/not_there.yaml");
  CHECK(s.model->layers == 36);
  CHECK(s.network_model.name == "wire_only");
  const std::string absolute = kRoot + "/models/catalog/qwen3-8b.json";
  std::string with_absolute = text;
  with_absolute.replace(with_absolute.find("../../models/catalog/qwen3-8b.json"), 34, absolute);
  CHECK(parse_scenario(with_absolute, kRoot + "/scenarios/small/x.yaml").model->layers == 36);
}

TEST_CASE("every example of docs/scenario_format.md is read and planned", "[scenarios][docs]") {
  const std::string page = text_of(kRoot + "/docs/scenario_format.md");
  int examples = 0;
  for (std::size_t at = page.find("```yaml\nscenario:"); at != std::string::npos;
       at = page.find("```yaml\nscenario:", at + 1)) {
    const std::size_t begin = at + 8;
    const Scenario s = parse_scenario(page.substr(begin, page.find("```", begin) - begin),
                                      kRoot + "/docs/scenario_format.md");
    CAPTURE(s.name);
    const Policy policy = s.policy ? *s.policy : named_policy("hybrid");
    REQUIRE(verify(plan(s.refit, s.cluster, policy, s.plan), s.refit).empty());
    ++examples;
  }
  CHECK(examples == 2);
}

}  // namespace refit::test
