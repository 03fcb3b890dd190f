#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/parcels.h"
#include "schedule/schedule.h"

namespace refit {

// Where an op stands in the plan.
struct Slot {
  int lane = 0;
  int round = 0;
};

// Chunks [begin, end) of every parcel of a cargo.
struct ChunkRange {
  int begin = 0;
  int end = 0;
};

// The only way to make a schedule. Ops are appended in an order that is safe to run one by one;
// groups, cargos and their bytes are computed once.
class ScheduleBuilder {
 public:
  // The parcels' `chunks` are set by now and stay.
  ScheduleBuilder(const Refit& refit, std::string strategy, std::vector<Parcel> parcels, int lanes);

  const std::vector<Parcel>& parcels() const { return schedule_.parcels; }

  // Interned: equal content gets the same id.
  GroupId group(std::vector<Rank> ranks, int width);
  GroupId group(std::vector<Rank> ranks);  // one row
  CargoId cargo(std::vector<ParcelId> parcels);

  // The lane has no rounds from now on. Before its first op.
  void set_caps(const LinkCaps& caps, int ctas);
  void set_coding(const Coding& coding) { schedule_.coding = coding; }
  const std::optional<Coding>& coding() const { return schedule_.coding; }
  void set_window(int lane, LaneWindow window);

  int begin_phase(std::string name);  // ops from here on belong to it
  void continue_phase(int phase);     // back to one that has begun
  // The first round of a lane that no op uses yet.
  int next_round(int lane) const { return next_round_[static_cast<std::size_t>(lane)]; }

  OpId transfer(Slot slot, Rank src, Rank dst, CargoId cargo, ChunkRange chunks,
                const std::vector<OpId>& after = {});
  OpId all_gather(Slot slot, GroupId group, CargoId cargo, ChunkRange chunks,
                  const std::vector<OpId>& after = {});
  OpId broadcast(Slot slot, Rank root, GroupId group, CargoId cargo, ChunkRange chunks,
                 const std::vector<OpId>& after = {}, Work how = Work::none);
  // `bytes` on each rank of the group, `count` pieces.
  OpId compute(Slot slot, Work work, GroupId group, std::int64_t count, std::int64_t bytes,
               const std::vector<OpId>& after = {});
  // On all lanes; all rounds after it are later ones.
  OpId barrier(GroupId group);

  Schedule finish() &&;

 private:
  // An op that moves chunks of a cargo; its kind, ranks and slot are set.
  OpId move(Op op, CargoId cargo, ChunkRange chunks, const std::vector<OpId>& after);
  OpId append(Op op, const std::vector<OpId>& after);
  std::int64_t cargo_bytes(CargoId cargo, ChunkRange chunks);
  void note_moved(CargoId cargo);

  const Refit& refit_;
  Schedule schedule_;
  std::vector<int> next_round_;
  std::map<std::pair<std::vector<Rank>, int>, GroupId> groups_;
  std::map<std::vector<ParcelId>, CargoId> cargos_;
  std::vector<std::vector<std::int64_t>>
      parcel_bytes_;  // prefix sums over the chunks of each parcel
  std::vector<std::vector<std::int64_t>> cargo_bytes_;  // prefix sums over chunks; empty: not yet
  int phase_ = 0;
  std::vector<std::vector<bool>> moved_;  // [phase][parcel]: counted in the phase's logical bytes
  std::vector<int> cargo_in_phase_;       // per cargo: the last phase that was told of it
};

}  // namespace refit
