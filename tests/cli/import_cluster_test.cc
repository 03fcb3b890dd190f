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

TEST_CASE("import cluster: output of tools that say less is named, with the tool that says more",
          "[cli][import]") {
  const Folder folder;
  const auto said = [&](const std::string& text) {
    const Outcome outcome = refit_program({"import", "cluster", folder.write("f", text)});
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(has(said("\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n"), "nvidia-smi topo -p2p"));
  CHECK(has(said("| NVIDIA-SMI 550.54  Driver Version: 550.54 |\n"), "run nvidia-smi topo -m"));
  CHECK(has(said("=== Link Type between two GPUs ===\n       GPU0   GPU1\nGPU0   0      XGMI\n"),
            "AMD's tool"));
  CHECK(has(said("<topology version=\"2.0\"><!-- hwloc --></topology>"), "XML of hwloc"));
  CHECK(has(said("  1  1[ ] ==( 4X 106.25 Gbps Active/ LinkUp)==>  3  1[ ] \"n\" ( )\n"),
            "iblinkinfo"));
  CHECK(has(said("ClusterName=c\nNodeName=n[0-3]\n"), "a slurm.conf"));
  CHECK(has(said("n:1:2 [0] NCCL INFO CPU/0 (1/1/2)\n"), "a log of NCCL"));
  // A settings file of a training has a cluster in it, but is none.
  CHECK(has(said("cluster:\n  n_nodes: 1\nactor:\n  path: x\n"), "none of the files we know"));
  // What is asked for may follow: people paste both.
  CHECK(has(said("| NVIDIA-SMI 550.54 |\nn:1:2 [0] NCCL INFO x\n" + std::string(kMatrix)),
            "--nvlink-bandwidth RATE"));
}

}  // namespace
}  // namespace refit
