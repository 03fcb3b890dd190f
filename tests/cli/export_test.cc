#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/csv_table.h"
#include "tests/cli/program.h"

namespace refit {
namespace {

using Json = nlohmann::json;

Outcome exported(const std::vector<std::string>& words) {
  std::vector<std::string> all{"export"};
  all.insert(all.end(), words.begin(), words.end());
  return refit_program(all);
}

CsvTable table(const std::string& text) { return parse_csv(text, "table"); }

std::string cell(const CsvTable& csv, std::size_t row, const std::string& column) {
  const auto at = std::find(csv.columns.begin(), csv.columns.end(), column);
  REQUIRE(at != csv.columns.end());
  return csv.records.at(row).cells.at(static_cast<std::size_t>(at - csv.columns.begin()));
}

TEST_CASE("export trace: a process per rank, and events that do not overlap on a thread",
          "[cli][export]") {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kScenario);
  const Outcome outcome = exported({"trace", scenario, "--strategy", "direct", "--wire-only"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Json trace = Json::parse(outcome.out);
  CHECK(trace.at("otherData").at("ranks_shown") == 8);
  std::set<int> processes;
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  double last = 0, received = 0;
  for (const Json& event : trace.at("traceEvents")) {
    processes.insert(event.at("pid").get<int>());
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();
    threads[{event.at("pid"), event.at("tid")}].emplace_back(begin, end);
    last = std::max(last, end);
    if (event.at("name").get<std::string>().starts_with("receive"))
      received += event.at("args").at("bytes").get<double>();
  }
  CHECK(processes.size() == 8);
  CHECK(received == 128e6);     // 32 MB for each of four ranks
  CHECK(last == Approx(3200));  // us: 32 MB through a NIC of 10 GB/s
  for (auto& [thread, spans] : threads) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i)
      CHECK(spans[i].first >= spans[i - 1].second - 1e-6);
  }
}

TEST_CASE("export trace: --ranks chooses, and a wrong one is named", "[cli][export]") {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kScenario);
  const Outcome two = exported({"trace", scenario, "--ranks", "4,0-1"});
  REQUIRE(two.code == 0);
  std::set<int> processes;
  const Json trace = Json::parse(two.out);
  for (const Json& event : trace.at("traceEvents")) processes.insert(event.at("pid").get<int>());
  CHECK(processes == std::set<int>{0, 1, 4});
  const Outcome wrong = exported({"trace", scenario, "--ranks", "0-8"});
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "--ranks 0-8: '8' is no rank; the plan has 0 to 7, as in 0-7,32"));
  const Outcome down = exported({"trace", scenario, "--ranks", "3-1"});
  CHECK(has(down.err, "'3-1' counts down; write 1-3"));
}

TEST_CASE("export trace: a run lies beside its prediction", "[cli][export]") {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kScenario);
  REQUIRE(refit_program({"plan", scenario, "-o", folder / "plan.json"}).code == 0);
  REQUIRE(refit_program({"run", folder / "plan.json", "--scale", "1/100", "-n", "1", "-w", "0",
                         "--json", "-o", folder / "run.json"})
              .code == 0);
  const Outcome outcome =
      exported({"trace", folder / "plan.json", "--measured", folder / "run.json"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  std::map<std::string, int> names;
  const Json trace = Json::parse(outcome.out);
  for (const Json& event : trace.at("traceEvents"))
    if (event.at("name") == "thread_name") ++names[event.at("args").at("name").get<std::string>()];
  CHECK(names["lane 0 predicted"] > 0);
  CHECK(names["lane 0 measured"] == names["lane 0 predicted"]);
  const Outcome no_plan = exported({"trace", scenario, "--measured", folder / "run.json"});
  CHECK(no_plan.code == 2);
  CHECK(has(no_plan.err, "is a scenario; export trace --measured needs the plan that was run"));
}

TEST_CASE("export csv: ranks, links and tensors add up to the payload", "[cli][export]") {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kScenario);
  const Outcome outcome =
      exported({"csv", scenario, "--strategy", "direct", "--wire-only", "-o", folder / "tables"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const CsvTable ranks = table(text_of(folder / "tables/ranks.csv"));
  REQUIRE(ranks.records.size() == 8);
  double sent = 0;
  for (std::size_t r = 0; r < 8; ++r) {
    sent += std::stod(cell(ranks, r, "sent_bytes"));
    CHECK(cell(ranks, r, "received_bytes") == (r < 4 ? "0" : "32000000"));
    CHECK(cell(ranks, r, "role") == (r < 4 ? "source" : "destination"));
    CHECK(std::stod(cell(ranks, r, "busy_s")) == Approx(0.0032));
    CHECK(std::stod(cell(ranks, r, "utilisation")) == Approx(1));
  }
  CHECK(sent == 128e6);
  const CsvTable links = table(text_of(folder / "tables/links.csv"));
  double nic_in = 0;
  for (std::size_t l = 0; l < links.records.size(); ++l) {
    if (cell(links, l, "kind") != "nic") continue;
    if (has(cell(links, l, "name"), " in")) nic_in += std::stod(cell(links, l, "bytes"));
    if (cell(links, l, "bytes") == "0") continue;
    CHECK(std::stod(cell(links, l, "busy_s")) == Approx(0.0032));
    CHECK(std::stod(cell(links, l, "utilisation")) == Approx(1));  // a NIC of 10 GB/s, 32 MB
  }
  CHECK(nic_in == 128e6);
  const CsvTable tensors = table(text_of(folder / "tables/tensors.csv"));
  REQUIRE(tensors.records.size() == 1);
  CHECK(cell(tensors, 0, "bytes") == "64000000");
  CHECK(cell(tensors, 0, "moved_bytes") == "128000000");
  const Outcome one =
      exported({"csv", scenario, "--strategy", "direct", "--wire-only", "--table", "rank"});
  CHECK(one.out == text_of(folder / "tables/ranks.csv"));
}

TEST_CASE("export: what is missing or unknown is named with exit 2", "[cli][export]") {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kScenario);
  const Outcome unknown = exported({"traces", scenario});
  CHECK(unknown.code == 2);
  CHECK(has(unknown.err, "'traces' is not a command of refit export; did you mean 'trace'?"));
  CHECK(has(unknown.err, "chakra"));
  const Outcome no_folder = exported({"simgrid", scenario});
  CHECK(no_folder.code == 2);
  CHECK(has(no_folder.err, "several files are written; say -o FOLDER"));
  REQUIRE(refit_program({"plan", scenario, "-o", folder / "plan.json"}).code == 0);
  const Outcome both = exported({"goal", folder / "plan.json", "--strategy", "direct"});
  CHECK(both.code == 2);
  CHECK(has(both.err, "is a reshard plan; --strategy is for scenarios"));
  const Outcome onto_itself = exported({"goal", scenario, "-o", scenario});
  CHECK(onto_itself.code == 2);
}

}  // namespace
}  // namespace refit
