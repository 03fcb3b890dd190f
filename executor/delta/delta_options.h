#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/id.h"
#include "delta/container.h"
#include "delta/update_model.h"
#include "executor/moves.h"
#include "executor/object_store/object_store.h"

namespace refit {

// How a refit that sends changes is run, version by version.
struct DeltaRunOptions {
  int versions = 5;
  int warmup = 0;                   // versions before these, which are not timed
  std::uint64_t first_version = 0;  // the others follow it
  // The first version travels, whole and in warm-up, to receivers that hold nothing. Otherwise both
  // sides have it before the run begins, as from one checkpoint.
  bool anchor = true;
  bool check = true;  // every element of every destination, after every version
  UpdateModel model;  // of the trainer
  std::uint32_t segment_elements = kMostSegmentElements;
  MoveOptions moves;
  // Where there is one, payloads travel through it instead of by the plan's moves: owners write,
  // whoever demands them reads. Opened by each rank.
  std::function<std::unique_ptr<ObjectStore>()> store;
  // Called when all payloads have come and nothing is checked yet; tests break things here.
  // Again with what was damaged and has come anew.
  std::function<void(Rank, std::uint64_t version, std::size_t chunk, std::string& payload)> arrived;
  // Called before a segment is written, with the elements of the shard that it is in; likewise.
  std::function<void(Rank, std::uint64_t version, std::span<std::byte> shard)> applying;

  int all_versions() const { return 1 + warmup + versions; }  // with the first
};

}  // namespace refit
