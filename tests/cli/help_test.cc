#include <filesystem>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace refit {
namespace {

std::string help(const std::vector<std::string>& topic) {
  std::vector<std::string> arguments = {"help"};
  arguments.insert(arguments.end(), topic.begin(), topic.end());
  const Outcome outcome = refit_program(arguments);
  CHECK(outcome.code == 0);
  return outcome.out;
}

// The words that may follow, without what they mean.
std::set<std::string> completed(std::vector<std::string> words) {
  words.insert(words.begin(), {"completion", "words", "--"});
  const Outcome outcome = refit_program(words);
  CHECK(outcome.code == 0);
  std::set<std::string> found;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) found.insert(line.substr(0, line.find('\t')));
  return found;
}

TEST_CASE("help explains words, commands, strategies and exit codes", "[cli][help]") {
  CHECK(has(help({}), "glossary"));
  CHECK(has(help({"payload", "bytes"}), "sum over destination ranks"));
  CHECK(has(help({"demander"}), "must end up with it"));
  CHECK(has(help({"simulate"}), "--network-model"));
  CHECK(has(help({"delta", "diff"}), "--base-version"));
  CHECK(has(help({"exit", "codes"}), "nothing that is fast enough"));
  CHECK(has(help({"exit-codes"}), "nothing that is fast enough"));
  CHECK(has(help({"units"}), "400 Gbit/s"));
  CHECK(has(help({"nemo_rl_packed"}), "packed broadcast"));
  // A verb that is a word of the glossary is explained as both.
  const std::string plan = help({"plan"});
  CHECK(has(plan, "the ops that do a refit"));
  CHECK(has(plan, "Usage: refit plan"));
}

TEST_CASE("help's strategies are those that the program knows", "[cli][help]") {
  // The message that lists them all.
  const Folder folder;
  const std::string path = folder.write("four.yaml", kScenario);
  const std::string error = refit_program({"check", path, "--strategy", "teleport"}).err;
  const std::size_t begin = error.find('(') + 1;
  std::istringstream known(error.substr(begin, error.find(')') - begin));
  const std::string page = help({"strategies"});
  int count = 0;
  for (std::string name; std::getline(known >> std::ws, name, ',');) {
    CAPTURE(name);
    CHECK(has(page, "  " + name + "\n"));
    ++count;
  }
  CHECK(count >= 13);
}

TEST_CASE("help for people keeps to 80 columns and shows no markup", "[cli][help]") {
  for (const char* page : {"glossary", "strategies", "units", "environment"}) {
    CAPTURE(page);
    std::istringstream lines(help({page}));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(line.size() <= 84);  // bytes: a letter beyond ASCII has several
    }
    CHECK_FALSE(has(help({page}), "`"));
    CHECK_FALSE(has(help({page}), "]("));
  }
}

TEST_CASE("a topic that there is not names the nearest", "[cli][help]") {
  const Outcome outcome = refit_program({"help", "glosary"});
  CHECK(outcome.code == 2);
  CHECK(outcome.err ==
        "refit: 'glosary' is not a topic; did you mean 'glossary'? refit help lists them\n");
  CHECK(refit_program({"help", "xyzzyxyzzy"}).err ==
        "refit: 'xyzzyxyzzy' is not a topic; refit help lists them\n");
}

TEST_CASE("the man page has every command and passes groff", "[cli][help]") {
  const Outcome page = refit_program({"help", "--man"});
  REQUIRE(page.code == 0);
  for (const std::string& verb : completed({""})) {
    CAPTURE(verb);
    CHECK(has(page.out, ".SS refit " + verb));
  }
  CHECK(has(page.out, "\\fB\\-\\-network\\-model\\fR"));
  CHECK(has(page.out, "never|auto|always"));
  const std::string groff = "/usr/bin/groff";
  if (!std::filesystem::exists(groff)) {
    WARN("skipped: no " << groff << " here to format the page");
    return;
  }
  const Folder folder;
  const Outcome formatted =
      run_program(groff, {"-man", "-ww", "-z", folder.write("refit.1", page.out)});
  CHECK(formatted.code == 0);
  CHECK(formatted.err.empty());
}

TEST_CASE("completion knows verbs, options and values from the command itself",
          "[cli][completion]") {
  CHECK(completed({"si"}) == std::set<std::string>{"simulate", "size"});
  CHECK(completed({"delta", "di"}) == std::set<std::string>{"diff"});
  CHECK(completed({"simulate", "--js"}) == std::set<std::string>{"--json"});
  CHECK(completed({"simulate", "x.yaml", "--solver", ""}) ==
        std::set<std::string>{"incremental", "native"});
  // bash makes three words of --solver=nat, others one.
  CHECK(completed({"simulate", "--solver", "=", "nat"}) == std::set<std::string>{"native"});
  CHECK(completed({"simulate", "--solver=nat"}) == std::set<std::string>{"--solver=native"});
  CHECK(completed({"completion", ""}) == std::set<std::string>{"bash", "fish", "words", "zsh"});
  // Files are the shell's.
  CHECK(completed({"simulate", ""}).empty());
  CHECK(completed({"simulate", "-o", ""}).empty());
  CHECK(completed({"no-such-verb", "--x"}).empty());
}

TEST_CASE("bash completes with the script that completion prints", "[cli][completion]") {
  const std::string program = REFIT_PROGRAM;
  const std::string folder = program.substr(0, program.rfind('/'));
  const auto in_bash = [&](const std::string& words, int at) {
    const std::string script =
        "PATH=" + folder + ":$PATH; eval \"$(refit completion bash)\"; COMP_WORDS=(" + words +
        "); COMP_CWORD=" + std::to_string(at) + "; _refit; printf '%s ' \"${COMPREPLY[@]}\"";
    const Outcome outcome = run_program("/bin/bash", {"-c", script});
    CHECK(outcome.err.empty());
    return outcome.out;
  };
  CHECK(in_bash("refit sim", 1) == "simulate ");
  CHECK(in_bash("refit simulate x.yaml --sol", 3) == "--solver ");
  CHECK(in_bash("refit graph --level ''", 3) == "ranks domains ");
}

TEST_CASE("zsh and fish take the scripts that completion prints", "[cli][completion]") {
  const std::vector<std::string> all = {"/usr/bin/zsh", "/usr/bin/fish"};
  for (const std::string& shell : all) {
    if (!std::filesystem::exists(shell)) {
      WARN("skipped: no " << shell << " here");
      continue;
    }
    const Folder folder;
    const std::string name = shell.substr(shell.rfind('/') + 1);
    const std::string script = folder.write("script", refit_program({"completion", name}).out);
    const Outcome outcome = run_program(shell, {"-n", script});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("completion knows the names of the catalogs", "[cli][completion]") {
  CHECK(completed({"clusters", "dgx_h1"}) == std::set<std::string>{"dgx_h100"});
  CHECK(completed({"models", "deepseek-v"}).contains("deepseek-v3"));
  CHECK(completed({"simulate", "--strategy", "nemo_rl_pa"}).contains("nemo_rl_packed"));
  CHECK(completed({"simulate", "--strategy", "direct,opt"}) ==
        std::set<std::string>{"direct,optimal"});
  CHECK(completed({"simulate", "--strategy=opt"}) == std::set<std::string>{"--strategy=optimal"});
  CHECK(completed({"simulate", "--network-model", "defa"}).contains("default"));
}

// The README's table of commands has every command of the program, and no other.
TEST_CASE("the README names the commands that there are", "[cli][help]") {
  const std::string readme = text_of(REFIT_SOURCE_DIR "/README.md");
  std::set<std::string> named;
  std::istringstream lines(readme);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `refit ")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    const std::string before = "`refit ";
    for (std::size_t at = cell.find(before); at != cell.npos; at = cell.find(before, at + 1)) {
      const std::size_t begin = at + before.size();
      named.insert(cell.substr(begin, cell.find_first_of(" `", begin) - begin));
    }
  }
  CHECK(named == completed({""}));
}

}  // namespace
}  // namespace refit
