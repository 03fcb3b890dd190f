// What the command prints about runs on GPUs, with stand-ins for CUDA and NCCL.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace refit {

TEST_CASE("gpu runs: the table has times and no wrong byte, and is not graded", "[cli]") {
  const Folder folder;
  const std::string scenario = folder.write("scenario.yaml", kScenario);
  for (const std::string transport : {"cuda", "nccl"}) {
    CAPTURE(transport);
    const Outcome o = refit_program(
        {"run", "--transport", transport, "-n", "1", "-w", "0", "--scale", "1/1000", scenario});
    CAPTURE(o.out, o.err);
    REQUIRE(o.code == 0);
    REQUIRE(has(o.out, "# four_pairs: reshard, 8 ranks, transport " + transport + "\n"));
    REQUIRE(has(o.out, "# gpu: stand-in on host memory\n"));
    REQUIRE(has(o.out, "# busiest rank: transfer: "));
    REQUIRE(has(o.out, "# wrong bytes, warm-up included: 0\n"));
    REQUIRE(has(o.out, "# not graded: "));
  }
}

TEST_CASE("gpu runs: a saved measurement is held against its plan, op by op", "[cli]") {
  const Folder folder;
  const std::string scenario = folder.write("scenario.yaml", kScenario);
  const std::string plan = folder / "plan.json";
  REQUIRE(refit_program({"plan", scenario, "--strategy", "reshard", "-o", plan}).code == 0);
  for (const std::string transport : {"cuda", "nccl"}) {
    CAPTURE(transport);
    const std::string file = folder / (transport + ".json");
    const Outcome run = refit_program({"run", "--transport", transport, "-n", "2", "--scale",
                                       "1/1000", "--json", "-o", file, plan});
    CAPTURE(run.err);
    REQUIRE(run.code == 0);
    const auto m = nlohmann::json::parse(text_of(file));
    REQUIRE(m.at("transport") == transport);
    REQUIRE(m.at("wrong_bytes") == 0);
    REQUIRE(m.at("graded") == false);
    REQUIRE(m.at("environment").contains("cuda runtime"));
    REQUIRE(m.at("environment").contains("nccl") == (transport == "nccl"));
    const Outcome compared = refit_program({"compare", plan, file});
    CAPTURE(compared.out, compared.err);
    REQUIRE(compared.code == 0);
    REQUIRE(has(compared.out, "transfer "));
  }
}

TEST_CASE("gpu runs: a rank is lost on purpose, and --on-fault says what becomes of the others",
          "[cli][fault]") {
  const Folder folder;
  const auto lose = [&](int replicas, const std::string& on_fault) {
    std::string text = std::string(kScenario) + "fault: {rank: 1, at: 50 %, policy: fail}\n";
    const std::string both = "0..3, mesh: {rep: 2, shard: 2}, placements: [replicate, shard(0)]";
    if (replicas == 1)  // ranks 2 and 3 hold nothing
      text.replace(text.find(both), both.size(), "0..1, mesh: {shard: 2}, placements: [shard(0)]");
    return refit_program({"run", folder.write("lost.yaml", text), "--transport", "nccl", "-w", "0",
                          "--scale", "1/1000", "--on-fault", on_fault, "--fault-timeout", "5"});
  };
  for (const std::string policy : {"shrink", "rebuild"}) {
    const Outcome o = lose(2, policy);
    CAPTURE(o.out, o.err);
    REQUIRE(o.code == 0);
    REQUIRE(has(o.out, "# fault: rank 1 was lost: killed by signal 9 (Killed); policy " + policy));
    REQUIRE(has(o.out, ", connections made anew after "));
    REQUIRE(has(o.out, "# communicators: "));
    REQUIRE(has(o.out, "# wrong bytes, warm-up included: 0\n"));
  }
  const Outcome failed = lose(2, "fail");
  CAPTURE(failed.err);
  REQUIRE(failed.code == 3);
  REQUIRE(has(failed.err, "rank 1, "));
  REQUIRE(has(failed.err, ": killed by signal 9 (Killed)\n"));
  const Outcome unserved = lose(1, "shrink");
  CAPTURE(unserved.err);
  REQUIRE(unserved.code == 1);
  REQUIRE(has(unserved.err, "no other rank has all bytes of w: the refit is not complete"));
}

}  // namespace refit
