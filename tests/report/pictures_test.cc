#include <catch2/catch.hpp>

#include "report/layout_picture.h"
#include "report/link_picture.h"
#include "report/role_bytes.h"
#include "report/timeline_picture.h"
#include "report/transfer_picture.h"
#include "tests/report/sample.h"

namespace refit {
namespace {

// Two nodes of two GPUs; see two_gpu_nodes: NVLink of 100 GB/s, NICs of 10 GB/s.
Cluster four_gpus() { return Cluster(two_gpu_nodes(2)); }

Op transfer(int src, int dst, std::int64_t bytes, std::uint8_t lane = 0) {
  Op op;
  op.kind = OpKind::transfer;
  op.lane = lane;
  op.src = Rank(src);
  op.dst = Rank(dst);
  op.bytes = bytes;
  return op;
}

Schedule with_ops(std::vector<Op> ops, int ranks) {
  Schedule schedule;
  schedule.strategy = "direct";
  schedule.ranks = ranks;
  schedule.lanes = 2;
  schedule.phases = {{"direct", 0}};
  schedule.ops = std::move(ops);
  return schedule;
}

TEST_CASE("link picture: links are counted by their use, the hottest named first",
          "[report][page]") {
  const Cluster cluster = four_gpus();
  Prediction prediction;
  prediction.makespan_s = 2;
  prediction.link_bytes.assign(cluster.links().size(), 0);
  // 10 GB/s for 2 s are 20 GB: 15 GB are 75 %, bin 15 of 20; all 20 GB are in the last bin.
  prediction.link_bytes[cluster.nic_out(Rank(0)).index()] = 15e9;
  prediction.link_bytes[cluster.nic_in(Rank(2)).index()] = 20e9;
  const LinkPicture picture = link_picture(cluster, 4, prediction);

  REQUIRE(picture.hottest.size() == 2);
  CHECK(picture.hottest[0].name == "node 1 nic 0 in");
  CHECK(picture.hottest[0].utilisation == Approx(1));
  CHECK(picture.hottest[1].utilisation == Approx(0.75));
  REQUIRE(picture.kinds.size() == 2);
  CHECK(picture.kinds[0].kind == LinkKind::nvlink);
  CHECK(picture.kinds[0].unused == 8);  // four GPUs, in and out
  CHECK(picture.kinds[1].unused == 6);
  CHECK(picture.kinds[1].links[15] == 1);
  CHECK(picture.kinds[1].links[19] == 1);
  CHECK(picture.ranks[0].nic_out == 15e9);
  CHECK(picture.ranks[2].nic_in == 20e9);
  CHECK(picture.ranks[1].nic_out == 0);
}

TEST_CASE("link picture: a NIC of two ranks counts half for each", "[report][page]") {
  ClusterSpec spec = two_gpu_nodes(2);
  spec.groups[0].nics_per_node = 1;
  const Cluster cluster{spec};
  Prediction prediction;
  prediction.makespan_s = 1;
  prediction.link_bytes.assign(cluster.links().size(), 0);
  prediction.link_bytes[cluster.nic_out(Rank(0)).index()] = 8e9;
  const LinkPicture picture = link_picture(cluster, 4, prediction);
  CHECK(picture.ranks[0].nic_out == 4e9);
  CHECK(picture.ranks[1].nic_out == 4e9);
}

TEST_CASE("transfer picture: pairs of ranks, of domains and what stays inside", "[report][page]") {
  const Cluster cluster = four_gpus();
  const Schedule schedule =
      with_ops({transfer(0, 2, 5), transfer(1, 3, 7), transfer(0, 2, 6), transfer(2, 3, 9)}, 4);
  const TransferPicture picture = transfer_picture(schedule, cluster, {0, 18, 0, 9});
  CHECK(picture.domains_per_group == 1);
  REQUIRE(picture.domains.pairs.size() == 1);
  CHECK(picture.domains.pairs[0].bytes == 18);
  CHECK(picture.inside == std::vector<double>{0, 9});
  // 0 to 2: 5 + 6, the most; then 2 to 3 and 1 to 3.
  REQUIRE(picture.ranks.pairs.size() == 3);
  CHECK(picture.ranks.pairs[0].bytes == 11);
  CHECK(picture.ranks.pairs[1].bytes == 9);
  CHECK(picture.ranks.left_out == 0);
}

TEST_CASE("transfer picture: many domains are grouped, and small pairs left out and counted",
          "[report][page]") {
  const Cluster cluster{two_gpu_nodes(100)};
  const Schedule schedule = with_ops({}, 200);
  std::vector<double> bytes(100 * 100, 1);
  const TransferPicture picture = transfer_picture(schedule, cluster, bytes);
  CHECK(picture.domains_per_group == 4);  // 100 domains in at most 32 groups
  // 25 groups of 4: 16 bytes from one to another, and 4 x 3 between the domains of one.
  REQUIRE(picture.groups.pairs.size() == 625);
  CHECK(picture.groups.pairs.front().bytes == 16);
  CHECK(picture.groups.pairs.back().bytes == 12);
  CHECK(picture.domains.pairs.size() == kMostDomainPairs);
  CHECK(picture.domains.left_out == 100 * 99 - kMostDomainPairs);
  CHECK(picture.domains.left_out_bytes == Approx(100 * 99 - kMostDomainPairs));
}

TEST_CASE("timeline picture: a small plan has every op on every rank, overlaps on tracks",
          "[report][page]") {
  const Schedule schedule =
      with_ops({transfer(0, 2, 5), transfer(0, 3, 5), transfer(1, 3, 5, 1)}, 4);
  const Timeline timeline = {{0, 2}, {1, 3}, {0, 4}};
  const TimelinePicture picture = timeline_picture(schedule, timeline, {}, 2);
  CHECK(picture.end_s == 4);
  CHECK(picture.groups.empty());
  // Rank 0 lane 0, rank 1 lane 1, rank 2 lane 0, rank 3 lanes 0 and 1.
  REQUIRE(picture.lanes.size() == 5);
  CHECK(picture.lanes[0].tracks == 2);  // 0 to 2 and 1 to 3 overlap
  CHECK(picture.lanes[0].bars[0].activity == Activity::send);
  CHECK(picture.lanes[0].bars[1].track == 1);
  CHECK(picture.lanes[2].bars[0].activity == Activity::receive);
  CHECK(picture.lanes[4].lane == 1);
}

TEST_CASE("timeline picture: a large plan has groups, and lanes of the telling ranks",
          "[report][page]") {
  // Ranks 0 to 99 send to 100 to 199, each for half of the time, the first half.
  std::vector<Op> ops;
  Timeline timeline;
  for (int r = 0; r < 100; ++r) {
    ops.push_back(transfer(r, 100 + r, 1));
    timeline.push_back({0, 5});
  }
  ops.push_back(transfer(0, 100, 1));
  timeline.push_back({5, 10});
  const Schedule schedule = with_ops(ops, 200);
  const std::vector<Rank> telling = {Rank(7)};
  const TimelinePicture picture = timeline_picture(schedule, timeline, telling, 2);
  // 200 ranks in at most 64 rows are 4 each, and 4 is a multiple of 2.
  REQUIRE(picture.groups.size() == 50);
  CHECK(picture.groups[1].first == Rank(4));
  CHECK(picture.groups[1].ranks == 4);
  const auto& sending = picture.groups[1].busy[static_cast<std::size_t>(Activity::send)];
  REQUIRE(sending.size() == kTimelineParts);
  CHECK(sending[0] == Approx(1));
  CHECK(sending[kTimelineParts / 2 - 1] == Approx(1));
  CHECK(sending[kTimelineParts / 2] == Approx(0).margin(1e-9));
  // Of the first four only rank 0 sends in the second half.
  CHECK(picture.groups[0].busy[static_cast<std::size_t>(Activity::send)].back() == Approx(0.25));
  REQUIRE(picture.lanes.size() == 1);
  CHECK(picture.lanes[0].rank == Rank(7));
}

TEST_CASE("timeline picture: a lane with too many ops keeps the longest and counts the others",
          "[report][page]") {
  std::vector<Op> ops;
  Timeline timeline;
  for (int i = 0; i < 5000; ++i) {
    ops.push_back(transfer(0, 1, 1));
    timeline.push_back({i * 1.0, i + (i == 4321 ? 0.9 : 0.5)});
  }
  const Schedule schedule = with_ops(ops, 2);
  const std::vector<Rank> telling = {Rank(0)};
  const TimelinePicture picture = timeline_picture(schedule, timeline, telling, 1);
  REQUIRE(picture.lanes.size() == 1);
  CHECK(picture.lanes[0].bars.size() == kMostBarsOfLane);
  CHECK(picture.lanes[0].left_out == 5000 - kMostBarsOfLane);
  const bool longest = std::any_of(picture.lanes[0].bars.begin(), picture.lanes[0].bars.end(),
                                   [](const TimelineBar& bar) { return bar.op == OpId(4321); });
  CHECK(longest);
}

// A matrix of 8 x 4: four source ranks hold two rows each, destination ranks 4 and 5 all columns
// but half, twice.
Refit one_matrix() {
  Refit refit;
  refit.ranks = 8;
  refit.stages = 1;
  for (int r = 0; r < 4; ++r) {
    refit.sources.push_back(Rank(r));
    refit.destinations.push_back(Rank(4 + r));
  }
  const Layout source({1, 8, 4}, Mesh(Rank(0), {{"row", 4, 1}}), {shard(1)});
  const Layout destination({1, 8, 4}, Mesh(Rank(4), {{"copy", 2, 2}, {"column", 2, 1}}),
                           {replicate(), shard(2)});
  refit.classes.push_back({"layers.0.w",
                           Dtype::u8,
                           Role::attention,
                           false,
                           0,
                           {0},
                           source,
                           destination,
                           1,
                           "",
                           {},
                           false});
  return refit;
}

TEST_CASE("layout picture: ranks that hold the same have one label", "[report][page]") {
  const LayoutPicture picture = layout_picture(one_matrix(), nullptr);
  REQUIRE(picture.kinds.size() == 1);
  const TensorKind& kind = picture.kinds[0];
  CHECK(kind.name == "layers.{}.w");
  CHECK(kind.shape == std::vector<std::int64_t>{8, 4});
  CHECK(kind.bytes == 32);
  CHECK(kind.source.experts == -1);

  const ShardMap& source = picture.maps[static_cast<std::size_t>(kind.source.part)];
  CHECK(source.label_of_rank == std::vector<int>{0, 1, 2, 3, -1, -1, -1, -1});
  CHECK(source.labels[1] == "dim 0: 2-3");
  const ShardMap& destination = picture.maps[static_cast<std::size_t>(kind.destination.part)];
  CHECK(destination.label_of_rank == std::vector<int>{-1, -1, -1, -1, 0, 1, 0, 1});
  CHECK(destination.labels == std::vector<std::string>{"dim 1: 0-1", "dim 1: 2-3"});
  const ShardMap& layers = picture.maps[static_cast<std::size_t>(kind.source.layers)];
  CHECK(layers.labels == std::vector<std::string>{"layers.0.w"});
}

TEST_CASE("layout picture: stages and experts of a model are told by number", "[report][page]") {
  // Two layers of four experts, a stage each; two expert groups in each stage.
  ModelSpec model;
  Refit refit;
  refit.ranks = 5;
  refit.stages = 2;
  for (int layer = 0; layer < 2; ++layer) {
    TensorSpec tensor;
    tensor.layer = layer;
    model.tensors.push_back(tensor);
    const Layout source({1, 4, 2}, Mesh(Rank(2 * layer), {{"expert", 2, 1}}), {shard(1)});
    const Layout whole({1, 4, 2}, Mesh(Rank(4), {{"one", 1, 1}}), {replicate()});
    refit.classes.push_back(
        {layer == 0 ? "layers.0.experts.{expert}.up" : "layers.1.experts.{expert}.up",
         Dtype::bf16,
         Role::routed_expert,
         false,
         layer,
         {layer},
         source,
         whole,
         4,
         "up",
         {},
         false});
  }
  const LayoutPicture picture = layout_picture(refit, &model);
  REQUIRE(picture.kinds.size() == 1);
  const TensorKind& kind = picture.kinds[0];
  CHECK(kind.name == "layers.{}.experts.{}.up");
  const auto map = [&](int index) { return picture.maps[static_cast<std::size_t>(index)]; };
  CHECK(map(kind.source.layers).labels == std::vector<std::string>{"layer 0", "layer 1"});
  CHECK(map(kind.source.layers).label_of_rank == std::vector<int>{0, 0, 1, 1, -1});
  CHECK(map(kind.source.experts).labels == std::vector<std::string>{"experts 0-1", "experts 2-3"});
  CHECK(map(kind.source.experts).label_of_rank == std::vector<int>{0, 1, 0, 1, -1});
  CHECK(kind.source.part == -1);
  CHECK(map(kind.destination.layers).labels == std::vector<std::string>{"layers 0-1"});
}

TEST_CASE("bytes by role: one copy, and what either side holds", "[report][page]") {
  const std::vector<RoleBytes> roles = bytes_by_role(one_matrix());
  REQUIRE(roles.size() == 1);
  CHECK(roles[0].role == Role::attention);
  CHECK(roles[0].unique_bytes == 32);
  CHECK(roles[0].source_bytes == 32);
  CHECK(roles[0].destination_bytes == 64);  // twice
}

}  // namespace
}  // namespace refit
