#include "tests/cli/program.h"

namespace refit {
namespace {

// The command alone in a folder, where it finds no refit_gpu of a build.
std::string lone_refit(const Folder& folder) {
  std::filesystem::copy_file(REFIT_PROGRAM, folder / "refit");
  return folder / "refit";
}

}  // namespace

TEST_CASE("gpu: a command without refit_gpu beside it says what builds it", "[cli]") {
  const Folder folder;
  const std::string refit = lone_refit(folder);
  const std::string scenario = folder.write("scenario.yaml", kScenario);
  for (const char* transport : {"cuda", "nccl"}) {
    const Outcome o = run_program(refit, {"run", "--transport", transport, scenario});
    REQUIRE(o.code == 3);
    REQUIRE(o.out.empty());
    REQUIRE(o.err.starts_with(std::string("refit: --transport ") + transport +
                              ": needs the program refit_gpu beside this one ("));
    REQUIRE(has(o.err, "cmake -DREFIT_CUDA=ON"));
  }
}

TEST_CASE("gpu: a run on GPUs is handed over with all its words, and its end is the command's",
          "[cli]") {
  const Folder folder;
  const std::string refit = lone_refit(folder);
  const std::string program =
      folder.write("refit_gpu", "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 42\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string scenario = folder.write("a scenario.yaml", kScenario);
  const Outcome o = run_program(refit, {"run", "--transport", "nccl", "-n", "3", scenario});
  REQUIRE(o.code == 42);
  REQUIRE(o.out == "run|--transport|nccl|-n|3|" + scenario + "|");
  // What needs no GPU stays here.
  REQUIRE(run_program(refit, {"run", scenario, "-n", "1", "--scale", "1/100"}).code == 0);
}

}  // namespace refit
