#include <catch2/catch.hpp>

#include "base/error.h"
#include "planner/plan.h"
#include "schedule/verify.h"
#include "sim/predict.h"

using namespace refit;

namespace {

// Trainers are ranks 0 to 7, in nodes of 4 at site a; engines of 4 ranks are 8 to 11 and 12 to 15,
// at site b. The store, if there is one, is rank 16.
Cluster two_sites(bool store = true) {
  NodeGroupSpec group;
  group.name = "four";
  group.nodes = 2;
  group.gpus_per_node = group.nvlink_domain_gpus = group.nics_per_node = 4;
  group.nvlink_bytes_per_s = 400e9;
  group.nic_bytes_per_s = 10e9;
  NodeGroupSpec other = group;
  other.site = 1;
  ClusterSpec spec{{group, other}, {{}, {}}, {"a", "b"}, {{0, 1, 5e9, 0.01, 1e9}}};
  if (store) spec.stores = {{"s3", 0, 10e9, 1e9, 8, 0.001, 1 << 20}};
  return Cluster(std::move(spec));
}

// Experts over all trainers and over an engine's ranks, and attention that 4 trainers hold as one.
Refit refit_on(const Cluster& cluster) {
  Refit refit;
  refit.ranks = cluster.ranks();
  refit.stages = 1;
  for (int r = 0; r < 16; ++r) (r < 8 ? refit.sources : refit.destinations).push_back(Rank(r));
  const Mesh to = Mesh::row_major(Rank(8), {{"engine", 2}, {"tp", 4}});
  const std::vector<std::int64_t> experts = {1, 16, 64, 64}, attention = {1, 64, 64};
  refit.classes.push_back({"experts",
                           Dtype::bf16,
                           Role::routed_expert,
                           false,
                           0,
                           {0},
                           Layout(experts, Mesh::row_major(Rank(0), {{"r", 8}}), {shard(1)}),
                           Layout(experts, to, {replicate(), shard(2)}),
                           1,
                           ""});
  refit.classes.push_back(
      {"attention",
       Dtype::bf16,
       Role::attention,
       false,
       0,
       {1},
       Layout(attention, Mesh::row_major(Rank(0), {{"dp", 4}, {"tp", 2}}), {replicate(), shard(1)}),
       Layout(attention, to, {replicate(), shard(2)}),
       1,
       ""});
  return refit;
}

constexpr std::int64_t kUnique = 16 * 64 * 64 * 2 + 64 * 64 * 2;

PlanOptions small_payloads(Relay relay = Relay::tree) {
  PlanOptions options;
  options.payload_bytes = 8192;
  options.relay = relay;
  return options;
}

DeltaOptions one_in_ten(const Refit& refit) {
  DeltaOptions delta;
  delta.shares.assign(refit.classes.size(), 0.1);
  delta.coding = {Codec::rice, CodingPlace::host, 8, true};
  return delta;
}

Policy everything(Strategy strategy) {
  Policy policy{"everything", strategy, {}, {}};
  policy.conduct.everything = true;
  return policy;
}

// Bytes of transfers and of broadcasts' first crossings from one site to the other.
std::int64_t crossing(const Schedule& schedule, const Cluster& cluster) {
  std::int64_t bytes = 0;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer && cluster.site(op.src) != cluster.site(op.dst))
      bytes += op.bytes;
  }
  return bytes;
}

std::int64_t sent_to(const Schedule& schedule, Rank rank) {
  std::int64_t bytes = 0;
  for (const Op& op : schedule.ops)
    if (op.kind == OpKind::transfer && op.dst == rank) bytes += op.bytes;
  return bytes;
}

void require_verified(const Schedule& schedule, const Refit& refit) {
  const Diagnostics findings = verify(schedule, refit);
  if (!findings.empty()) FAIL(findings.front().where << ": " << findings.front().message);
}

std::string complaint(const Refit& refit, const Cluster& cluster, const char* strategy) {
  try {
    plan(refit, cluster, named_policy(strategy));
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "planned";
}

}  // namespace

TEST_CASE("object store: every byte goes in once, and out once for each domain that needs it",
          "[planner][store]") {
  const Cluster cluster = two_sites();
  const Refit refit = refit_on(cluster);
  for (const Policy& policy : {named_policy("object_store"), everything(Strategy::object_store)}) {
    CAPTURE(policy.name);
    const Schedule schedule = plan(refit, cluster, policy, small_payloads());
    require_verified(schedule, refit);
    CHECK(sent_to(schedule, Rank(16)) == kUnique);
    CHECK(crossing(schedule, cluster) == 2 * kUnique);  // each engine is a domain
    CHECK(predict(schedule, cluster).makespan_s > 0);
  }
}

TEST_CASE("relay tree: every byte crosses between the sites once", "[planner][relay]") {
  const Cluster cluster = two_sites(false);
  const Refit refit = refit_on(cluster);
  for (const Relay relay : {Relay::tree, Relay::ring, Relay::fastest}) {
    const Schedule schedule =
        plan(refit, cluster, named_policy("relay_tree"), small_payloads(relay));
    require_verified(schedule, refit);
    CHECK(crossing(schedule, cluster) == kUnique);
  }
  require_verified(plan(refit, cluster, everything(Strategy::relay_tree), small_payloads()), refit);
}

TEST_CASE("payloads of owners that hold the same are shared out", "[planner][store]") {
  const Cluster cluster = two_sites();
  const Refit refit = refit_on(cluster);
  const Schedule schedule = plan(refit, cluster, named_policy("object_store"), small_payloads());
  // 8 KiB of attention in two halves, with four owners each, beside 16 KiB of experts on every
  // trainer: nobody sends both halves.
  std::vector<std::int64_t> sent(8, 0);
  for (const Op& op : schedule.ops)
    if (op.kind == OpKind::transfer && op.dst == Rank(16)) sent[op.src.index()] += op.bytes;
  for (const std::int64_t bytes : sent) CHECK(bytes <= 16384 + 4096);
}

TEST_CASE("coded payloads are scanned before they leave, and applied when all have come",
          "[planner][store]") {
  const Cluster cluster = two_sites();
  const Refit refit = refit_on(cluster);
  PlanOptions options = small_payloads();
  options.delta = one_in_ten(refit);
  for (const char* name : {"delta_object_store", "delta_relay_tree", "nemo_dcr_object_store",
                           "nemo_dcr_relay_tree", "nemo_rl_sparse_s3", "nemo_rl_sparse_zmq"}) {
    CAPTURE(name);
    const Schedule schedule = plan(refit, cluster, named_policy(name), options);
    require_verified(schedule, refit);
    std::int64_t scanned = 0, applied = 0, decoded = 0;
    for (const Op& op : schedule.ops) {
      if (op.kind != OpKind::compute) continue;
      const auto ranks = static_cast<std::int64_t>(schedule.groups[op.group.index()].ranks.size());
      if (op.work == Work::scan) scanned += ranks * op.bytes;
      if (op.work == Work::decode) decoded += ranks * op.bytes;
      if (op.work == Work::apply) applied += ranks * op.bytes;
    }
    CHECK(scanned == kUnique);
    CHECK(applied == 2 * kUnique);  // two replicas
    const bool all_read_all = named_policy(name).conduct.everything;
    CHECK(decoded == (all_read_all ? 8 : 2) * kUnique);
    CHECK(predict(schedule, cluster).makespan_s > 0);
  }
}

TEST_CASE("object store and changes need their keys in the scenario", "[planner][store]") {
  const Cluster bare = two_sites(false);
  CHECK(complaint(refit_on(bare), bare, "object_store") ==
        "the cluster has no object store; add one to cluster.stores");
  CHECK_THAT(complaint(refit_on(bare), bare, "delta_relay_tree"),
             Catch::Matchers::Contains("has no `delta`"));
  const Cluster cluster = two_sites();
  Refit refit = refit_on(cluster);
  refit.ranks = 16;
  CHECK_THAT(complaint(refit, cluster, "object_store"),
             Catch::Matchers::Contains("leave no rank for the object stores"));
}

TEST_CASE("relays keep the NICs of all receivers busy", "[planner][relay]") {
  // 8 receivers with one NIC of 0.625 GB/s take 2.4 GB in, in 96 payloads of 25 MB from a trainer
  // with a fast one. Each NIC needs 3.84 s for that, however payloads come; the last ones have
  // some hops to go, 0.04 s each. Every receiver at a single root's children would take 7.68 s.
  NodeGroupSpec trainer;
  trainer.name = "trainer";
  trainer.nodes = 1;
  trainer.gpus_per_node = trainer.nvlink_domain_gpus = trainer.nics_per_node = 1;
  trainer.nic_bytes_per_s = 100e9;
  NodeGroupSpec receiver = trainer;
  receiver.nodes = 8;
  receiver.nic_bytes_per_s = 0.625e9;
  const Cluster cluster({{trainer, receiver}, {{}}, {"here"}, {}});
  Refit refit;
  refit.ranks = 9;
  refit.stages = 1;
  refit.sources = {Rank(0)};
  for (int r = 1; r < 9; ++r) refit.destinations.push_back(Rank(r));
  const std::vector<std::int64_t> shape = {1, 96, 12'500'000};
  refit.classes.push_back({"all",
                           Dtype::bf16,
                           Role::attention,
                           false,
                           0,
                           {0},
                           Layout(shape, Mesh::row_major(Rank(0), {{"r", 1}}), {replicate()}),
                           Layout(shape, Mesh::row_major(Rank(1), {{"r", 8}}), {replicate()}),
                           1,
                           ""});
  PlanOptions options;
  options.payload_bytes = 25'000'000;
  options.in_flight = 16;  // one trainer for all receivers
  for (const Relay relay : {Relay::tree, Relay::ring}) {
    options.relay = relay;
    const Schedule schedule = plan(refit, cluster, named_policy("relay_tree"), options);
    require_verified(schedule, refit);
    const double seconds = predict(schedule, cluster).makespan_s;
    CAPTURE(static_cast<int>(relay), seconds);
    CHECK(seconds >= 3.84);
    CHECK(seconds < 1.15 * 3.84);
  }
}
