#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

// 64 kB instead of 64 MB: dim 1 of w, which nobody cuts, has 8 of 8000 columns left.
constexpr const char* kSmall = "1/1000";

// Two replicas of a tensor, cut over two ranks of another node.
constexpr const char* kLost = R"(scenario: lost
cluster: {catalog: dgx_h100, nodes: 2}
tensors:
  - name: w
    shape: [2048, 2048]
    dtype: bf16
    source: {ranks: 0..1, placements: [replicate]}
    destination: {ranks: 8..9, placements: [shard(0)]}
)";

nlohmann::json measured(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"run", "--json", "--scale", kSmall};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const Outcome outcome = refit_program(all);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(outcome.err.empty());
  return nlohmann::json::parse(outcome.out);
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += has(line, part) ? 1 : 0;
  return count;
}

TEST_CASE("run moves every byte of every strategy in this process", "[cli][run]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid", "optimal"}) {
    CAPTURE(strategy);
    const nlohmann::json run = measured({scenario, "--strategy", strategy, "-n", "3", "-w", "0"});
    CHECK(run.at("schema") == "refit.measurement/1");
    CHECK(run.at("scenario") == "four_pairs");
    CHECK(run.at("strategy") == strategy);
    CHECK(run.at("transport") == "inproc");
    CHECK(run.at("ranks") == 8);
    CHECK(run.at("wrong_bytes") == 0);
    CHECK(run.at("iterations").size() == 3);
    CHECK(run.at("scale").at("byte_factor") == 0.001);
    CHECK(run["measured_s"]["min"] <= run["measured_s"]["median"]);
    CHECK(run["measured_s"]["median"] <= run["measured_s"]["max"]);
  }
}

TEST_CASE("a run in this process has no prediction and is not graded", "[cli][run]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const nlohmann::json run = measured({scenario});
  CHECK(run.at("predicted_s").is_null());
  CHECK(run.at("ratio").is_null());
  CHECK(run.at("graded") == false);
  CHECK(has(run.at("reason"), "inproc has no network"));
}

TEST_CASE("run moves every byte between processes, too", "[cli][run][tcp]") {
  const Folder folder;
  const nlohmann::json run =
      measured({folder.write("four.yaml", kScenario), "--transport", "tcp", "-n", "2"});
  CHECK(run.at("transport") == "tcp");
  CHECK(run.at("wrong_bytes") == 0);
  CHECK(run.at("predicted_s").is_null());
  CHECK(has(run.at("reason"), "the loopback has none of the cluster's links"));
}

TEST_CASE("the table has a row per phase and one in total, all else behind #", "[cli][run]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Outcome outcome =
      refit_program({"run", scenario, "--strategy", "gather_broadcast", "--scale", kSmall});
  REQUIRE(outcome.code == 0);
  CAPTURE(outcome.out);
  std::istringstream lines(outcome.out);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#")) rows.push_back(line);
  }
  REQUIRE(rows.size() == 3);
  CHECK(has(rows[0], "  gather "));
  CHECK(has(rows[1], "  broadcast "));
  CHECK(has(rows[2], "  total "));
  CHECK(has(outcome.out, "# scale 1/1000: "));
  CHECK(has(outcome.out, "# pred: none; there is no network to predict\n"));
}

TEST_CASE("sizes are the most that one rank sends or receives", "[cli][run]") {
  const Folder folder;
  // Each of the destination GPUs takes 32 MB; each of the 4 sources sends half of a copy to one of
  // them: nobody moves more.
  const nlohmann::json run =
      measured({folder.write("four.yaml", kScenario), "--strategy", "direct"});
  CHECK(run.at("largest_rank_bytes") == 32'000);
  REQUIRE(run.at("phases").size() == 1);
  CHECK(run["phases"][0].at("largest_rank_bytes") == 32'000);
}

TEST_CASE("without checking, wrong bytes are not known", "[cli][run]") {
  const Folder folder;
  const nlohmann::json run = measured({folder.write("four.yaml", kScenario), "-c", "0"});
  CHECK(run.at("wrong_bytes").is_null());
}

TEST_CASE("a saved plan runs and is compared with its own run only", "[cli][run][compare]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const std::string plan = folder / "plan.json";
  const std::string run = folder / "run.json";
  REQUIRE(refit_program({"plan", scenario, "--strategy", "reshard", "-o", plan}).code == 0);
  REQUIRE(refit_program({"run", plan, "--scale", kSmall, "--json", "-o", run}).code == 0);
  const Outcome outcome = refit_program({"compare", plan, run});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  // Wire-only: one leader of each domain takes 32 kB at 10 MB/s, and hands the last of 8 chunks on
  // at 100 MB/s: 3.2 + 0.04 ms.
  CHECK(has(outcome.out, "prediction   3.24 ms"));
  CHECK(has(outcome.out, "not graded   inproc has no network"));
  CHECK(lines_with(outcome.out, "reshard  network") == 1);
  CHECK(lines_with(outcome.out, "reshard  nvlink") == 1);
  CHECK(lines_with(outcome.out, "transfer ") == 3);

  // The scenario's run is op for op the plan's.
  const std::string same = folder / "same.json";
  REQUIRE(refit_program(
              {"run", scenario, "--strategy", "reshard", "--json", "-o", same, "--scale", kSmall})
              .code == 0);
  CHECK(refit_program({"compare", plan, same}).code == 0);

  REQUIRE(refit_program(
              {"run", scenario, "--strategy", "direct", "--json", "-o", same, "--scale", kSmall})
              .code == 0);
  const Outcome other = refit_program({"compare", plan, same});
  CHECK(other.code == 2);
  CHECK(has(other.err, "strategy direct, where the plan has reshard"));
  const Outcome no_plan = refit_program({"compare", scenario, run});
  CHECK(no_plan.code == 2);
  CHECK(has(no_plan.err, "is a scenario; compare needs the plan that was run"));
  CHECK(refit_program({"compare", plan, plan}).code == 2);
}

TEST_CASE("a dry run prints what each rank would post and moves nothing", "[cli][run]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Outcome outcome = refit_program({"run", scenario, "--dry-run", "--strategy", "direct"});
  REQUIRE(outcome.code == 0);
  CAPTURE(outcome.out);
  CHECK(lines_with(outcome.out, "rank ") >= 8);
  CHECK(has(outcome.out, "rank 0: "));
  CHECK(has(outcome.out, "rank 7: 0 to send (0 B), 1 to receive (32.00 MB)\n"));
  CHECK(lines_with(outcome.out, ": send 32.00 MB to ") == 4);
  CHECK(lines_with(outcome.out, ": receive 32.00 MB from ") == 4);
  CHECK(refit_program({"run", scenario, "--dry-run"}).out ==
        refit_program({"run", scenario, "--dry-run"}).out);
}

TEST_CASE("a dry run is cut after 20 messages of a rank unless all are asked for", "[cli][run]") {
  const Folder folder;
  const std::string scenario =
      folder.write("four.yaml", std::string(kScenario) + "plan: {chunks: 50}\n");
  const Outcome some = refit_program({"run", scenario, "--dry-run"});
  const Outcome all = refit_program({"run", scenario, "--dry-run", "--all"});
  REQUIRE(some.code == 0);
  REQUIRE(all.code == 0);
  CHECK(has(some.out, "more; --all prints them"));
  CHECK_FALSE(has(all.out, "--all"));
  CHECK(lines_with(all.out, " send ") > lines_with(some.out, " send "));
}

TEST_CASE("run says what is wrong with its options", "[cli][run]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const auto refused = [&](std::vector<std::string> options, int code, const std::string& message) {
    options.insert(options.begin(), {"run", scenario});
    const Outcome outcome = refit_program(options);
    CAPTURE(outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.out.empty());
    CHECK(has(outcome.err, message));
  };
  refused({"--ranks", "4"}, 2, "--ranks 4: the plan has 8");
  refused({"--scale", "2/1"}, 2, "--scale: '2/1' is no fraction of more than 0 and at most 1");
  refused({"--scale", "half"}, 2, "write 1/2000");
  refused({"--transport", "ucp"}, 2, "--transport: 'ucp' is unknown; use inproc");
  refused({"-n", "0"}, 2, "--iters");
  refused({"-c", "2"}, 2, "--check");
  refused({"--all"}, 2, "--dry-run");
  refused({"--dry-run", "--json"}, 2, "--json");
}

TEST_CASE("a refit that memory does not hold is refused before it starts", "[cli][run]") {
  const Folder folder;
  // 64 TB twice at the source, 128 TB at the destination.
  std::string text = kScenario;
  text.replace(text.find("[8000, 8000]"), 12, "[8000000, 8000000]");
  const Outcome outcome = refit_program({"run", folder.write("big.yaml", text)});
  CHECK(outcome.code == 3);
  CAPTURE(outcome.err);
  CHECK(has(outcome.err, "the shards of all ranks take 256.00 TB"));
  CHECK(has(outcome.err, "use --scale 1/"));
}

TEST_CASE("run loses the scenario's rank on purpose, and the others go on", "[cli][run][fault]") {
  const Folder folder;
  const std::string scenario =
      folder.write("lost.yaml", std::string(kLost) + "fault: {rank: 1, at: 0 s, policy: shrink}\n");
  const nlohmann::json run = measured({scenario, "--transport", "tcp", "--strategy", "reshard"});
  CHECK(run.at("wrong_bytes") == 0);
  CHECK(run.at("iterations").size() == 1);
  const nlohmann::json& fault = run.at("fault");
  CHECK(fault.at("lost_rank") == 1);
  CHECK(fault.at("policy") == "shrink");
  CHECK(fault.at("reason") == "killed by signal 9 (Killed)");
  CHECK(fault.at("dropped_ranks").empty());
  const Outcome table = refit_program({"run", scenario, "--transport", "tcp"});
  CHECK(table.code == 0);
  CHECK(has(table.out, "# fault: rank 1 was lost: killed by signal 9 (Killed); policy shrink"));
  const Outcome failing =
      refit_program({"run", scenario, "--transport", "tcp", "--on-fault", "fail"});
  CHECK(failing.code == 3);
  CHECK(has(failing.err, "refit: rank 1, "));
  CHECK(has(failing.err, "killed by signal 9"));
}

TEST_CASE("a refit whose precision changes is completed without the lost rank, too",
          "[cli][run][fault]") {
  // Every replica has converted its own copy, so rank 3 has in BF16 what rank 1 would have sent.
  const Folder folder;
  const std::string scenario = folder.write("converting.yaml", R"(scenario: converting
cluster: {catalog: dgx_h100, nodes: 2}
model: qwen3-8b
training: {engine: megatron, gpus: 4, tensor: 2, precision: fp32}
generation: {engine: vllm, gpus: 2, tensor: 2, precision: bf16}
fault: {rank: 1, at: 0 s, policy: shrink}
)");
  const nlohmann::json run = measured({scenario, "--transport", "tcp", "--strategy", "reshard"});
  CHECK(run.at("wrong_bytes") == 0);
  CHECK(run.at("fault").at("lost_rank") == 1);
  CHECK(run.at("fault").at("recovered_bytes") > 0);
  CHECK(has(run.at("environment").at("conversions"), "1 kind not executed"));
}

TEST_CASE("run stops with 1 and names the tensor if only the lost rank had it",
          "[cli][run][fault]") {
  const Folder folder;
  std::string text = std::string(kLost) + "fault: {rank: 0, at: 0 s}\n";
  text.replace(text.find("0..1"), 4, "0..0");
  const Outcome outcome =
      refit_program({"run", folder.write("sole.yaml", text), "--transport", "tcp"});
  CHECK(outcome.code == 1);
  CHECK(has(outcome.err, "no other rank has all bytes of w"));
}

TEST_CASE("a fault's part of a refit needs a predicted time, and threads can't be lost",
          "[cli][run][fault]") {
  const Folder folder;
  const std::string scenario = folder.write("lost.yaml", std::string(kLost) + "fault: {rank: 1}\n");
  const Outcome tcp = refit_program({"run", scenario, "--transport", "tcp"});
  CHECK(tcp.code == 2);
  CHECK(has(tcp.err, "'at: 50 %' needs a predicted time"));
  const Outcome inproc = refit_program({"run", scenario});
  CHECK(inproc.code == 0);
  CHECK(has(inproc.err, "the scenario's fault is not caused: ranks of inproc can't be lost"));
}

}  // namespace
}  // namespace refit
