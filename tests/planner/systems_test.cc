// What the presets do, beside what their frameworks are known to do.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "planner/systems.h"
#include "scenarios/scenario.h"
#include "schedule/verify.h"
#include "sim/predict.h"
#include "sim/traffic.h"

using namespace refit;

namespace {

Scenario small_moe() {
  return parse_scenario(
      "scenario: small\n"
      "cluster: {catalog: dgx_h100, nodes: 4}\n"
      "model: qwen3-30b-a3b\n"
      "training: {engine: megatron, gpus: 16, expert: 8, pipeline: 2}\n"
      "generation: {engine: vllm, gpus: 16, tensor: 8}\n",
      "small.yaml");
}

// For what goes through a store, or sends changes only.
Scenario beside_a_store() {
  return parse_scenario(
      "scenario: small, beside a store\n"
      "cluster:\n"
      "  groups: [{catalog: dgx_h100, nodes: 4}]\n"
      "  stores: [{name: s3, bandwidth: 100 Gbit/s, per_connection: 88 MB/s, connections: 25,\n"
      "            request_latency: 30 ms, part: 8 MiB}]\n"
      "model: qwen3-30b-a3b\n"
      "training: {engine: megatron, gpus: 16, expert: 8, pipeline: 2}\n"
      "generation: {engine: vllm, gpus: 16, tensor: 8}\n"
      "delta: {change: 1 %, codec: rice}\n",
      "store.yaml");
}

Schedule planned(const Scenario& s, std::string_view system) {
  const Schedule schedule = plan(s.refit, s.cluster, named_policy(system), s.plan);
  const Diagnostics findings = verify(schedule, s.refit);
  INFO((findings.empty() ? "" : findings.front().where + ": " + findings.front().message));
  REQUIRE(findings.empty());
  return schedule;
}

std::int64_t pieces(const Schedule& schedule, Work work) {
  std::int64_t count = 0;
  for (const Op& op : schedule.ops)
    if (op.kind == OpKind::compute && op.work == work) count += op.count;
  return count;
}

std::vector<Op> broadcasts(const Schedule& schedule) {
  std::vector<Op> ops;
  std::copy_if(schedule.ops.begin(), schedule.ops.end(), std::back_inserter(ops),
               [](const Op& op) { return op.kind == OpKind::broadcast; });
  return ops;
}

}  // namespace

TEST_CASE("systems: every preset has a name of its own, words, and a plan that is proved",
          "[planner][systems]") {
  const Scenario s = small_moe();
  const Scenario store = beside_a_store();
  std::set<std::string_view> names;
  for (const System& system : systems()) {
    CAPTURE(system.name);
    REQUIRE(names.insert(system.name).second);
    REQUIRE(system.does.size() > 20);
    REQUIRE(system.includes.size() > 10);
    REQUIRE(find_system(system.name) == &system);
    const Policy policy = named_policy(system.name);
    const bool apart = policy.coded || policy.rest == Strategy::object_store ||
                       policy.rest == Strategy::relay_tree;
    planned(apart ? store : s, system.name);
  }
  REQUIRE(find_system("nothing") == nullptr);
}

TEST_CASE("systems: whoever loads tensor by tensor loads every checkpoint tensor once",
          "[planner][systems]") {
  const Scenario s = small_moe();
  const std::int64_t all = s.model->checkpoint_tensors();
  for (const char* name :
       {"nemo_rl_packed", "nemo_rl_packed_serial", "nemo_rl_nixl", "one_root_broadcast",
        "miles_broadcast", "checkpoint_engine_broadcast"}) {
    CAPTURE(name);
    REQUIRE(pieces(planned(s, name), Work::load) == all);
  }
  // Experts' projections go shard to shard into live parameters: 48 layers x 128 experts x 3.
  REQUIRE(pieces(planned(s, "nemo_rl_reshard"), Work::load) == all - 48 * 128 * 3);
  for (const char* name : {"nemo_rl_golden", "m2n_direct", "miles_p2p", "sharded_pull"})
    REQUIRE(pieces(planned(s, name), Work::load) == 0);
}

TEST_CASE("systems: a timer that sees the transfer alone has no other work", "[planner][systems]") {
  const Scenario s = small_moe();
  for (const char* name : {"m2n_hierarchical", "m2n_direct", "nemo_rl_golden"}) {
    CAPTURE(name);
    const Schedule schedule = planned(s, name);
    for (const Op& op : schedule.ops) {
      const bool allowed =
          op.work == Work::call || op.work == Work::pack || op.work == Work::stream;
      REQUIRE((op.work == Work::none || allowed));
    }
  }
}

TEST_CASE("systems: engines pause around any plan, and are told of every tensor, if asked",
          "[planner][systems]") {
  Scenario s = small_moe();
  for (const char* strategy : {"reshard", "optimal", "gather_broadcast", "nemo_rl_packed"}) {
    CAPTURE(strategy);
    s.plan.around = {};
    const Schedule without = planned(s, strategy);
    REQUIRE(pieces(without, Work::pause) + pieces(without, Work::resume) +
                pieces(without, Work::describe) ==
            0);
    s.plan.around = {true, true};
    const Schedule with = planned(s, strategy);
    REQUIRE(with.ops.size() == without.ops.size() + 4);
    REQUIRE(pieces(with, Work::pause) == 1);
    REQUIRE(pieces(with, Work::resume) == 1);
    // 48 layers of 128 experts of three matrices, and a few more of each layer.
    REQUIRE(pieces(with, Work::describe) > 48 * 128 * 3);
    NetworkModel model = wire_only();
    const double before_s = predict(with, s.cluster, {model, std::nullopt}).makespan_s;
    model.pause_s = 3;
    model.resume_s = 2;
    REQUIRE(predict(with, s.cluster, {model, std::nullopt}).makespan_s == Approx(before_s + 5));
  }
}

TEST_CASE(
    "systems: shards are packed and unpacked in as many runs as the other side cuts their rows",
    "[planner][systems]") {
  // 8 x 6 elements of one byte, whole on one rank, halved on two. By rows, each half is one run; by
  // columns, every row is two.
  const auto runs = [](Work work, const char* source, const char* destination) {
    const Scenario s =
        parse_scenario(fmt::format("scenario: runs\n"
                                   "cluster: {{catalog: dgx_h100, nodes: 1}}\n"
                                   "tensors:\n"
                                   "  - {{name: w, shape: [8, 6], dtype: u8, role: dense_ffn,\n"
                                   "     source: {{{}}}, destination: {{{}}}}}\n",
                                   source, destination),
                       "runs.yaml");
    return pieces(plan(s.refit, s.cluster, named_policy("reshard"), s.plan), work);
  };
  const char* whole = "ranks: 0..0, placements: [replicate]";
  const char* rows = "ranks: 1..2, placements: [\"shard(0)\"]";
  const char* columns = "ranks: 1..2, placements: [\"shard(1)\"]";
  CHECK(runs(Work::pack, whole, rows) == 2);
  CHECK(runs(Work::pack, whole, columns) == 16);
  CHECK(runs(Work::land, rows, whole) == 2);
  CHECK(runs(Work::land, columns, whole) == 16);
  CHECK(runs(Work::land, whole, columns) == 1);  // its own rows lie together
}

TEST_CASE("systems: senders are those of the framework", "[planner][systems]") {
  const Scenario s = small_moe();
  const auto roots = [&](const char* name) {
    std::set<Rank> ranks;
    for (const Op& op : broadcasts(planned(s, name))) ranks.insert(op.src);
    return ranks;
  };
  REQUIRE(roots("verl_broadcast") == std::set<Rank>{Rank(0)});
  REQUIRE(roots("verl_relays").size() == 8);  // the GPUs of one node
  // The heads of the two pipeline stages, 8 trainers each.
  REQUIRE(roots("miles_broadcast") == std::set<Rank>{Rank(0), Rank(8)});
  REQUIRE(roots("nemo_rl_golden").size() == 16);  // every expert-parallel rank has its own experts
}

TEST_CASE("systems: a stripe is sent once to each replica's domain and exchanged there",
          "[planner][systems]") {
  // Two engines of TP8, a node each: every shard of 1/8 is wanted twice. Half of it comes to each
  // engine from a trainer and the other half from the other engine: the network carries two copies,
  // and each owner sends one.
  const Scenario s = small_moe();
  const Schedule schedule = planned(s, "stripe");
  std::int64_t sent = 0;
  for (const Op& op : schedule.ops)
    if (op.kind == OpKind::transfer) sent += op.bytes;
  REQUIRE(sent == s.refit.unique_bytes());
  REQUIRE(traffic_totals(schedule, s.cluster).network_bytes ==
          Approx(2.0 * static_cast<double>(s.refit.unique_bytes())).epsilon(0.02));
}

TEST_CASE("systems: scales of formats take the path of the rest", "[planner][systems]") {
  Scenario s = parse_scenario(
      "scenario: small\n"
      "cluster: {catalog: dgx_h100, nodes: 4}\n"
      "model: qwen3-30b-a3b\n"
      "training: {engine: megatron, gpus: 16, expert: 8, precision: fp8_blockwise}\n"
      "generation: {engine: vllm, gpus: 16, tensor: 2, precision: fp8_blockwise}\n",
      "small.yaml");
  const Policy policy = named_policy("nemo_rl_reshard");
  int scales = 0;
  for (const TensorClass& c : s.refit.classes) {
    if (!c.scales) continue;
    ++scales;
    REQUIRE(policy.of(c) == Strategy::gather_broadcast);
  }
  REQUIRE(scales > 0);
}
