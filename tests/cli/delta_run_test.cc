#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

// Two trainers, two copies of an engine of two ranks on another node.
constexpr const char* kChanges = R"(scenario: changes
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: w
    shape: [256, 96]
    dtype: bf16
    source: {ranks: 0..1, placements: [shard(0)]}
    destination: {ranks: 8..11, mesh: {copy: 2, column: 2}, placements: [replicate, shard(1)]}
delta: {change: 1 %, codec: rice}
)";

TEST_CASE("run goes through versions of a plan that sends changes", "[cli][run]") {
  const Folder folder;
  const std::string scenario = folder.write("changes.yaml", kChanges);
  for (const char* transport : {"inproc", "tcp"}) {
    CAPTURE(transport);
    const Outcome outcome =
        refit_program({"run", scenario, "--strategy", "delta_reshard", "--versions", "3", "-w", "0",
                       "--transport", transport, "--json"});
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto run = nlohmann::json::parse(outcome.out);
    CHECK(run.at("wrong_bytes") == 0);
    CHECK(run.at("iterations").size() == 3);
    const auto& facts = run.at("environment");
    CHECK(has(facts.at("versions").get<std::string>(), "1 to 3, after anchor 0 ("));
    // The anchor and three versions of one tensor.
    CHECK(facts.at("fingerprints") == "4 of 4 tensors of all versions equal on both sides");
    CHECK(has(facts.at("bytes per change").get<std::string>(), "size model (rice, long segments)"));
    CHECK(facts.contains("scan and code"));
    CHECK(facts.contains("times"));
  }
}

TEST_CASE("run goes on with versions under another layout", "[cli][run]") {
  // The engine comes back with rows instead of columns, in one copy instead of two.
  std::string other = kChanges;
  const std::string old = "mesh: {copy: 2, column: 2}, placements: [replicate, shard(1)]";
  other.replace(other.find(old), old.size(), "mesh: {row: 4}, placements: [shard(0)]");
  const Folder folder;
  const std::pair<std::string, std::string> parts[] = {{folder.write("before.yaml", kChanges), "0"},
                                                       {folder.write("after.yaml", other), "10"}};
  for (const auto& [scenario, first] : parts) {
    const Outcome outcome = refit_program({"run", scenario, "--strategy", "delta_reshard", "-n",
                                           "10", "-w", "0", "--first-version", first, "--json"});
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto run = nlohmann::json::parse(outcome.out);
    CHECK(run.at("wrong_bytes") == 0);
    const auto& facts = run.at("environment");
    CHECK(has(facts.at("versions").get<std::string>(),
              first == "0" ? "1 to 10, after anchor 0 (" : "11 to 20, after anchor 10 ("));
    CHECK(facts.at("fingerprints") == "11 of 11 tensors of all versions equal on both sides");
  }
}

TEST_CASE("run says what versions can't be", "[cli][run]") {
  const Folder folder;
  const std::string scenario = folder.write("changes.yaml", kChanges);
  const auto says = [&](std::vector<std::string> arguments, const char* what, int code = 2) {
    std::vector<std::string> all{"run", scenario, "-n", "1"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = refit_program(all);
    CAPTURE(outcome.err, what);
    CHECK(outcome.code == code);
    CHECK(has(outcome.err, what));
  };
  says({"--strategy", "reshard", "--store", "http://h/b"}, "reshard sends whole weights");
  says({"--strategy", "reshard", "--first-version", "3"}, "only changes have versions");
  says({"--strategy", "delta_reshard", "--store", "h/b"}, "expected http://HOST[:PORT]/BUCKET");
  says({"--strategy", "delta_reshard", "--on-fault", "shrink"}, "leave --on-fault");
  says({"--strategy", "delta_reshard", "--transport", "tcp", "--lab", "--store", "http://h/b"},
       "nothing goes over the lab's links");
  // Nobody listens there.
  says({"--strategy", "delta_reshard", "--store", "http://127.0.0.1:9/b"}, "127.0.0.1:9/b", 3);
}

}  // namespace
}  // namespace refit
