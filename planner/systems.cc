#include "planner/systems.h"

#include <algorithm>
#include <string>
#include <vector>

namespace refit {
namespace {

using enum Strategy;

Conduct conduct_of(Senders senders) {
  Conduct conduct;
  conduct.senders = senders;
  return conduct;
}

Conduct transfer_only() {
  Conduct conduct;
  conduct.start = conduct.exports = conduct.yields = conduct.stacks = false;
  conduct.loads = conduct.lands = false;
  return conduct;
}

// Trainers fill the next bucket while engines load the last one. Their own steps don't overlap: the
// export's collectives and the broadcast take turns on the GPUs.
Conduct packed() {
  Conduct conduct;
  conduct.buffers = 1;
  return conduct;
}

Conduct packed_serial() {
  Conduct conduct = packed();
  conduct.waits_for_load = true;
  return conduct;
}

// Trainers gather stage by stage and hand the engines what they load.
Conduct miles_p2p() {
  Conduct conduct;
  conduct.stacks = conduct.loads = conduct.lands = false;
  conduct.through_host = true;
  return conduct;
}

Conduct fetched(bool loads) {
  Conduct conduct;
  conduct.exports = conduct.yields = conduct.stacks = conduct.lands = false;
  conduct.pulls = true;
  conduct.loads = loads;
  return conduct;
}

Conduct one_root() {
  Conduct conduct = conduct_of(Senders::one);
  conduct.start = conduct.exports = conduct.yields = false;
  return conduct;
}

Conduct verl(Senders senders) {
  Conduct conduct = transfer_only();
  conduct.senders = senders;
  conduct.buffers = 1;
  conduct.assembles = conduct.streamed = true;
  return conduct;
}

Conduct golden() {
  Conduct conduct = transfer_only();
  conduct.streamed = true;
  return conduct;
}

Conduct from_host(bool loads) {
  Conduct conduct = conduct_of(Senders::one);
  conduct.exports = conduct.yields = conduct.stacks = conduct.lands = false;
  conduct.through_host = true;
  conduct.loads = loads;
  return conduct;
}

// Whole tensors to everybody, from one region to another.
Conduct between_clusters(bool exports_and_loads) {
  Conduct conduct;
  conduct.everything = true;
  conduct.exports = conduct.yields = conduct.loads = exports_and_loads;
  conduct.lands = false;
  return conduct;
}

Policy coded(Policy policy) {
  policy.coded = true;
  return policy;
}

Policy policy(std::string_view name, Strategy rest, Conduct conduct) {
  return {std::string(name), rest, {}, conduct};
}

Policy bulk_by(std::string_view name, Strategy bulk, Strategy rest, Conduct conduct) {
  return {std::string(name), rest, {{Role::routed_expert, bulk}, {Role::dense_ffn, bulk}}, conduct};
}

std::vector<System> table() {
  std::vector<System> list;
  const auto add = [&](std::string_view does, std::string_view includes, bool calibrated,
                       Policy p) {
    list.push_back({{}, does, includes, calibrated, std::move(p)});
  };
  add("NeMo RL: gather, packed broadcast, load; two buffers, so that the next one is filled while "
      "the "
      "last is loaded",
      "the whole refit: export, broadcast, load", true,
      policy("nemo_rl_packed", gather_broadcast, packed()));
  add("NeMo RL: the same with one buffer, which is loaded before it is filled again",
      "the whole refit: export, broadcast, load", false,
      policy("nemo_rl_packed_serial", gather_broadcast, packed_serial()));
  add("NeMo RL: feed-forward weights shard to shard in streams, then the rest by packed broadcast",
      "the whole refit: bulk, landing, rest, strictly one after the other", true,
      bulk_by("nemo_rl_reshard", stripe, gather_broadcast, packed()));
  add("NeMo RL: every shard broadcast whole into live parameters, the reference of its tests",
      "the transfer only", true, policy("nemo_rl_golden", owner_broadcast, golden()));
  add("NCCL M2N as a library: one copy per NVLink domain, then NVLink", "the transfer only", true,
      policy("m2n_hierarchical", reshard, transfer_only()));
  add("NCCL M2N as a library: every replica straight from a source", "the transfer only", true,
      policy("m2n_direct", direct, transfer_only()));
  add("NeMo RL's NIXL checkpoint engine: engines fetch their expert shards and load all tensors",
      "the whole refit, engines idle", true, policy("nemo_rl_nixl", direct, fetched(true)));
  add("NeMo RL's NIXL checkpoint engine with whole expert tensors for every rank",
      "the whole refit, engines idle", true, policy("nemo_rl_nixl_full", direct, fetched(true)));
  add("one trainer broadcasts to all engines, which load tensor by tensor",
      "transfer and update of weights", true,
      policy("one_root_broadcast", gather_broadcast, one_root()));
  add("miles, slime: the first trainer of every stage broadcasts to all engines, stages side by "
      "side",
      "the update, without pausing and resuming", true,
      policy("miles_broadcast", gather_broadcast, conduct_of(Senders::stage_heads)));
  add("miles: shards cut in host memory and written to the engine ranks that need them",
      "the update, without pausing and resuming", true, policy("miles_p2p", direct, miles_p2p()));
  add("checkpoint-engine: from host memory, bucket by bucket, each owner broadcasts its own",
      "host to device, broadcast and load", false,
      policy("checkpoint_engine_broadcast", owner_broadcast, from_host(true)));
  add("checkpoint-engine: from host memory straight to the ranks that need it",
      "host to device and transfer", false,
      policy("checkpoint_engine_p2p", direct, from_host(false)));
  add("verl: one trainer gathers and broadcasts to all engines", "gather, broadcast, copy", true,
      policy("verl_broadcast", gather_broadcast, verl(Senders::one)));
  add("verl: the trainers of one node broadcast in turn, side by side", "gather, broadcast, copy",
      true, policy("verl_relays", gather_broadcast, verl(Senders::node)));
  add("engines fetch the shards that they need and nothing else", "the transfer and its hand-over",
      false, policy("sharded_pull", direct, fetched(false)));
  add("NeMo-DCR's reference: the whole checkpoint through an object store, read by every node",
      "the transfer only", false, policy("nemo_dcr_full", object_store, between_clusters(false)));
  add("NeMo-DCR: changes through an object store, read and decoded by every node",
      "the whole refit: compare, encode, transfer, apply, commit", false,
      coded(policy("nemo_dcr_object_store", object_store, between_clusters(false))));
  add("NeMo-DCR: changes cross once, and a relay tree brings them to every node",
      "the whole refit: compare, encode, transfer, apply, commit", false,
      coded(policy("nemo_dcr_relay_tree", relay_tree, between_clusters(false))));
  add("NeMo RL's sparse refit: tensors exported and compared, changes through S3 to every node, "
      "loaded tensor by tensor",
      "the whole refit, generation paused", false,
      coded(policy("nemo_rl_sparse_s3", object_store, between_clusters(true))));
  add("NeMo RL's sparse refit by ZeroMQ: the same, along relay trees",
      "the whole refit, generation paused", false,
      coded(policy("nemo_rl_sparse_zmq", relay_tree, between_clusters(true))));
  for (System& system : list) system.name = system.policy.name;
  return list;
}

}  // namespace

std::span<const System> systems() {
  static const std::vector<System> list = table();
  return list;
}

const System* find_system(std::string_view name) {
  const auto found = std::ranges::find(systems(), name, &System::name);
  return found == systems().end() ? nullptr : &*found;
}

}  // namespace refit
