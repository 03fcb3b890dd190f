#include "tests/cli/program.h"

namespace refit {
namespace {

constexpr const char* kMatrix =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\n"
    "GPU0\t X \tNV6\tNV6\tNV6\tPIX\tSYS\nGPU1\tNV6\t X \tNV6\tNV6\tSYS\tSYS\n"
    "GPU2\tNV6\tNV6\t X \tNV6\tSYS\tPIX\nGPU3\tNV6\tNV6\tNV6\t X \tSYS\tSYS\n";

constexpr const char* kScenario =
    "scenario: small\ncluster:\n  catalog: dgx_h100\n  nodes: 1\n\n# what moves\nmodel: qwen3-8b\n"
    "training: {engine: megatron, gpus: 4, tensor: 2}\ngeneration: {engine: vllm, gpus: 4, tensor: "
    "4}\n";

std::vector<std::string> with_answers(std::vector<std::string> arguments) {
  for (const char* more : {"--nodes", "2", "--nic-bandwidth", "400Gbit/s", "--nvlink-bandwidth",
                           "300GB/s", "--distance", "SYS=20GB/s"})
    arguments.emplace_back(more);
  return arguments;
}

TEST_CASE("import cluster: what it writes is read and simulated", "[cli][import]") {
  const Folder folder;
  const std::string matrix = folder.write("topo.txt", kMatrix);
  const Outcome imported =
      refit_program(with_answers({"import", "cluster", matrix, "-o", folder / "cluster.yaml"}));
  CAPTURE(imported.err);
  REQUIRE(imported.code == 0);
  const std::string scenario = kScenario;
  const std::size_t model = scenario.find("# what moves");
  const std::string written = folder.write(
      "mine.yaml", "scenario: small\n" + text_of(folder / "cluster.yaml") + scenario.substr(model));
  const std::vector<std::string> same = {"--strategy", "reshard", "--wire-only", "--json"};
  std::vector<std::string> first = {"simulate", written};
  first.insert(first.end(), same.begin(), same.end());
  const Outcome from_file = refit_program(first);
  CAPTURE(from_file.err);
  REQUIRE(from_file.code == 0);
  CHECK(has(from_file.out, "2 x imported: 4 GPUs"));

  // The same machines in the place of the scenario's own.
  std::vector<std::string> second = {"simulate", folder.write("theirs.yaml", scenario),
                                     "--nccl-topo", matrix};
  second.insert(second.end(), same.begin(), same.end());
  const Outcome replaced = refit_program(with_answers(second));
  CAPTURE(replaced.err);
  REQUIRE(replaced.code == 0);
  CHECK(replaced.out == from_file.out);
}

TEST_CASE("import cluster: what is missing is listed, with exit 2 and no file", "[cli][import]") {
  const Folder folder;
  const std::string matrix = folder.write("topo.txt", kMatrix);
  const Outcome outcome =
      refit_program({"import", "cluster", matrix, "-o", folder / "cluster.yaml"});
  REQUIRE(outcome.code == 2);
  CHECK(has(outcome.err, "--nvlink-bandwidth RATE"));
  CHECK(has(outcome.err, "--nic-bandwidth RATE"));
  CHECK(has(outcome.err, "--distance SYS=RATE"));
  CHECK(folder.files() == 1);
}

TEST_CASE("import cluster: wrong kinds, plans and answers without a file are refused",
          "[cli][import]") {
  const Folder folder;
  const std::string graph = folder.write("g.xml", "<graphs version=\"1\"/>");
  CHECK(has(refit_program({"import", "cluster", graph}).err, "this is an NCCL graph file"));
  CHECK(refit_program({"import", "cluster", graph}).code == 2);
  CHECK(has(refit_program({"import", "clouster", graph}).err, "did you mean 'cluster'?"));
  const std::string scenario = folder.write("s.yaml", kScenario);
  const Outcome alone = refit_program({"check", scenario, "--nodes", "4"});
  CHECK(alone.code == 2);
  CHECK(has(alone.err, "complete the files of --nccl-topo"));
}

}  // namespace
}  // namespace refit
