#include "tests/schedule/saved_plans.h"

#include <cstdint>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace refit::test {

Op op_of(OpKind kind, int lane, int phase, int round) {
  Op op;
  op.kind = kind;
  op.lane = static_cast<std::uint8_t>(lane);
  op.phase = static_cast<std::uint8_t>(phase);
  op.round = round;
  return op;
}

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

SavedSchedule windowed() {
  SavedSchedule saved = small();
  LaneWindow window{std::vector<std::uint16_t>(40, 1), std::vector<std::uint16_t>(40, 65535)};
  window.send.front() = 2;
  window.receive.back() = 0;
  saved.schedule.windows = {{}, window, {}};
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

std::string changed(const std::string& from, const std::string& to) {
  std::string text = written(small());
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace refit::test
