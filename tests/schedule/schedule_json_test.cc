#include "schedule/schedule_json.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/schedule/saved_plans.h"

namespace refit {
namespace {

using test::changed;
using test::op_of;
using test::small;
using test::windowed;
using test::written;

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

// The members of a written file, each with its value: they begin on lines of their own.
std::vector<std::string> members_of(const std::string& text) {
  std::vector<std::string> members;
  std::size_t begin = text.find('"');
  while (begin != std::string::npos) {
    const std::size_t next = text.find("\n\"", begin);
    const std::size_t end = next == std::string::npos ? text.rfind('}') : text.rfind(',', next);
    members.push_back(text.substr(begin, end - begin));
    begin = next == std::string::npos ? next : next + 1;
  }
  return members;
}

TEST_CASE("every order of the members reads back equal", "[schedule][json]") {
  SavedSchedule saved = windowed();
  saved.schedule.caps = {25e9, 12.5e9};
  std::vector<std::string> members = members_of(written(saved));
  REQUIRE(members.size() == 13);
  SECTION("backwards") { std::reverse(members.begin(), members.end()); }
  SECTION("shuffled") {
    const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
    CAPTURE(seed);
    std::mt19937 random(seed);
    for (std::size_t i = members.size(); i > 1; --i)
      std::swap(members[i - 1], members[random() % i]);
  }
  const std::string text = fmt::format("{{{}}}", fmt::join(members, ", "));
  CAPTURE(text);
  REQUIRE(read_schedule(text, "plan.json") == saved);
}

TEST_CASE("members of items may stand in any order too", "[schedule][json]") {
  REQUIRE(read_schedule(changed("{\"name\": \"gather\", \"logical_bytes\": 96}",
                                "{\"logical_bytes\": 96, \"name\": \"gather\"}"),
                        "plan.json") == small());
}

TEST_CASE("rank lists are written as runs", "[schedule][json]") {
  const std::string text = written(small());
  REQUIRE(text.find("\"owners\": [[0,2],[32,32]], \"demanders\": [[5,5]]") != std::string::npos);
  REQUIRE(text.find("\"ranks\": [[0,0],[8,9],[1,1]], \"width\": 2") != std::string::npos);
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
}

}  // namespace
}  // namespace refit
