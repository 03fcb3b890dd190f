#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/cli/program.h"

namespace refit {
namespace {

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / fmt::format("calibrate-{}", ::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Broadcasts from one GPU to another host: 10 us for small messages, which is a call with log2(2)
// = 1, and 40 GB/s, which is 80 % of a DGX H100's NIC of 400 Gbit/s.
std::string broadcast_log() {
  std::string log =
      "#  Rank  0 Group  0 Pid 1 on host-a device  0 [0x18] NVIDIA H100\n"
      "#  Rank  1 Group  0 Pid 1 on host-b device  0 [0x18] NVIDIA H100\n"
      "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  for (double bytes = 8; bytes <= 8e9; bytes *= 2) {
    const double time_us = 10 + bytes / 40e3;
    const double gb_per_s = bytes / time_us / 1e3;
    log += fmt::format("{0} {1} float none 0 {2:.2f} {3:.2f} {3:.2f} 0 {2:.2f} {3:.2f} {3:.2f} 0\n",
                       bytes, bytes / 4, time_us, gb_per_s);
  }
  return log;
}

TEST_CASE("calibrate fits a log of nccl-tests, and simulate takes the model", "[cli][calibrate]") {
  const Folder folder;
  const std::string log = folder.file("bcast.log", broadcast_log());
  const std::string model = folder.path("model.yaml");
  const Outcome fitted =
      refit_program({"calibrate", log, "--cluster", "dgx_h100", "--residuals", "-o", model});
  CAPTURE(fitted.err);
  REQUIRE(fitted.code == 0);
  CHECK(has(fitted.err, "nic_efficiency 80"));
  CHECK(has(fitted.err, "call 10"));
  CHECK(has(fitted.err, "condition number"));
  CHECK(has(fitted.err, "predicted / measured"));
  CHECK(has(fitted.err, "broadcast, 2 ranks on 2 hosts, nic"));
  const std::string scenario = folder.file("scenario.yaml", kScenario);
  const Outcome simulated = refit_program({"simulate", scenario, "--network-model", model});
  CAPTURE(simulated.err);
  CHECK(simulated.code == 0);
  CHECK(has(simulated.out, "calibrated"));
}

TEST_CASE("calibrate asks for the cluster of a log, and for one that the log fits",
          "[cli][calibrate]") {
  const Folder folder;
  const std::string log = folder.file("bcast.log", broadcast_log());
  const Outcome without = refit_program({"calibrate", log});
  CHECK(without.code == 2);
  CHECK(has(without.err, "share of a link's line rate"));
  CHECK(has(without.err, "--cluster"));
  const Outcome other = refit_program({"calibrate", log, "--cluster", "dgx_h1000"});
  CHECK(other.code == 2);
  CHECK(has(other.err, "dgx_h100"));
  // The cluster of a scenario will do: NICs of 10 GB/s, of which 40 GB/s are four times.
  const Outcome slow =
      refit_program({"calibrate", log, "--cluster", folder.file("scenario.yaml", kScenario)});
  CHECK(slow.code == 0);
  CHECK(has(slow.err, "nic_efficiency 400"));
  CHECK(has(slow.err, "outside what physics allows"));
}

TEST_CASE("calibrate holds a run of ours against its prediction", "[cli][calibrate]") {
  const Folder folder;
  const auto run = [&](const std::string& transport, const std::string& predicted,
                       const std::string& ratio) {
    return folder.file(
        "run.json",
        R"({"schema": "refit.measurement/1", "scenario": "s", "strategy": "reshard", "transport": ")" +
            transport + R"(", "ranks": 2, "scale": null, "seed": 1, "warmup": 0,
"largest_rank_bytes": 1000, "measured_s": {"min": 2.0, "median": 2.0, "max": 2.0},
"predicted_s": )" +
            predicted + R"(, "ratio": )" + ratio + R"(, "wrong_bytes": 0,
"wrong_examples": [], "graded": true, "environment": {}, "cpu_s": 1.0, "phases": [],
"iterations": [{"seconds": 2.0, "slowest_rank": 0, "wrong_bytes": 0}],
"ops": {"start_s": [0.0], "end_s": [2.0]}})");
  };
  const Outcome tcp = refit_program({"calibrate", run("tcp", "1.5", "1.3333333333333333")});
  CAPTURE(tcp.err);
  CHECK(tcp.code == 0);
  CHECK(has(tcp.err, "nic_efficiency 75 %"));  // 1.5 s at line rate took 2 s
  CHECK(has(tcp.out, "value: 75 %"));
  const Outcome inproc = refit_program({"calibrate", run("inproc", "null", "null")});
  CHECK(inproc.code == 2);
  CHECK(has(inproc.err, "inproc moves bytes within one process and uses no link"));
}

TEST_CASE("calibrate refuses what it can't fit and names it", "[cli][calibrate]") {
  const Folder folder;
  const Outcome graph = refit_program({"calibrate", folder.file("g.xml", "<graphs></graphs>")});
  CHECK(graph.code == 2);
  CHECK(has(graph.err, "g.xml: this is an NCCL graph file"));
  const Outcome missing = refit_program({"calibrate", folder.path("none.log")});
  CHECK(missing.code == 3);
  const std::string csv = folder.file("rows.csv", "id,time_s\n");
  const Outcome both = refit_program(
      {"calibrate", csv, folder.file("a.log", broadcast_log()), "--cluster", "dgx_h100"});
  CHECK(both.code == 2);
  CHECK(has(both.err, "rows.csv: published refits are fitted on their own"));
}

}  // namespace
}  // namespace refit
