#include <catch2/catch.hpp>

#include "schedule/verify.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

// A mixture layer in miniature: two stages, experts, attention and an embedding.
Refit miniature() {
  Refit refit;
  refit.ranks = 16;
  refit.stages = 2;
  for (int r = 0; r < 16; ++r) (r < 8 ? refit.sources : refit.destinations).push_back(Rank(r));
  const auto add = [&](const char* name, Role role, int stage, std::vector<std::int64_t> shape,
                       int source_dim, int destination_dim) {
    const Mesh from = Mesh::row_major(Rank(4 * stage), {{"r", 4}});
    const Mesh to = Mesh::row_major(Rank(8), {{"engine", 2}, {"tp", 4}});
    refit.classes.push_back(
        {name,
         Dtype::bf16,
         role,
         false,
         stage,
         {stage},
         Layout(shape, from, {source_dim < 0 ? replicate() : shard(source_dim)}),
         Layout(shape, to,
                {replicate(), destination_dim < 0 ? replicate() : shard(destination_dim)}),
         1,
         ""});
  };
  for (int stage : {0, 1}) {
    add("experts", Role::routed_expert, stage, {1, 8, 16, 4}, 1, 2);
    add("attention", Role::attention, stage, {1, 16, 4}, -1, 1);
  }
  add("embedding", Role::embedding, 0, {1, 32, 4}, -1, 1);
  return refit;
}

std::int64_t logical(const Schedule& schedule, const std::string& phase) {
  std::int64_t bytes = -1;
  for (const Phase& p : schedule.phases) {
    if (p.name == phase) bytes = p.logical_bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("hybrid reshards routed experts and broadcasts the rest, strictly afterwards",
          "[planner]") {
  const Refit refit = miniature();
  const Cluster cluster = cluster_of_domains({4, 4, 4, 4});
  const Schedule schedule = plan(refit, cluster, named_policy("hybrid"), {.chunks = 2});
  REQUIRE(verify(schedule, refit).empty());
  const std::int64_t experts = 2 * 8 * 16 * 4 * 2;
  const std::int64_t rest = 2 * 16 * 4 * 2 + 32 * 4 * 2;
  REQUIRE(logical(schedule, "reshard") == experts);
  REQUIRE(logical(schedule, "gather") == rest);
  REQUIRE(logical(schedule, "broadcast") == rest);
  std::size_t last_transfer = 0, first_gather = schedule.ops.size(), barrier = 0;
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    if (schedule.ops[i].kind == OpKind::transfer) last_transfer = i;
    if (schedule.ops[i].kind == OpKind::all_gather) first_gather = std::min(first_gather, i);
    if (schedule.ops[i].kind == OpKind::barrier && last_transfer > 0 && barrier == 0) barrier = i;
  }
  REQUIRE(last_transfer < barrier);
  REQUIRE(barrier < first_gather);
}

TEST_CASE("gather_broadcast moves the model twice, reshard and direct once", "[planner]") {
  const Refit refit = miniature();
  const Cluster cluster = cluster_of_domains({4, 4, 4, 4});
  const auto total = [&](const char* strategy) {
    std::int64_t sum = 0;
    for (const Phase& phase : plan(refit, cluster, named_policy(strategy), {}).phases)
      sum += phase.logical_bytes;
    return sum;
  };
  REQUIRE(total("gather_broadcast") == 2 * refit.unique_bytes());
  REQUIRE(total("reshard") == refit.unique_bytes());
  REQUIRE(total("direct") == refit.unique_bytes());
}

TEST_CASE("a policy mixes strategies per role and still arrives whole", "[planner]") {
  const Refit refit = miniature();
  Policy policy{"mixed",
                Strategy::gather_broadcast,
                {{Role::routed_expert, Strategy::direct}, {Role::attention, Strategy::reshard}}};
  const Schedule schedule = plan(refit, cluster_of_domains({4, 4, 4, 4}), policy, {});
  REQUIRE(verify(schedule, refit).empty());
  REQUIRE(logical(schedule, "direct") == 2 * 8 * 16 * 4 * 2);
  REQUIRE(logical(schedule, "reshard") == 2 * 16 * 4 * 2);
  REQUIRE(logical(schedule, "broadcast") == 32 * 4 * 2);
}

TEST_CASE(
    "the root of a broadcast holds what it broadcasts, even if the first trainer gathers nothing",
    "[planner]") {
  // Only the second stage has content for gather_broadcast; rank 0 is of the first stage and takes
  // no part in gathering, so it must not be the root.
  Refit refit = miniature();
  refit.classes.back().role = Role::router;
  std::erase_if(refit.classes,
                [](const TensorClass& c) { return c.stage == 0 && c.role == Role::attention; });
  const Policy policy{"mixed", Strategy::reshard, {{Role::attention, Strategy::gather_broadcast}}};
  const Schedule schedule = plan(refit, cluster_of_domains({4, 4, 4, 4}), policy, {});
  REQUIRE(verify(schedule, refit).empty());
}

TEST_CASE("bytes do not depend on the chunk size", "[planner][invariance]") {
  const Refit refit = miniature();
  const Cluster cluster = cluster_of_domains({4, 4, 2, 2, 2, 2});
  const auto bytes = [&](int chunks) {
    const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = chunks});
    REQUIRE(verify(schedule, refit).empty());
    return std::tuple(network_in(schedule, cluster, 8, 8), nvlink_in(schedule, cluster, 8, 8),
                      network_out(schedule, cluster, 0, 16));
  };
  const auto whole = bytes(1);
  for (const int chunks : {2, 3, 8, 100}) {
    CAPTURE(chunks);
    REQUIRE(bytes(chunks) == whole);
  }
}

TEST_CASE("the same question gives the same plan", "[planner][invariance]") {
  const Refit refit = miniature();
  const Cluster cluster = cluster_of_domains({4, 4, 4, 4});
  for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid"}) {
    REQUIRE(plan(refit, cluster, named_policy(strategy), {}) ==
            plan(refit, cluster, named_policy(strategy), {}));
  }
}

TEST_CASE("a relay waits for the chunk that it sends on, not for the whole shard",
          "[planner][pipeline]") {
  const M2nCase c{{1, 1, 0}, {3, 1, 0}, {64}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Schedule schedule = plan(refit, make_cluster(c), named_policy("reshard"), {.chunks = 4});
  REQUIRE(verify(schedule, refit).empty());
  int relays = 0;
  for (const Op& op : schedule.ops) {
    if (op.kind != OpKind::transfer || op.src.value == 0) continue;
    ++relays;
    REQUIRE(op.bytes == 16);
    REQUIRE(schedule.after_of(op).size() == 1);
    const Op& before = schedule.ops[schedule.after_of(op)[0].index()];
    REQUIRE(before.chunk_begin == op.chunk_begin);
    REQUIRE(before.round == op.round - 1);
  }
  REQUIRE(relays == 2 * 4);
}

TEST_CASE("plan refuses a cluster that is too small and options that are no numbers of things",
          "[planner]") {
  const Refit refit = miniature();
  REQUIRE_THROWS_WITH(plan(refit, cluster_of_domains({8}), named_policy("reshard"), {}),
                      "the layouts name 16 ranks but the cluster has 8 GPUs");
  REQUIRE_THROWS_WITH(
      named_policy("resherd"),
      Catch::StartsWith(
          "'resherd' is neither a strategy (gather_broadcast, direct, reshard, "
          "hybrid, optimal, owner_broadcast, stripe, object_store, relay_tree, delta_broadcast, "
          "delta_reshard, delta_object_store, delta_relay_tree) nor a system (nemo_rl_packed"));
}

}  // namespace refit::test
