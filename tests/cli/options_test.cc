#include <algorithm>

#include "tests/cli/program.h"

namespace refit {
namespace {

TEST_CASE("help and version go to standard output and exit with 0", "[cli]") {
  const Outcome help = refit_program({"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  for (const char* verb : {"check", "plan", "simulate", "graph", "models", "clusters"}) {
    CAPTURE(verb);
    CHECK(has(help.out, verb));
  }
  const Outcome version = refit_program({"--version"});
  CHECK(version.code == 0);
  CHECK(has(version.out, "refit 0."));
  const Outcome verb = refit_program({"simulate", "--help"});
  CHECK(verb.code == 0);
  CHECK(has(verb.out, "--network-model"));
}

TEST_CASE("wrong options exit with 2 and one line on standard error", "[cli]") {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"fly"},
      {"simulate"},
      {"simulate", "x.yaml", "--no-such-option"},
      {"simulate", "x.yaml", "--solver", "magic"},
      {"simulate", "x.yaml", "--wire-only", "--network-model", "default"},
      {"graph", "x.yaml", "--level", "atoms"},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    CAPTURE(arguments);
    const Outcome outcome = refit_program(arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.rfind("refit: ", 0) == 0);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}

TEST_CASE("a word that is no command is named, with the nearest one", "[cli]") {
  const Outcome outcome = refit_program({"simulat", "x.yaml"});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "refit: 'simulat' is not a command; did you mean 'simulate'?"));
}

TEST_CASE("the input is never overwritten, and a picture's name says its kind", "[cli]") {
  const Folder folder;
  const std::string path = folder.write("four.yaml", kScenario);
  for (const char* verb : {"plan", "simulate", "graph", "run"}) {
    CAPTURE(verb);
    const Outcome outcome = refit_program({verb, path, "-o", path});
    CHECK(outcome.code == 2);
    CHECK(has(outcome.err, "would overwrite the input; name another file"));
  }
  CHECK(refit_program({"check", path}).code == 0);
  const Outcome png = refit_program({"graph", path, "-o", folder / "x.png"});
  CHECK(png.code == 2);
  CHECK(has(png.err, "'.png' can't be drawn; use .dot or .svg"));
}

TEST_CASE("a file without an end is refused", "[cli]") {
  const Outcome outcome = refit_program({"simulate", "/dev/zero"});
  CHECK(outcome.code == 3);
  CHECK(has(outcome.err, "larger than 1 GiB, or endless"));
}

TEST_CASE("a file that cannot be read exits with 3 and is named", "[cli]") {
  const Folder folder;
  for (const char* verb : {"check", "plan", "simulate", "graph"}) {
    CAPTURE(verb);
    const Outcome outcome = refit_program({verb, folder / "missing.yaml"});
    CHECK(outcome.code == 3);
    CHECK(has(outcome.err, "missing.yaml"));
    CHECK(refit_program({verb, folder / "."}).code == 3);
  }
}

TEST_CASE("a broken scenario exits with 2 and names its place", "[cli]") {
  const Folder folder;
  const std::string path = folder.write("bad.yaml", "scenario: bad\nclutser: {}\n");
  for (const char* verb : {"check", "plan", "simulate", "graph"}) {
    CAPTURE(verb);
    const Outcome outcome = refit_program({verb, path});
    CHECK(outcome.code == 2);
    CHECK(has(outcome.err, "bad.yaml:2"));
  }
}

TEST_CASE("an unknown strategy exits with 2 and lists the known ones", "[cli]") {
  const Folder folder;
  const std::string path = folder.write("four.yaml", kScenario);
  for (const char* verb : {"check", "plan", "simulate", "graph"}) {
    CAPTURE(verb);
    const Outcome outcome = refit_program({verb, path, "--strategy", "teleport"});
    CHECK(outcome.code == 2);
    CHECK(has(outcome.err, "gather_broadcast"));
  }
  CHECK(has(refit_program({"simulate", path, "--strategy", "policy"}).err, "no policy of its own"));
  CHECK(has(refit_program({"simulate", path, "--strategy", "direct,direct"}).err, "named twice"));
  CHECK(refit_program({"simulate", path, "--strategy", ""}).code == 2);
}

TEST_CASE("standard output that takes nothing exits with 3", "[cli]") {
  for (const char* verb : {"--help", "clusters"}) {
    CAPTURE(verb);
    const Outcome outcome = refit_program({verb}, {}, "/dev/full");
    CHECK(outcome.code == 3);
    CHECK(has(outcome.err, "standard output: cannot be written: No space left on device"));
  }
}

// "nan" is in no range, and numbers that are too large for their type are not the largest of it.
TEST_CASE("options of numbers refuse what is no such number", "[cli][options]") {
  const Folder folder;
  const std::string file = folder.write("four.yaml", kScenario);
  const std::string huge = "99999999999999999999";
  const std::vector<std::pair<std::string, std::vector<std::string>>> options = {
      {"--learning-rate", {"nan", "inf", "0", "-1", ""}},
      {"--fault-timeout", {"nan", "inf", "0", ""}},
      {"--seed", {"nan", huge, "-1", "1.5", ""}},
      {"--iters", {"nan", huge, "0", "1x", ""}},
      {"--ranks", {huge, "0", "-3"}}};
  for (const auto& [option, values] : options) {
    for (const std::string& value : values) {
      CAPTURE(option, value);
      const Outcome outcome = refit_program({"run", file, option + "=" + value});
      CHECK(outcome.code == 2);
    }
  }
  CHECK(has(refit_program({"run", file, "--seed", huge}).err,
            "--seed: expected a whole number from 0, got '" + huge + "'"));
  CHECK(has(refit_program({"crossover", file, "--change", "nan"}).err,
            "--change: expected a number from 0.0001 to 100, got 'nan'"));
  CHECK(refit_program({"sweep", file, "--show", huge}).code == 2);
  CHECK(refit_program({"delta", "diff", "a", "b", "-o", "c", "--base-version", huge}).code == 2);
}

}  // namespace
}  // namespace refit
