#include "schedule/schedule_json.h"

#include <random>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

Op op_of(OpKind kind, int lane, int phase, int round) {
  Op op;
  op.kind = kind;
  op.lane = static_cast<std::uint8_t>(lane);
  op.phase = static_cast<std::uint8_t>(phase);
  op.round = round;
  return op;
}

// No sensible plan, but every kind of op, every column
// with a value of its own.
SavedSchedule small() {
  SavedSchedule saved;
  saved.scenario_name = "small \"quoted\"";
  saved.scenario_text = "scenario: small\n# tab\t, backslash \\ and \xC3\xBC\n";
  Schedule& s = saved.schedule;
  s.strategy = "reshard";
  s.ranks = 40;
  s.lanes = 3;
  s.phases = {{"gather", 96}, {"reshard", 128}};
  Parcel first{.owners = {Rank{0}, Rank{1}, Rank{2}, Rank{32}},
               .demanders = {Rank{5}},
               .stage = 1,
               .group = 2,
               .chunks = 4,
               .bytes = 64,
               .fragments = {{ClassId{3}, {{0, 2}, {4, 8}}}, {ClassId{0}, {{7, 9}}}}};
  Parcel second = first;
  second.owners = {Rank{1}};
  s.parcels = {first, second};
  s.cargos = {{{ParcelId{0}, ParcelId{1}}}, {{ParcelId{1}}}, {}};
  s.groups = {{{Rank{0}, Rank{8}, Rank{9}, Rank{1}}, 2}};
  s.after = {OpId{0}, OpId{1}, OpId{0}};
  Op work = op_of(OpKind::compute, 0, 0, 0);
  work.work = Work::convert;
  work.count = 5;
  work.bytes = 7;
  Op gather = op_of(OpKind::all_gather, 1, 0, 3);
  gather.cargo = CargoId{1};
  gather.chunk_end = 4;
  gather.bytes = 96;
  gather.after_end = 1;
  Op transfer = op_of(OpKind::transfer, 2, 1, 4);
  transfer.src = Rank{1};
  transfer.dst = Rank{39};
  transfer.chunk_begin = 1;
  transfer.chunk_end = 3;
  transfer.count = 1;
  transfer.bytes = std::int64_t{1} << 40;
  transfer.after_end = 3;
  Op broadcast = op_of(OpKind::broadcast, 0, 1, 0);
  broadcast.src = Rank{8};
  s.ops = {work, gather, transfer, broadcast, op_of(OpKind::barrier, 0, 1, 9)};
  return saved;
}

std::string written(const SavedSchedule& saved) {
  std::ostringstream out;
  write_schedule(out, saved);
  return out.str();
}

std::string error_of(const std::string& text) {
  try {
    read_schedule(text, "plan.json");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "read without an error";
}

// The small plan's file with one place changed; the place must be there exactly once.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = written(small());
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("a saved schedule reads back equal, every column and list", "[schedule][json]") {
  const SavedSchedule saved = small();
  const std::string text = written(saved);
  REQUIRE(read_schedule(text, "plan.json") == saved);
  REQUIRE(written(read_schedule(text, "plan.json")) == text);
  REQUIRE(looks_like_schedule(text));
  REQUIRE_FALSE(looks_like_schedule(saved.scenario_text));
}

TEST_CASE("an empty schedule reads back equal", "[schedule][json]") {
  SavedSchedule saved;
  saved.schedule.ranks = 1;
  REQUIRE(read_schedule(written(saved), "plan.json") == saved);
}

TEST_CASE("random schedules read back equal", "[schedule][json]") {
  const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  SavedSchedule saved = small();
  Schedule& s = saved.schedule;
  for (int i = 0; i < 500; ++i) {
    Op op = op_of(static_cast<OpKind>(below(5)), below(3), below(2), below(1000));
    op.work = static_cast<Work>(below(9));
    op.src = Rank{below(40)};
    op.dst = Rank{below(40)};
    op.cargo = CargoId{below(3)};
    op.chunk_begin = below(4);
    op.chunk_end = op.chunk_begin + below(4);
    op.count = below(100);
    op.bytes = below(1 << 30);
    op.after_begin = static_cast<std::uint32_t>(s.after.size());
    for (int n = below(4); n > 0; --n)
      s.after.push_back(OpId{below(static_cast<int>(s.ops.size()))});
    op.after_end = static_cast<std::uint32_t>(s.after.size());
    s.ops.push_back(op);
  }
  REQUIRE(read_schedule(written(saved), "plan.json") == saved);
}

TEST_CASE("members may stand in any order", "[schedule][json]") {
  const SavedSchedule saved = small();
  // The lists' references are checked when all are there: `lanes` can come last.
  std::string text = changed("\"lanes\": 3,\n", "");
  text = text.substr(0, text.rfind('}')) + ", \"lanes\": 3}";
  REQUIRE(read_schedule(text, "plan.json") == saved);
}

TEST_CASE("rank lists are written as runs", "[schedule][json]") {
  const std::string text = written(small());
  REQUIRE(text.find("\"owners\": [[0,2],[32,32]], \"demanders\": [[5,5]]") != std::string::npos);
  REQUIRE(text.find("\"ranks\": [[0,0],[8,9],[1,1]], \"width\": 2") != std::string::npos);
}

TEST_CASE("another version or another file is named as such", "[schedule][json]") {
  REQUIRE(error_of(changed("refit.schedule/1", "refit.schedule/2")) ==
          "plan.json: schema: the file says \"refit.schedule/2\"; this program reads "
          "\"refit.schedule/1\"");
  REQUIRE(error_of("{}") == "plan.json: the member 'schema' is missing");
  REQUIRE(error_of("[]") == "plan.json: expected an object");
  REQUIRE(
      error_of("{\"schema\": \"refit.schedule/1\",\n \"rank\": 3}") ==
      "plan.json: unknown member 'rank'; a schedule has schema, strategy, scenario, ranks, lanes, "
      "phases, parcels, cargos, groups, ops, after, windows, caps");
  REQUIRE(error_of(changed("\"lanes\": 3", "\"ranks\": 3")) ==
          "plan.json: ranks: the member stands here twice");
}

TEST_CASE("a text that is not JSON is refused with line and column", "[schedule][json]") {
  REQUIRE(error_of("") == "plan.json:1:1: not JSON, or cut off here");
  REQUIRE(error_of("{\"schema\":\n  nonsense}") == "plan.json:2:4: not JSON, or cut off here");
}

TEST_CASE("a file cut off anywhere is refused", "[schedule][json]") {
  const std::string text = written(small());
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    CAPTURE(size);
    REQUIRE(error_of(text.substr(0, size)) != "read without an error");
  }
}

TEST_CASE("a damaged file is read or refused, never a crash", "[schedule][json]") {
  const unsigned seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string text = written(small());
  const std::string alphabet = "0123456789-.,:[]{}\"\\ eEtfn\n\x80";
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    for (int n = 0; n < 3; ++n) {
      damaged[random() % damaged.size()] = alphabet[random() % alphabet.size()];
    }
    try {
      const SavedSchedule read = read_schedule(damaged, "plan.json");
      // What was read is sound enough to be written and read again.
      REQUIRE(read_schedule(written(read), "plan.json") == read);
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::bad_input);
    }
  }
}

TEST_CASE("an index out of range is refused by op and column", "[schedule][json]") {
  // Op 2 in the file: transfer,none,lane 2,phase 1,round 4,1 -> 39,group 0,cargo 0,chunks 1..3,…
  const std::string op = "[\"transfer\",\"none\",2,1,4,1,39,0,0,1,3,1,1099511627776,0,3]";
  const auto with = [&](const std::string& columns) {
    return error_of(changed(op, "[\"transfer\",\"none\"," + columns + "]"));
  };
  CHECK(with("3,1,4,1,39,0,0,1,3,1,1,0,3") ==
        "plan.json: ops[2].lane: 3 is out of range; there are 3 lanes");
  CHECK(with("2,2,4,1,39,0,0,1,3,1,1,0,3") ==
        "plan.json: ops[2].phase: 2 is out of range; there are 2 phases");
  CHECK(with("2,1,4,40,39,0,0,1,3,1,1,0,3") ==
        "plan.json: ops[2].src: 40 is out of range; there are 40 ranks");
  CHECK(with("2,1,4,1,40,0,0,1,3,1,1,0,3") ==
        "plan.json: ops[2].dst: 40 is out of range; there are 40 ranks");
  CHECK(with("2,1,4,1,39,1,0,1,3,1,1,0,3") ==
        "plan.json: ops[2].group: 1 is out of range; there is 1 group");
  CHECK(with("2,1,4,1,39,0,99,1,3,1,1,0,3") ==
        "plan.json: ops[2].cargo: 99 is out of range; there are 3 cargos");
  CHECK(with("2,1,4,1,39,0,0,3,1,1,1,0,3") ==
        "plan.json: ops[2].chunk_begin: expected 0 <= begin <= end <= 65536, got 3 and 1");
  CHECK(with("2,1,4,1,39,0,0,1,3,1,1,0,4") ==
        "plan.json: ops[2].after_begin: expected 0 <= begin <= end <= 3, got 0 and 4");
  CHECK(with("2,1,4,-1,39,0,0,1,3,1,1,0,3") ==
        "plan.json: ops[2].src: expected an integer from 0 to 2147483647, got -1");
  CHECK(with("2,1,4,1.5,39,0,0,1,3,1,1,0,3") ==
        "plan.json: ops[2].src: expected an integer from 0 to 2147483647, got 1.5");
  CHECK(with("2,1,4,1,39,0,0,1,3,1,18446744073709551615,0,3") ==
        "plan.json: ops[2].bytes: expected an integer from 0 to 9007199254740992, got "
        "18446744073709551615");
  CHECK(with("2,1").find("plan.json: ops[2]: expected a list of 15 columns (kind, work,") == 0);
  CHECK(
      error_of(changed("\"barrier\"", "\"barier\"")) ==
      "plan.json: ops[4].kind: expected one of transfer, all_gather, broadcast, compute, barrier, "
      "got \"barier\"");
}

TEST_CASE("lists of other things are range-checked too", "[schedule][json]") {
  CHECK(error_of(changed("[0,1],\n[1],", "[0,2],\n[1],")) ==
        "plan.json: cargos[0][1]: 2 is out of range; there are 2 parcels");
  CHECK(error_of(changed("\"after\": [0,1,0]", "\"after\": [0,1,5]")) ==
        "plan.json: after[2]: 5 is out of range; there are 5 ops");
  CHECK(error_of(changed("\"after\": [0,1,0]", "\"after\": [[0]]")) ==
        "plan.json: after: expected a list of op numbers");
  CHECK(error_of(changed("\"ranks\": 40", "\"ranks\": 39")) ==
        "plan.json: ops[2].dst: 39 is out of range; there are 39 ranks");
  CHECK(error_of(changed("\"ranks\": 40", "\"ranks\": 9")) ==
        "plan.json: parcels[0].owners: 32 is out of range; there are 9 ranks");
  CHECK(error_of(changed("\"owners\": [[1,1]]", "\"owners\": []")) ==
        "plan.json: parcels[1].owners: expected at least one rank");
  CHECK(error_of(changed("\"owners\": [[1,1]]", "\"owners\": [[1,1],[0,0]]")) ==
        "plan.json: parcels[1].owners: ranks must ascend, each listed once");
  CHECK(error_of(changed("[[0,0],[8,9],[1,1]]", "[[0,0],[8,9],[9,9]]")) ==
        "plan.json: groups[0].ranks: rank 9 is listed twice");
  CHECK(error_of(changed("\"width\": 2", "\"width\": 5")) ==
        "plan.json: groups[0].width: expected an integer from 1 to 4, got 5");
  CHECK(error_of(changed("\"logical_bytes\": 96}", "\"logical_bytes\": 96, \"x\": 1}")) ==
        "plan.json: phases[0]: unknown member 'x'; use name, logical_bytes");
}

// Of three lanes the second has a window: rank 0 sends 2 at a time and rank 39 receives any number.
SavedSchedule windowed() {
  SavedSchedule saved = small();
  LaneWindow window{std::vector<std::uint16_t>(40, 1), std::vector<std::uint16_t>(40, 65535)};
  window.send.front() = 2;
  window.receive.back() = 0;
  saved.schedule.windows = {{}, window, {}};
  return saved;
}

TEST_CASE("lanes with windows read back equal", "[schedule][json]") {
  const SavedSchedule saved = windowed();
  const std::string text = written(saved);
  REQUIRE(read_schedule(text, "plan.json") == saved);
  REQUIRE(written(read_schedule(text, "plan.json")) == text);
  REQUIRE(text.find("{\"send\": [2,1,1,") != std::string::npos);
  REQUIRE(text.find("{\"send\": [], \"receive\": []}") != std::string::npos);
  // Plans without have no such member: equal plans of either kind keep their bytes.
  REQUIRE(written(small()).find("windows") == std::string::npos);
}

TEST_CASE("what a plan leaves to others reads back equal", "[schedule][json]") {
  SavedSchedule saved = small();
  REQUIRE(written(saved).find("caps") == std::string::npos);
  saved.schedule.caps = {25e9, 12.5e9};
  saved.schedule.ctas = 8;
  const std::string text = written(saved);
  REQUIRE(read_schedule(text, "plan.json").schedule == saved.schedule);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    try {
      read_schedule(other, "plan.json");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(with("\"ctas\": 8", "\"ctas\": -1") ==
        "plan.json: caps.ctas: expected an integer from 0 to 1024, got -1");
  CHECK(with("\"nic_bytes_per_s\": 25000000000", "\"nic_bytes_per_s\": -1") ==
        "plan.json: caps.nic_bytes_per_s: expected bytes per second, 0 or more, got -1");
}

TEST_CASE("windows out of their range are refused", "[schedule][json]") {
  const std::string text = written(windowed());
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return error_of(std::string(text).replace(at, from.size(), to));
  };
  CHECK(with("[2,1,", "[65536,1,") ==
        "plan.json: windows[1].send: expected an integer from 0 to 65535, got 65536");
  CHECK(with("[2,1,", "[-1,1,") ==
        "plan.json: windows[1].send: expected an integer from 0 to 65535, got -1");
  CHECK(with("[2,1,", "[2,") == "plan.json: windows[1]: expected 40 widths for each side, or none");
  CHECK(with("\"send\": []", "\"send\": [1]") ==
        "plan.json: windows[0]: expected 40 widths for each side, or none");
  CHECK(with("\"receive\": []", "\"receive\": 3") ==
        "plan.json: windows[0].receive: expected a list, got 3");
  CHECK(with("\"send\": [], ", "") == "plan.json: windows[0]: the member 'send' is missing");
  CHECK(with("\"receive\": []}", "\"receive\": [], \"both\": []}") ==
        "plan.json: windows[0]: unknown member 'both'; use send, receive");
  CHECK(with("{\"send\": [], \"receive\": []},", "") ==
        "plan.json: windows: expected one for each of 3 lanes, got 2");
}

TEST_CASE("a short text can't ask for much memory", "[schedule][json]") {
  CHECK(error_of(changed("[[0,0],[8,9],[1,1]]", "[[0,4000000000]]")) ==
        "plan.json: groups[0].ranks[0]: expected an integer from 0 to 1048575, got 4000000000");
  CHECK(error_of(changed("\"ranks\": 40", "\"ranks\": 4000000000")) ==
        "plan.json: ranks: expected an integer from 1 to 1048576, got 4000000000");
  // A parcel of a hundred characters lists a million ranks: 63 of them are allowed, 64 are not.
  std::string parcels;
  for (int i = 0; i < 64; ++i) {
    parcels +=
        "{\"owners\": [[0,1048575]], \"demanders\": [[0,0]], \"stage\": 0, \"group\": 0, "
        "\"chunks\": 1, \"bytes\": 0, \"fragments\": []},\n";
  }
  CHECK(error_of(changed("\"parcels\": [\n", "\"parcels\": [\n" + parcels)) ==
        "plan.json: parcels[63].owners[0]: the file lists more than 67108864 ranks in all");
  const std::string deep(100, '[');
  CHECK(
      error_of(changed("\"after\": [0,1,0]", "\"phases\": [" + deep)).find("plan.json: phases: ") ==
      0);
  CHECK(error_of("{\"schema\": " + deep) == "plan.json: schema: nested deeper than 8 levels");
}

}  // namespace
}  // namespace refit
