#pragma once

#include <optional>

namespace refit {

// Who sends a packed broadcast.
enum class Senders {
  trainers,     // the first trainer, in one communicator with all trainers and engines
  one,          // the first trainer, in a communicator with the engines only
  stage_heads,  // the first trainer of every pipeline stage, stages side by side
  node,         // the trainers of the first one's node take turns, side by side
};

// What a framework does around the transfers of its strategy, step by step, and what its timer
// sees of it. The steps become compute ops; what one costs is the network model's.
struct Conduct {
  Senders senders = Senders::trainers;
  std::optional<int> buffers;  // in flight, instead of the plan's
  std::optional<int> streams;  // stages at the same time, instead of the plan's
  bool start = true;           // remote calls and synchronisation before the first byte
  // On trainers:
  bool exports = true;        // parameters are gathered one by one
  bool yields = true;         // checkpoint tensors are named, converted and packed one by one
  bool stacks = true;         // expert matrices are regrouped before a reshard
  bool assembles = false;     // whole tensors are copied into buckets, and out of them
  bool through_host = false;  // shards are cut in, or come from, host memory
  // On the way:
  bool streamed = false;  // broadcasts are not cut into frames
  // The next bucket waits until the last one is loaded, not only until it is sent.
  bool waits_for_load = false;
  // Trainers export whole tensors, and all engines get and read all of them, whatever they need.
  bool everything = false;
  // On engines:
  bool loads = true;   // the loader takes checkpoint tensors one by one
  bool pulls = false;  // engines fetch tensors one by one
  bool lands = true;   // bytes are unpacked and copied into place

  friend bool operator==(const Conduct&, const Conduct&) = default;
};

// What a scenario asks for around any plan. Published timers mostly leave it out.
struct Around {
  bool pauses = false;     // engines stop generating before the first byte and go on after the last
  bool describes = false;  // engines are told of all tensors in each refit, not once before

  friend bool operator==(const Around&, const Around&) = default;
};

}  // namespace refit
