#include <algorithm>
#include <random>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "schedule/schedule_json.h"
#include "tests/schedule/saved_plans.h"

namespace refit {
namespace {

using test::changed;
using test::error_of;
using test::small;
using test::windowed;
using test::written;

TEST_CASE("another version or another file is named as such", "[schedule][json]") {
  REQUIRE(error_of(changed("refit.schedule/1", "refit.schedule/2")) ==
          "plan.json: schema: the file says \"refit.schedule/2\"; this program reads "
          "\"refit.schedule/1\"");
  REQUIRE(error_of("{}") == "plan.json: the member 'schema' is missing");
  REQUIRE(error_of("[]") == "plan.json: expected an object");
  REQUIRE(
      error_of("{\"schema\": \"refit.schedule/1\",\n \"rank\": 3}") ==
      "plan.json: unknown member 'rank'; a schedule has schema, strategy, scenario, ranks, lanes, "
      "phases, parcels, cargos, groups, ops, after, windows, caps, coding");
  REQUIRE(error_of(changed("\"lanes\": 3", "\"ranks\": 3")) ==
          "plan.json: ranks: the member stands here twice");
  REQUIRE(error_of(changed("\"logical_bytes\": 96", "\"name\": \"a\", \"logical_bytes\": 96")) ==
          "plan.json: phases[0]: a member 'name' stands here twice");
  REQUIRE(error_of(changed("\"width\": 2", "\"width\": 2, \"width\": 2")) ==
          "plan.json: groups[0]: a member 'width' stands here twice");
  REQUIRE(error_of(changed(", \"text\": ", ", \"name\": \"\", \"text\": ")) ==
          "plan.json: scenario: a member 'name' stands here twice");
  REQUIRE(error_of(changed("\"refit.schedule/1\"", "[1]")) ==
          "plan.json: schema: expected a text, got [1]");
  REQUIRE(error_of(changed("\"after\": [0,1,0]", "\"after\": 3")) ==
          "plan.json: after: expected a list, got 3");
}

TEST_CASE("a member of the wrong kind is refused", "[schedule][json]") {
  const auto [from, to, error] = GENERATE(table<const char*, const char*, const char*>({
      {"\"strategy\": \"reshard\"", "\"strategy\": 7", "strategy: expected a text, got 7"},
      {"\"strategy\": \"reshard\"", "\"strategy\": {\"a\": [1]}",
       "strategy: expected a text, got {\"a\":[1]}"},
      {"\"ranks\": 40", "\"ranks\": \"40\"",
       "ranks: expected an integer from 1 to 1048576, got \"40\""},
      {"\"ranks\": 40", "\"ranks\": [[0,39]]",
       "ranks: expected an integer from 1 to 1048576, got [[0,39]]"},
      {"\"lanes\": 3", "\"lanes\": null", "lanes: expected an integer from 0 to 256, got null"},
      {"\"lanes\": 3", "\"lanes\": 3.0", "lanes: expected an integer from 0 to 256, got 3.0"},
      {"\"after\": [0,1,0]", "\"after\": {\"0\": 1}", "after: expected a list, got an object"},
      {"\"after\": [0,1,0]", "\"after\": [0,true,0]",
       "after[1]: expected an integer from 0 to 2147483647, got true"},
      {"\"name\": \"small \\\"quoted\\\"\"", "\"name\": []",
       "scenario.name: expected a text, got []"},
      {"{\"name\": \"gather\", \"logical_bytes\": 96}", "[\"gather\", 96]",
       "phases[0]: expected an object, got [\"gather\",96]"},
      {"{\"name\": \"gather\", \"logical_bytes\": 96}", "\"gather\"",
       "phases[0]: expected an object, got \"gather\""},
      {"[0,1],\n[1],", "0,\n[1],", "cargos[0]: expected a list, got 0"},
      {"[0,1],\n[1],", "{\"0\": 1},\n[1],", "cargos[0]: expected a list, got {\"0\":1}"},
      {"[[0,0],[8,9],[1,1]]", "[0,8]",
       "groups[0].ranks[0]: expected [first rank, last rank], got 0"},
  }));
  CHECK(error_of(changed(from, to)) == fmt::format("plan.json: {}", error));
}

TEST_CASE("a number that is none of an op's is refused by its column", "[schedule][json]") {
  const std::string op = "[\"transfer\",\"none\",2,1,4,1,39,0,0,1,3,1,1099511627776,0,3]";
  const auto with = [&](const std::string& bytes) {
    return error_of(changed(op, "[\"transfer\",\"none\",2,1,4,1,39,0,0,1,3,1," + bytes + ",0,3]"));
  };
  const std::string expected =
      "plan.json: ops[2].bytes: expected an integer from 0 to 9007199254740992, got ";
  CHECK(with("9007199254740992") == "read without an error");
  CHECK(with("9007199254740993") == expected + "9007199254740993");
  CHECK(with("9223372036854775808") == expected + "9223372036854775808");      // 2^63
  CHECK(with("18446744073709551616") == expected + "1.8446744073709552e+19");  // 2^64
  CHECK(with("-9223372036854775808") == expected + "-9223372036854775808");
  CHECK(with("1e3") == expected + "1000.0");
  CHECK(with("\"1\"") == expected + "\"1\"");
  CHECK(with("[1]") == expected + "[1]");
  CHECK(with("1e999").find("plan.json: ops: not JSON that can be read: ") == 0);
  CHECK(
      error_of(changed("\"transfer\"", "0")) ==
      "plan.json: ops[2].kind: expected one of transfer, all_gather, broadcast, compute, barrier, "
      "got 0");
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

TEST_CASE("what a plan leaves to others is a rate and a count", "[schedule][json]") {
  SavedSchedule saved = small();
  saved.schedule.caps = {25e9, 12.5e9};
  saved.schedule.ctas = 8;
  const std::string text = written(saved);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    return error_of(other.replace(other.find(from), from.size(), to));
  };
  CHECK(with("\"ctas\": 8", "\"ctas\": -1") ==
        "plan.json: caps.ctas: expected an integer from 0 to 1024, got -1");
  CHECK(with("\"nic_bytes_per_s\": 25000000000", "\"nic_bytes_per_s\": -1") ==
        "plan.json: caps.nic_bytes_per_s: expected bytes per second, 0 or more, got -1");
}

TEST_CASE("a file cut off is refused where it ends", "[schedule][json]") {
  const std::string text = written(small());
  const std::size_t cut =
      text.find("[\"transfer\"") + 15;  // behind the first comma of the third op
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<int>(cut), '\n');
  CHECK(error_of(text.substr(0, cut)) ==
        fmt::format("plan.json:{}:16: not JSON, or cut off here", line));
  CHECK(error_of(text + "{}") == fmt::format("plan.json:{}:1: not JSON, or cut off here",
                                             1 + std::count(text.begin(), text.end(), '\n')));
}

TEST_CASE("nothing is nested deeper than a plan needs", "[schedule][json]") {
  const auto nested = [](int levels) {
    const auto count = static_cast<std::size_t>(levels);
    return std::string(count, '[') + std::string(count, ']');
  };
  // Around an item of `ops` stand two containers, around a member one.
  CHECK(error_of(changed("\"ops\": [\n", "\"ops\": [\n" + nested(7) + ",\n"))
            .find("plan.json: ops[0]: expected a list of 15 columns") == 0);
  CHECK(error_of(changed("\"ops\": [\n", "\"ops\": [\n" + nested(8) + ",\n")) ==
        "plan.json: ops: nested deeper than 8 levels");
  CHECK(error_of(changed("\"ranks\": 40", "\"ranks\": " + nested(8))) ==
        "plan.json: ranks: expected an integer from 1 to 1048576, got [[[[[[[[]]]]]]]]");
  CHECK(error_of(changed("\"ranks\": 40", "\"ranks\": " + nested(9))) ==
        "plan.json: ranks: nested deeper than 8 levels");
  CHECK(error_of(changed("\"ranks\": 40", "\"ranks\": " + nested(1'000'000))) ==
        "plan.json: ranks: nested deeper than 8 levels");
}

TEST_CASE("a short text can't ask for much memory", "[schedule][json]") {
  CHECK(error_of(changed("[[0,0],[8,9],[1,1]]", "[[0,4000000000]]")) ==
        "plan.json: groups[0].ranks[0]: expected an integer from 0 to 1048575, got 4000000000");
  CHECK(error_of(changed("\"ranks\": 40", "\"ranks\": 4000000000")) ==
        "plan.json: ranks: expected an integer from 1 to 1048576, got 4000000000");
  CHECK(error_of(changed("\"fragments\": [[3,[0,2],[4,8]],[0,[7,9]]]},\n{\"owners\": [[1,1]]",
                         "\"fragments\": [[3,[0,9007199254740993]]]},\n{\"owners\": [[1,1]]")) ==
        "plan.json: parcels[0].fragments[0]: expected an integer from 1 to 9007199254740992, got "
        "9007199254740993");
  const std::string op = "[\"transfer\",\"none\",2,1,4,1,39,0,0,1,3,1,1099511627776,0,3]";
  CHECK(error_of(changed(op, "[\"transfer\",\"none\",2,1,4,1,39,0,0,1,2147483647,1,1,0,3]")) ==
        "plan.json: ops[2].chunk_begin: expected 0 <= begin <= end <= 65536, got 1 and 2147483647");
  CHECK(error_of(changed(op, "[\"transfer\",\"none\",2,1,4,1,39,0,0,1,3,1,1,0,4294967295]")) ==
        "plan.json: ops[2].after_begin: expected 0 <= begin <= end <= 3, got 0 and 4294967295");
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
