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

}  // namespace refit
