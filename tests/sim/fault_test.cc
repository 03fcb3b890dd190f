#include <catch2/catch.hpp>

#include "schedule/builder.h"
#include "sim/fault.h"
#include "tests/support/m2n_case.h"

namespace refit::test {

TEST_CASE("fault: a lost source at half costs the detection and the rest from its replica",
          "[sim][fault]") {
  // Two replicas of one source shard, one destination; 100 GB over a NIC of 50 GB/s in 100 chunks.
  // Undisturbed 2 s. At 1 s the sender is lost, all know at 1.05 s; 50 chunks are there, the
  // replica sends the other 50 GB in 1 s: 2.05 s.
  const M2nCase c{{2, 1, 0}, {1, 1, 0}, {1'000, 100'000'000}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 100});
  const FaultPrediction p =
      predict_fault(schedule, refit, cluster, {.rank = Rank(0), .detection_s = 0.05});
  REQUIRE(p.undisturbed_s == Approx(2));
  REQUIRE(p.fault_s == Approx(1));
  REQUIRE(p.recovered_bytes == 50'000'000'000);
  REQUIRE(p.makespan_s == Approx(2.05).epsilon(1e-6));
  REQUIRE(p.unserved.empty());
}

TEST_CASE("fault: policies stop, go on, or begin again", "[sim][fault]") {
  // As above, 2 s undisturbed. Known at 1.05 s. fail stops there; rebuild makes connections for
  // 0.3 s and sends all 100 GB again from the replica: 1.05 + 0.3 + 2 s.
  const M2nCase c{{2, 1, 0}, {1, 1, 0}, {1'000, 100'000'000}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 100});
  FaultSpec fault{.rank = Rank(0), .detection_s = 0.05, .rebuild_s = 0.3};
  fault.policy = FaultPolicy::fail;
  const FaultPrediction failed = predict_fault(schedule, refit, cluster, fault);
  REQUIRE_FALSE(failed.completed);
  REQUIRE(failed.makespan_s == Approx(1.05));
  REQUIRE(failed.recovered_bytes == 0);
  fault.policy = FaultPolicy::rebuild;
  const FaultPrediction rebuilt = predict_fault(schedule, refit, cluster, fault);
  REQUIRE(rebuilt.completed);
  REQUIRE(rebuilt.recovered_bytes == 100'000'000'000);
  REQUIRE(rebuilt.makespan_s == Approx(3.35).epsilon(1e-6));
}

TEST_CASE("fault: conversions that waited for what was lost follow the recovery", "[sim][fault]") {
  // As above, 100 GB in 2 s; then the destination reads and writes 100 GB at 100 GB/s: 3 s. The
  // sender is lost at 1.01 s, and all know only at 3.5 s, when the conversion would have been
  // through: 50 GB from the replica, 1 s, and all of the conversion, 1 s.
  const M2nCase c{{2, 1, 0}, {1, 1, 0}, {1'000, 100'000'000}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  std::vector<Parcel> parcels = plan(refit, cluster, named_policy("reshard"), {}).parcels;
  REQUIRE(parcels.size() == 1);
  parcels[0].chunks = 100;
  ScheduleBuilder builder(refit, "converts", parcels, 1);
  builder.begin_phase("all");
  const CargoId cargo = builder.cargo({ParcelId(0)});
  for (int chunk = 0; chunk < 100; ++chunk)
    builder.transfer({0, chunk}, Rank(0), Rank(2), cargo, {chunk, chunk + 1});
  builder.compute({0, 100}, Work::convert, builder.group({Rank(2)}), 1, 100'000'000'000);
  const Schedule schedule = std::move(builder).finish();
  PredictOptions options;
  options.network_model.convert_bytes_per_s = 100e9;
  const FaultPrediction p = predict_fault(
      schedule, refit, cluster, {.rank = Rank(0), .at_s = 1.01, .detection_s = 2.49}, options);
  REQUIRE(p.undisturbed_s == Approx(3));
  REQUIRE(p.recovered_bytes == 50'000'000'000);
  REQUIRE(p.makespan_s == Approx(5.5).epsilon(1e-6));
}

TEST_CASE("fault: ops that do not wait for the lost rank go on until the loss is known",
          "[sim][fault]") {
  // Two shards of 50 GB, each owned by two replicas; shard 0 goes S0 -> S4, shard 1 S1 -> S5, 1 s
  // each, side by side. S0 is lost at 0.5 s and known at 2 s: by then S5 has all of its shard.
  // S4 gets its own (direct sends it in one piece) in 1 s from the replica, 3 s in all.
  const M2nCase c{{2, 2, 0}, {1, 2, 0}, {1'000, 100'000'000}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("direct"), {.chunks = 100});
  const FaultPrediction p =
      predict_fault(schedule, refit, cluster, {.rank = Rank(0), .detection_s = 1.5});
  REQUIRE(p.undisturbed_s == Approx(1));
  REQUIRE(p.recovered_bytes == 50'000'000'000);
  REQUIRE(p.makespan_s == Approx(3).epsilon(1e-6));
}

TEST_CASE("fault: a NIC takes all ranks along that share it", "[sim][fault]") {
  NodeGroupSpec group;
  group.name = "two to a NIC";
  group.nodes = 2;
  group.gpus_per_node = 4;
  group.nvlink_domain_gpus = 4;
  group.nvlink_bytes_per_s = 100e9;
  group.nics_per_node = 2;
  group.nic_bytes_per_s = 50e9;
  const Cluster cluster({{group}, {FabricSpec{}}, {"here"}, {}});
  const FaultSpec fault{.kind = FaultKind::dark, .place = FaultPlace::nic, .rank = Rank(3)};
  REQUIRE(lost_ranks(fault, cluster) == std::vector{Rank(2), Rank(3)});
  REQUIRE(lost_ranks({.rank = Rank(3)}, cluster) == std::vector{Rank(3)});
}

TEST_CASE("fault: the only holder of a byte takes the tensor with it", "[sim][fault]") {
  const M2nCase c{{1, 2, 0}, {1, 2, 0}, {8, 8}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 4});
  const FaultPrediction p = predict_fault(schedule, refit, cluster, {.rank = Rank(0)});
  REQUIRE(p.unserved == std::vector<std::string>{"w"});
}

TEST_CASE("fault: a rank that does not exist is refused, and one that comes too late does nothing",
          "[sim][fault]") {
  const M2nCase c{{1, 2, 0}, {1, 2, 0}, {8, 8}, Dtype::u8, 1};
  const Refit refit = make_refit(c);
  const Cluster cluster = make_cluster(c);
  const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 4});
  REQUIRE_THROWS_WITH(predict_fault(schedule, refit, cluster, {.rank = Rank(9)}),
                      "fault: rank 9 does not exist; ranks are 0 to 3");
  const FaultPrediction late =
      predict_fault(schedule, refit, cluster, {.rank = Rank(0), .at_s = 1e9});
  REQUIRE(late.makespan_s == late.undisturbed_s);
}

}  // namespace refit::test
