#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/csv_table.h"
#include "tests/cli/program.h"

namespace refit {
namespace {

const std::string kEscape = "\x1b[";

TEST_CASE("colours are for terminals, or for who asks", "[cli][terminal]") {
  const Folder folder;
  const std::string path = folder.write("four.yaml", kScenario);
  // Standard output is a file here.
  CHECK_FALSE(has(refit_program({"simulate", path, "--strategy", "direct"}).out, kEscape));
  const Outcome always =
      refit_program({"simulate", path, "--strategy", "direct", "--color", "always"});
  CHECK(has(always.out, "\x1b[1mstrategy\x1b[0m"));
  CHECK(has(refit_program({"--color", "always", "clusters"}).out, kEscape));
  // A file stays plain.
  CHECK(refit_program({"simulate", path, "--strategy", "direct", "--color", "always", "-o",
                       folder / "out.txt"})
            .code == 0);
  CHECK_FALSE(has(text_of(folder / "out.txt"), kEscape));
  CHECK(has(refit_program({"simulate", path, "--color", "sometimes"}).err, "sometimes"));
}

// `script` gives a command a terminal for its output.
TEST_CASE("on a terminal NO_COLOR and a dumb terminal turn colours off", "[cli][terminal]") {
  const std::string script = "/usr/bin/script";
  if (!std::filesystem::exists(script)) {
    WARN("skipped: no " << script << " here (Debian package bsdutils)");
    return;
  }
  const auto on_terminal = [&](const std::vector<std::string>& environment,
                               const std::string& options) {
    std::vector<std::string> all = {"PATH=/usr/bin:/bin"};
    all.insert(all.end(), environment.begin(), environment.end());
    return run_program(script,
                       {"-qec", std::string(REFIT_PROGRAM) + " clusters " + options, "/dev/null"},
                       all)
        .out;
  };
  CHECK(has(on_terminal({"TERM=xterm"}, ""), kEscape));
  CHECK(has(on_terminal({"TERM=xterm", "NO_COLOR="}, ""), kEscape));
  CHECK_FALSE(has(on_terminal({"TERM=xterm", "NO_COLOR=1"}, ""), kEscape));
  CHECK_FALSE(has(on_terminal({"TERM=dumb"}, ""), kEscape));
  CHECK_FALSE(has(on_terminal({"TERM=xterm"}, "--color never"), kEscape));
  CHECK(has(on_terminal({"TERM=xterm", "NO_COLOR=1"}, "--color always"), kEscape));
}

TEST_CASE("a verb's table is printed with plain numbers by --csv, and --json has the same",
          "[cli][terminal]") {
  const Folder folder;
  const std::string path = folder.write("four.yaml", kScenario);
  const Outcome simulated = refit_program({"simulate", path, "--strategy", "direct", "--csv"});
  REQUIRE(simulated.code == 0);
  const CsvTable table = parse_csv(simulated.out, "simulate");
  REQUIRE(table.records.size() == 1);
  const auto cell = [&](const std::string& column) {
    const auto at = std::find(table.columns.begin(), table.columns.end(), column);
    REQUIRE(at != table.columns.end());
    return table.records[0].cells[static_cast<std::size_t>(at - table.columns.begin())];
  };
  CHECK(cell("strategy") == "direct");
  CHECK(cell("network_bytes") == "128000000");  // 4 GPUs get 32 MB each
  CHECK(cell("copies") == "2");
  CHECK(std::stod(cell("prediction_s")) > 0);

  for (const char* verb : {"clusters", "models", "systems"}) {
    CAPTURE(verb);
    const Outcome csv = refit_program({verb, "--csv"});
    const Outcome json = refit_program({verb, "--json"});
    REQUIRE(csv.code == 0);
    const auto document = nlohmann::json::parse(json.out);
    CHECK(document["schema"] == std::string("refit.") + verb + "/1");
    CHECK(document["rows"].size() == parse_csv(csv.out, verb).records.size());
    CHECK(refit_program({verb, "--csv", "--json"}).code == 2);
  }
  const Outcome one = refit_program({"clusters", "dgx_h100", "--csv"});
  CHECK(has(one.out, "NVLink domain,8\n"));
  CHECK(has(one.out, "NIC latency,5e-06\n"));
  CHECK(refit_program({"simulate", path, "--csv", "--sensitivity"}).code == 2);
}

}  // namespace
}  // namespace refit
