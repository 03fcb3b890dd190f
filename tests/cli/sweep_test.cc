#include <chrono>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

// 24 points of four_pairs, a third of them infeasible: 3 nodes have no ranks 6 and 7.
const std::string kSweep =
    "sweep: pairs\nbase: four.yaml\nvary:\n  cluster.nodes: [3, 4, 5]\n"
    "  cluster.nic_bandwidth: {from: 100 Gbit/s, to: 400 Gbit/s, step: 100 Gbit/s}\n"
    "  strategy: [reshard, direct]\n";

struct Files {
  Folder folder;
  std::string sweep;
  Files() {
    folder.write("four.yaml", kScenario);
    sweep = folder.write("sweep.yaml", kSweep);
  }
};

TEST_CASE("sweep predicts what simulate does, and counts what is infeasible", "[cli][sweep]") {
  const Files files;
  const Outcome outcome = refit_program({"sweep", files.sweep, "--json"});
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK(outcome.err.empty());
  const nlohmann::json document = nlohmann::json::parse(outcome.out);
  CHECK(document.at("schema") == "refit.sweep/1");
  REQUIRE(document.at("rows").size() == 24);
  CHECK(document.at("rows").at(0).at("outcome") == "infeasible");
  const nlohmann::json& row = document.at("rows").at(9);  // 1 * 8 + 0 * 2 + 1
  CHECK(row.at("values").at("cluster.nodes") == "4");
  CHECK(row.at("values").at("cluster.nic_bandwidth") == "100 Gbit/s");
  CHECK(row.at("strategy") == "direct");

  const Outcome shown = refit_program({"sweep", files.sweep, "--show", "9"});
  REQUIRE(shown.code == 0);
  const std::string scenario = files.folder.write("nine.yaml", shown.out);
  const Outcome simulated = refit_program({"simulate", scenario, "--strategy", "direct", "--json"});
  REQUIRE(simulated.code == 0);
  const nlohmann::json same = nlohmann::json::parse(simulated.out).at("strategies").at(0);
  for (const char* key : {"bound_s", "low_s", "high_s", "network_bytes"})
    CHECK(row.at(key) == same.at(key));
  CHECK(row.at("prediction_s") == same.at("predicted_s"));

  const Outcome table = refit_program({"sweep", files.sweep});
  CHECK(has(table.out, "points       24: 16 predicted, 8 infeasible\n"));
  CHECK(has(table.out, "all that fit, fastest first\n"));
  CHECK(has(table.out, "     8  " + files.folder / "four.yaml" + ":19:"));
}

TEST_CASE("sweep killed at any moment and resumed gives the same bytes", "[cli][sweep]") {
  const Files files;
  REQUIRE(refit_program({"sweep", files.sweep, "-o", files.folder / "whole.csv"}).code == 0);
  const std::string whole = text_of(files.folder / "whole.csv");
  const auto seed =
      static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count() & 0xFFFF);
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> milliseconds(1, 150);
  const std::string path = files.folder / "killed.csv";
  int kills = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const Outcome killed =
        run_program("/usr/bin/timeout",
                    {"--foreground", "-s", "KILL", fmt::format("0.{:03}", milliseconds(random)),
                     REFIT_PROGRAM, "sweep", files.sweep, "-o", path, "--resume"});
    if (killed.code == 0) break;
    ++kills;
  }
  CAPTURE(kills);
  REQUIRE(refit_program({"sweep", files.sweep, "-o", path, "--resume"}).code == 0);
  CHECK(text_of(path) == whole);
  // Without --resume nothing is overwritten.
  const Outcome again = refit_program({"sweep", files.sweep, "-o", path});
  CHECK(again.code == 2);
  CHECK(has(again.err, "is there already; --resume continues it, or name another file"));
}

TEST_CASE("sweep in several processes of a launcher merges to the whole", "[cli][sweep]") {
  const Files files;
  REQUIRE(refit_program({"sweep", files.sweep, "-o", files.folder / "whole.csv"}).code == 0);
  const std::string command = fmt::format(
      "for k in 0 1 2; do OMPI_COMM_WORLD_RANK=$k OMPI_COMM_WORLD_SIZE=3 {} sweep {} -o {} >{} & "
      "done; wait",
      REFIT_PROGRAM, files.sweep, files.folder / "part.csv", "/dev/null");
  const Outcome started = run_program("/bin/sh", {"-c", command});
  CHECK(
      has(started.err, "refit: part 3 of 3 (Open MPI), into " + files.folder / "part.3-of-3.csv"));
  const std::vector<std::string> parts = {files.folder / "part.1-of-3.csv",
                                          files.folder / "part.3-of-3.csv",
                                          files.folder / "part.2-of-3.csv"};
  const std::string all = files.folder / "all.csv";
  REQUIRE(refit_program({"sweep", "--merge", parts[0], parts[1], parts[2], "-o", all}).code == 0);
  CHECK(text_of(all) == text_of(files.folder / "whole.csv"));

  const Outcome two = refit_program({"sweep", "--merge", parts[0], parts[1], "-o", all});
  CHECK(two.code == 1);
  CHECK(
      two.err ==
      "refit: 16 of 24 points are there, 1 is the first that is missing; end the other parts with "
      "--resume and merge again\n");
}

TEST_CASE("sweep: one mistake in all points is an error", "[cli][sweep]") {
  const Files files;
  const std::string file = files.folder.write(
      "bad.yaml",
      "sweep: s\nbase: four.yaml\nvary: {cluster.nic_bandwith: [1 Gbit/s, 2 Gbit/s]}\n");
  const Outcome outcome = refit_program({"sweep", file});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "refit: none of 2 points is feasible; the first: " + file +
                             ":3:31: cluster: unknown key 'nic_bandwith'; did you mean "
                             "'nic_bandwidth'?"));
}

TEST_CASE("size answers with its band, and fails where nothing meets it", "[cli][size]") {
  const Files files;
  const std::string file =
      files.folder.write("size.yaml",
                         "size: pairs\nbase: four.yaml\nstep: 10 s\nbelow: 5 %\n"
                         "least: {cluster.nic_bandwidth: [10 Gbit/s, 80 Gbit/s]}\n");
  const Outcome met = refit_program({"size", file});
  CHECK(met.code == 0);
  CHECK(has(met.out, "answer       least that meets it, even at the high end of the band:\n"));
  CHECK(has(met.out, "(80 % band "));
  const Outcome missed = refit_program({"size", file, "--step", "1 ms", "--json"});
  CHECK(missed.code == 1);
  const nlohmann::json document = nlohmann::json::parse(missed.out);
  CHECK(document.at("likely").is_null());
  CHECK(document.at("candidates").at(0).at("verdict") == "impossible");
  const Outcome quotes = refit_program({"size", file, "--step", "it's 60 s\" x"});
  CHECK(quotes.code == 2);
  CHECK(has(quotes.err, "--step: it's 60 s\" x: not a number with a unit"));
  const std::string base = files.folder / "four.yaml";
  const std::string text = text_of(base);
  CHECK(refit_program({"size", file, "-o", base}).code == 2);
  CHECK(text_of(base) == text);
  const Outcome bad = refit_program({"size", file, "--below", "5"});
  CHECK(bad.code == 2);
  CHECK(has(bad.err, "--below: expected a percentage from 0 % to 100 %, got '5'"));
}

TEST_CASE("simulate --sensitivity says what changes would be worth", "[cli][simulate]") {
  const Files files;
  const std::string file = files.folder / "four.yaml";
  const Outcome table = refit_program({"simulate", file, "--strategy", "direct", "--sensitivity"});
  CAPTURE(table.err);
  REQUIRE(table.code == 0);
  CHECK(has(table.out, "\nsensitivity, each planned and predicted anew\n"));
  CHECK(has(table.out, "NICs +100 Gbit/s"));
  const Outcome json =
      refit_program({"simulate", file, "--strategy", "direct", "--sensitivity", "--json"});
  const nlohmann::json document = nlohmann::json::parse(json.out);
  const nlohmann::json& one = document.at("sensitivity").at(0);
  CHECK(one.at("as_it_is").at("prediction_s") == document.at("strategies").at(0).at("predicted_s"));
  CHECK(one.at("what_ifs").at(0).at("more_s").get<double>() < 0);
}

}  // namespace
}  // namespace refit
