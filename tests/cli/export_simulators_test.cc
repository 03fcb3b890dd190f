#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include "base/csv_table.h"
#include "tests/cli/program.h"

namespace refit {
namespace {

const std::string kSmall = std::string(REFIT_SOURCE_DIR) + "/scenarios/small/";
constexpr long long kBarrierBytes = 1;  // of a message that moves no content

// A step of a rank as a file of others has it.
struct FileEvent {
  char kind = 'c';  // s, r, c
  int peer = 0;
  long long bytes = 0, tag = 0;
  std::vector<std::size_t> after;
};
using Program = std::vector<std::vector<FileEvent>>;  // by rank

// GOAL by its grammar: num_ranks, rank blocks, "label: op", "label requires label" of labels that
// are known by then.
Program parse_goal(const std::string& text) {
  static const std::regex num(R"(num_ranks (\d+))"), rank(R"(rank (\d+) \{)"),
      send(R"((\w+): send (\d+)b to (\d+) tag (\d+))"),
      recv(R"((\w+): recv (\d+)b from (\d+) tag (\d+))"), calc(R"((\w+): calc (\d+))"),
      requires_(R"((\w+) requires (\w+))");
  Program program;
  std::map<std::string, std::size_t> labels;
  std::vector<FileEvent>* now = nullptr;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::smatch m;
    if (line.empty()) continue;
    if (std::regex_match(line, m, num)) {
      program.resize(std::stoul(m[1]));
    } else if (std::regex_match(line, m, rank)) {
      REQUIRE(now == nullptr);
      now = &program.at(std::stoul(m[1]));
      labels.clear();
    } else if (line == "}") {
      now = nullptr;
    } else if (std::regex_match(line, m, requires_)) {
      REQUIRE(now != nullptr);
      now->at(labels.at(m[1])).after.push_back(labels.at(m[2]));
    } else {
      REQUIRE(now != nullptr);
      FileEvent event;
      if (std::regex_match(line, m, send))
        event.kind = 's';
      else if (std::regex_match(line, m, recv))
        event.kind = 'r';
      else
        REQUIRE(std::regex_match(line, m, calc));
      if (event.kind != 'c') {
        event.bytes = std::stoll(m[2]);
        event.peer = std::stoi(m[3]);
        event.tag = std::stoll(m[4]);
      }
      REQUIRE(labels.emplace(m[1], now->size()).second);
      now->push_back(std::move(event));
    }
  }
  return program;
}

// Runs sends and receives as rendezvous until nothing can go on; how many never ran.
std::size_t stuck_events(const Program& program, std::map<int, long long>& received) {
  std::vector<std::vector<char>> done, posted;
  for (const auto& events : program) {
    done.emplace_back(events.size(), 0);
    posted.emplace_back(events.size(), 0);
  }
  std::map<std::tuple<int, int, long long>, std::pair<std::size_t, std::size_t>> waiting[2];
  bool progress = true;
  while (progress) {
    progress = false;
    for (std::size_t r = 0; r < program.size(); ++r)
      for (std::size_t i = 0; i < program[r].size(); ++i) {
        const FileEvent& event = program[r][i];
        if (posted[r][i]) continue;
        bool ready = true;
        for (const std::size_t before : event.after) ready = ready && done[r][before];
        if (!ready) continue;
        posted[r][i] = 1;
        progress = true;
        if (event.kind == 'c') {
          done[r][i] = 1;
          continue;
        }
        const bool sends = event.kind == 's';
        const int self = static_cast<int>(r);
        const std::tuple key(sends ? self : event.peer, sends ? event.peer : self, event.tag);
        const auto other = waiting[!sends].find(key);
        if (other == waiting[!sends].end()) {
          REQUIRE(waiting[sends].emplace(key, std::pair(r, i)).second);
          continue;
        }
        const auto [peer, at] = other->second;
        REQUIRE(program[peer][at].bytes == event.bytes);
        if (event.bytes > kBarrierBytes) received[std::get<1>(key)] += event.bytes;
        done[r][i] = done[peer][at] = 1;
        waiting[!sends].erase(other);
      }
  }
  std::size_t stuck = 0;
  for (const auto& rank : done)
    for (const char one : rank) stuck += one == 0;
  return stuck;
}

// What each rank receives, by our own table.
std::map<int, long long> received_by_table(const std::string& scenario,
                                           const std::string& strategy) {
  const Outcome outcome = refit_program(
      {"export", "csv", scenario, "--strategy", strategy, "--wire-only", "--table", "rank"});
  REQUIRE(outcome.code == 0);
  std::map<int, long long> received;
  for (const CsvRecord& record : parse_csv(outcome.out, "ranks").records)
    if (record.cells[5] != "0") received[std::stoi(record.cells[0])] = std::stoll(record.cells[5]);
  return received;
}

TEST_CASE("export goal: runs to its end without a deadlock, with the same bytes", "[cli][export]") {
  const Folder folder;
  folder.write("four_pairs.yaml", kScenario);
  // Rounds and chunks, collectives and barriers, a lane with a window.
  const auto [file, strategy] =
      GENERATE(std::pair<std::string, std::string>{"moe_two_racks.yaml", "reshard"},
               std::pair<std::string, std::string>{"four_pairs.yaml", "gather_broadcast"},
               std::pair<std::string, std::string>{"wan_two_sites.yaml", "optimal"});
  CAPTURE(file, strategy);
  const std::string path = file == "four_pairs.yaml" ? folder / file : kSmall + file;
  const Outcome outcome = refit_program({"export", "goal", path, "--strategy", strategy});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Program program = parse_goal(outcome.out);
  std::map<int, long long> received;
  CHECK(stuck_events(program, received) == 0);
  CHECK(received == received_by_table(path, strategy));
}

TEST_CASE("export goal: a relay sends on what it has received", "[cli][export]") {
  const Folder folder;
  const std::string scenario = folder.write("s.yaml", kScenario);
  const Outcome outcome = refit_program({"export", "goal", scenario, "--strategy", "reshard"});
  REQUIRE(outcome.code == 0);
  const Program program = parse_goal(outcome.out);
  REQUIRE(program.size() == 8);
  std::size_t relayed = 0;
  for (std::size_t r = 4; r < 8; ++r)
    for (const FileEvent& event : program[r]) {
      if (event.kind != 's' || event.bytes <= kBarrierBytes) continue;
      ++relayed;
      CHECK(std::any_of(event.after.begin(), event.after.end(), [&](std::size_t before) {
        return program[r][before].kind == 'r' && program[r][before].bytes > kBarrierBytes;
      }));
    }
  CHECK(relayed > 0);
}

// A file of Chakra, read by the schema's numbers.
std::vector<FileEvent> parse_chakra(const std::string& text, int rank) {
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  std::vector<FileEvent> events;
  bool first = true;
  while (at != end) {
    const std::uint64_t size = protozero::decode_varint(&at, end);
    protozero::pbf_reader message(at, size);
    at += size;
    if (first) {
      REQUIRE(message.next(1));
      CHECK(message.get_string() == "0.0.4");
      first = false;
      continue;
    }
    FileEvent event;
    while (message.next()) {
      if (message.tag() == 1) {
        REQUIRE(message.get_uint64() == events.size());
      } else if (message.tag() == 3) {
        const int type = message.get_enum();
        event.kind = type == 5 ? 's' : type == 6 ? 'r' : 'c';
      } else if (message.tag() == 5) {
        for (const std::uint64_t before : message.get_packed_uint64()) {
          REQUIRE(before < events.size());
          event.after.push_back(before);
        }
      } else if (message.tag() == 10) {
        protozero::pbf_reader attribute = message.get_message();
        std::string name;
        long long value = 0;
        while (attribute.next()) {
          if (attribute.tag() == 1)
            name = attribute.get_string();
          else if (attribute.tag() == 7)
            value = attribute.get_int32();
          else if (attribute.tag() == 9)
            value = attribute.get_int64();
          else
            attribute.skip();
        }
        if (name == "comm_size") event.bytes = value;
        if (name == "comm_tag") event.tag = value;
        if (name == "comm_src" && event.kind == 's') CHECK(value == rank);
        if (name == (event.kind == 's' ? "comm_dst" : "comm_src"))
          event.peer = static_cast<int>(value);
      } else {
        message.skip();
      }
    }
    events.push_back(std::move(event));
  }
  return events;
}

TEST_CASE("export chakra: a file per rank that another reader runs to its end", "[cli][export]") {
  const Folder folder;
  const std::string scenario = kSmall + "moe_two_racks.yaml";
  const Outcome outcome =
      refit_program({"export", "chakra", scenario, "--strategy", "reshard", "-o", folder / "et"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  Program program;
  for (int rank = 0; std::filesystem::exists(folder / ("et/refit." + std::to_string(rank) + ".et"));
       ++rank)
    program.push_back(
        parse_chakra(text_of(folder / ("et/refit." + std::to_string(rank) + ".et")), rank));
  REQUIRE(program.size() == 24);  // 16 train, 8 generate
  std::map<int, long long> received;
  CHECK(stuck_events(program, received) == 0);
  // A message of a barrier has one byte: as many as it takes and gives on top of the table.
  const std::map<int, long long> table = received_by_table(scenario, "reshard");
  for (const auto& [rank, bytes] : received) {
    const auto found = table.find(rank);
    const long long more = bytes - (found == table.end() ? 0 : found->second);
    CAPTURE(rank);
    CHECK(more >= 0);
    CHECK(more < 100);
  }
}

double wire_seconds(const std::string& scenario, const std::string& strategy) {
  const Outcome outcome =
      refit_program({"simulate", scenario, "--strategy", strategy, "--wire-only", "--json"});
  REQUIRE(outcome.code == 0);
  return nlohmann::json::parse(outcome.out).at("strategies").at(0).at("predicted_s");
}

TEST_CASE("export simgrid: plain SimGrid comes to the same wire-only time", "[cli][export]") {
  const auto [file, strategy] =
      GENERATE(std::pair<std::string, std::string>{"dense_tp2_to_tp4.yaml", "reshard"},
               std::pair<std::string, std::string>{"moe_two_racks.yaml", "direct"},
               std::pair<std::string, std::string>{"oversubscribed_leaves.yaml", "reshard"},
               std::pair<std::string, std::string>{"wan_two_sites.yaml", "reshard"});
  CAPTURE(file, strategy);
  const Folder folder;
  const Outcome outcome = refit_program(
      {"export", "simgrid", kSmall + file, "--strategy", strategy, "-o", folder / "sg"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Outcome plain =
      run_program(REFIT_SIMGRID_READER, {folder / "sg/platform.xml", folder / "sg/comms.csv"});
  INFO(plain.err);
  REQUIRE(plain.code == 0);
  CHECK(std::stod(plain.out) == Approx(wire_seconds(kSmall + file, strategy)).epsilon(1e-6));
}

TEST_CASE("export simgrid: a collective's shares of links are refused with the op",
          "[cli][export]") {
  const Folder folder;
  const Outcome outcome = refit_program({"export", "simgrid", kSmall + "moe_two_racks.yaml",
                                         "--strategy", "gather_broadcast", "-o", folder / "sg"});
  CHECK(outcome.code == 2);
  CHECK(has(outcome.err, "of its bytes, and a route of SimGrid has a link whole"));
  CHECK(has(outcome.err, "op "));
}

}  // namespace
}  // namespace refit
