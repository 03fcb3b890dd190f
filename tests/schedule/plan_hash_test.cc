#include "schedule/plan_hash.h"

#include <functional>
#include <map>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "schedule/schedule_json.h"

namespace refit {
namespace {

// No sensible plan, but every list has items and every field a value of its own.
Schedule small() {
  Schedule s;
  s.strategy = "reshard";
  s.ranks = 3;
  s.lanes = 2;
  s.caps = {25e9, 200e9};
  s.ctas = 8;
  s.phases = {{"gather", 96}, {"reshard", 128}};
  s.parcels = {{.owners = {Rank{0}, Rank{2}},
                .demanders = {Rank{1}},
                .stage = 1,
                .group = 2,
                .chunks = 4,
                .bytes = 64,
                .fragments = {{ClassId{3}, {{0, 2}, {4, 8}}}}},
               {.owners = {Rank{1}}, .demanders = {Rank{2}}, .bytes = 7, .fragments = {}}};
  s.cargos = {{{ParcelId{0}, ParcelId{1}}}, {{ParcelId{1}}}};
  s.groups = {{{Rank{0}, Rank{2}}, 2}};
  s.after = {OpId{0}};
  Op work;
  work.kind = OpKind::compute;
  work.work = Work::convert;
  work.count = 5;
  work.bytes = std::int64_t{1} << 40;
  Op transfer;
  transfer.lane = 1;
  transfer.phase = 1;
  transfer.src = Rank{2};
  transfer.dst = Rank{1};
  transfer.chunk_begin = 1;
  transfer.chunk_end = 3;
  transfer.bytes = 32;
  transfer.after_end = 1;
  s.ops = {work, transfer};
  s.windows = {{}, {{2, 2, 1}, {1, 1, 3}}};
  return s;
}

std::string changed(const std::function<void(Schedule&)>& change) {
  Schedule s = small();
  change(s);
  return plan_hash(s);
}

}  // namespace

TEST_CASE("plan hash: a plan that was saved and read back has the same", "[schedule][hash]") {
  const SavedSchedule saved{"small", "scenario: small\n", small()};
  std::ostringstream out;
  write_schedule(out, saved);
  CHECK(plan_hash(read_schedule(out.str(), "plan.json").schedule) == plan_hash(small()));
}

TEST_CASE("plan hash: it is the same on every machine and stays so", "[schedule][hash]") {
  // XXH3_64bits of the numbers as eight bytes each, least first, in the order of plan_hash.cc,
  // packed by a script and hashed by the library's one-shot function: 86 numbers for the small
  // plan, 11 for the empty one.
  CHECK(plan_hash(small()) == "b1ebab52d6445d0f");
  CHECK(plan_hash(Schedule{}) == "af60304232a17df2");
}

TEST_CASE("plan hash: any field that differs gives another", "[schedule][hash]") {
  const std::map<std::string, std::function<void(Schedule&)>> changes{
      {"ranks", [](Schedule& s) { s.ranks = 4; }},
      {"lanes", [](Schedule& s) { s.lanes = 3; }},
      {"NIC cap", [](Schedule& s) { s.caps.nic_bytes_per_s = 26e9; }},
      {"NVLink cap", [](Schedule& s) { s.caps.nvlink_bytes_per_s = 0; }},
      {"CTAs", [](Schedule& s) { s.ctas = 0; }},
      {"owners", [](Schedule& s) { s.parcels[0].owners = {Rank{0}}; }},
      {"demanders", [](Schedule& s) { s.parcels[0].demanders = {Rank{2}}; }},
      // The lists' items in order are the same, only the border between them is another.
      {"owner or demander",
       [](Schedule& s) {
         s.parcels[0].owners = {Rank{0}};
         s.parcels[0].demanders = {Rank{2}, Rank{1}};
       }},
      {"stage", [](Schedule& s) { s.parcels[0].stage = 0; }},
      {"group", [](Schedule& s) { s.parcels[0].group = 3; }},
      {"chunks", [](Schedule& s) { s.parcels[0].chunks = 5; }},
      {"bytes of a parcel", [](Schedule& s) { s.parcels[0].bytes = 65; }},
      {"class", [](Schedule& s) { s.parcels[0].fragments[0].tensor_class = ClassId{0}; }},
      {"begin of a region", [](Schedule& s) { s.parcels[0].fragments[0].region[1].begin = 5; }},
      {"end of a region", [](Schedule& s) { s.parcels[0].fragments[0].region[0].end = 3; }},
      {"a parcel less", [](Schedule& s) { s.parcels.pop_back(); }},
      {"order of parcels", [](Schedule& s) { std::swap(s.parcels[0], s.parcels[1]); }},
      {"cargo",
       [](Schedule& s) {
         s.cargos[0].parcels = {ParcelId{1}, ParcelId{0}};
       }},
      {"ranks of a group", [](Schedule& s) { s.groups[0].ranks[1] = Rank{1}; }},
      {"width of a group", [](Schedule& s) { s.groups[0].width = 1; }},
      {"kind", [](Schedule& s) { s.ops[0].kind = OpKind::barrier; }},
      {"work", [](Schedule& s) { s.ops[0].work = Work::pack; }},
      {"lane", [](Schedule& s) { s.ops[1].lane = 0; }},
      {"phase", [](Schedule& s) { s.ops[1].phase = 0; }},
      {"round", [](Schedule& s) { s.ops[1].round = 1; }},
      {"sender", [](Schedule& s) { s.ops[1].src = Rank{0}; }},
      {"receiver", [](Schedule& s) { s.ops[1].dst = Rank{0}; }},
      {"group of an op", [](Schedule& s) { s.ops[1].group = GroupId{1}; }},
      {"cargo of an op", [](Schedule& s) { s.ops[1].cargo = CargoId{1}; }},
      {"first chunk", [](Schedule& s) { s.ops[1].chunk_begin = 0; }},
      {"last chunk", [](Schedule& s) { s.ops[1].chunk_end = 4; }},
      {"count", [](Schedule& s) { s.ops[1].count = 1; }},
      {"bytes of an op", [](Schedule& s) { s.ops[1].bytes = 33; }},
      {"begin of after", [](Schedule& s) { s.ops[1].after_begin = 1; }},
      {"end of after", [](Schedule& s) { s.ops[1].after_end = 0; }},
      {"after", [](Schedule& s) { s.after[0] = OpId{1}; }},
      {"order of ops", [](Schedule& s) { std::swap(s.ops[0], s.ops[1]); }},
      {"send window", [](Schedule& s) { s.windows[1].send[0] = 1; }},
      {"receive window", [](Schedule& s) { s.windows[1].receive[2] = 1; }},
      {"no windows", [](Schedule& s) { s.windows.clear(); }},
  };
  std::map<std::string, std::string> seen{{plan_hash(small()), "nothing"}};
  for (const auto& [name, change] : changes) {
    const auto [other, fresh] = seen.emplace(changed(change), name);
    CAPTURE(name, other->second);
    CHECK(fresh);
  }
}

TEST_CASE("plan hash: what a plan is called does not matter", "[schedule][hash]") {
  CHECK(changed([](Schedule& s) { s.strategy = "policy"; }) == plan_hash(small()));
  CHECK(changed([](Schedule& s) { s.phases = {{"all", 1}, {"rest", 2}}; }) == plan_hash(small()));
}

}  // namespace refit
