// NCCL M2N's plan, case by case. The expected senders, leaders, followers and chains follow from
// the public reference implementation; each case says its notation "R x S d -> R x D d, shape, G".
#include <catch2/catch.hpp>

#include "models/parcels.h"
#include "schedule/verify.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

using Flows = std::map<std::string, std::int64_t>;

Schedule reshard_plan(const M2nCase& c, PlanOptions options = {.chunks = 1}) {
  const Refit refit = make_refit(c);
  const Schedule schedule = plan(refit, make_cluster(c), named_policy("reshard"), options);
  REQUIRE(verify(schedule, refit).empty());
  return schedule;
}

Flows reshard_flows(const M2nCase& c, PlanOptions options = {.chunks = 1}) {
  return flows(reshard_plan(c, options), c);
}

}  // namespace

TEST_CASE("m2n 1 to 10: single replicas exchange exactly the overlaps", "[planner][oracle]") {
  SECTION("1: 1x2 d0 -> 1x2 d0") {
    REQUIRE(reshard_flows({{1, 2, 0}, {1, 2, 0}, {8, 8}}) == Flows{{"S0>D0", 32}, {"S1>D1", 32}});
  }
  SECTION("2: 1x2 d0 -> 1x2 d1, and 3 its mirror: four quarters of 16 B") {
    const Flows quarters{{"S0>D0", 16}, {"S0>D1", 16}, {"S1>D0", 16}, {"S1>D1", 16}};
    REQUIRE(reshard_flows({{1, 2, 0}, {1, 2, 1}, {8, 8}}) == quarters);
    REQUIRE(reshard_flows({{1, 2, 1}, {1, 2, 0}, {8, 8}}) == quarters);
  }
  SECTION("4: 1x4 d0 -> 1x2 d0") {
    REQUIRE(reshard_flows({{1, 4, 0}, {1, 2, 0}, {8, 8}}) ==
            Flows{{"S0>D0", 16}, {"S1>D0", 16}, {"S2>D1", 16}, {"S3>D1", 16}});
  }
  SECTION("5: 1x2 d0 -> 1x4 d0") {
    REQUIRE(reshard_flows({{1, 2, 0}, {1, 4, 0}, {8, 8}}) ==
            Flows{{"S0>D0", 16}, {"S0>D1", 16}, {"S1>D2", 16}, {"S1>D3", 16}});
  }
  SECTION(
      "6: 1x6 d0 -> 1x4 d0, 12x4: rows of 4 B, source shards of 2 rows, destination shards of 3") {
    REQUIRE(reshard_flows({{1, 6, 0}, {1, 4, 0}, {12, 4}}) == Flows{{"S0>D0", 8},
                                                                    {"S1>D0", 4},
                                                                    {"S1>D1", 4},
                                                                    {"S2>D1", 8},
                                                                    {"S3>D2", 8},
                                                                    {"S4>D2", 4},
                                                                    {"S4>D3", 4},
                                                                    {"S5>D3", 8}});
  }
  SECTION("7: 1x4 d0 -> 1x6 d0, 12x4") {
    REQUIRE(reshard_flows({{1, 4, 0}, {1, 6, 0}, {12, 4}}) == Flows{{"S0>D0", 8},
                                                                    {"S0>D1", 4},
                                                                    {"S1>D1", 4},
                                                                    {"S1>D2", 8},
                                                                    {"S2>D3", 8},
                                                                    {"S2>D4", 4},
                                                                    {"S3>D4", 4},
                                                                    {"S3>D5", 8}});
  }
  SECTION("8: 1x2 d0 -> 1x2 d2, 4x4x4: quarters of 16 B") {
    REQUIRE(reshard_flows({{1, 2, 0}, {1, 2, 2}, {4, 4, 4}}) ==
            Flows{{"S0>D0", 16}, {"S0>D1", 16}, {"S1>D0", 16}, {"S1>D1", 16}});
  }
  SECTION("9: 1x4 d0 -> 1x2 d1, 4x6x5: eight pieces of an odd 15 B") {
    const Flows got = reshard_flows({{1, 4, 0}, {1, 2, 1}, {4, 6, 5}});
    REQUIRE(got.size() == 8);
    for (const auto& [pair, bytes] : got) REQUIRE(bytes == 15);
  }
  SECTION("10: one rank to one rank, 64 B") {
    REQUIRE(reshard_flows({{1, 1, 0}, {1, 1, 0}, {64}}) == Flows{{"S0>D0", 64}});
  }
}

TEST_CASE("m2n 11 to 14: replicated tensors take turns over domains and chain between them",
          "[planner][oracle]") {
  SECTION("11: 2x1 -> 4x1, G=2: each source replica feeds one domain, its leader the follower") {
    REQUIRE(reshard_flows({{2, 1, 0}, {4, 1, 0}, {64}, Dtype::u8, 2}) ==
            Flows{{"S0>D0", 64}, {"D0>D1", 64}, {"S1>D2", 64}, {"D2>D3", 64}});
  }
  SECTION("12: 4x1 -> 2x1, G=1: node aware uses the first replicas, uniform every second") {
    const M2nCase c{{4, 1, 0}, {2, 1, 0}, {64}};
    REQUIRE(reshard_flows(c) == Flows{{"S0>D0", 64}, {"S1>D1", 64}});
    REQUIRE(reshard_flows(c, {.chunks = 1, .balance = ReplicaBalance::uniform}) ==
            Flows{{"S0>D0", 64}, {"S2>D1", 64}});
  }
  SECTION("13: 2x1 -> 5x1, G=1: chains of 3 and 2 domains") {
    REQUIRE(reshard_flows({{2, 1, 0}, {5, 1, 0}, {64}}) ==
            Flows{{"S0>D0", 64}, {"D0>D1", 64}, {"D1>D2", 64}, {"S1>D3", 64}, {"D3>D4", 64}});
  }
  SECTION("14: 3x1 -> 6x1, G=2: one leader and one follower per domain") {
    REQUIRE(reshard_flows({{3, 1, 0}, {6, 1, 0}, {64}, Dtype::u8, 2}) == Flows{{"S0>D0", 64},
                                                                               {"D0>D1", 64},
                                                                               {"S1>D2", 64},
                                                                               {"D2>D3", 64},
                                                                               {"S2>D4", 64},
                                                                               {"D4>D5", 64}});
  }
}

TEST_CASE("m2n 15 to 24: leaders, followers and chains of sharded tensors", "[planner][oracle]") {
  SECTION("15: 2x2 d0 -> 4x2 d0, G=4") {
    REQUIRE(reshard_flows({{2, 2, 0}, {4, 2, 0}, {8, 8}, Dtype::u8, 4}) == Flows{{"S0>D0", 32},
                                                                                 {"S1>D1", 32},
                                                                                 {"S2>D4", 32},
                                                                                 {"S3>D5", 32},
                                                                                 {"D0>D2", 32},
                                                                                 {"D1>D3", 32},
                                                                                 {"D4>D6", 32},
                                                                                 {"D5>D7", 32}});
  }
  SECTION(
      "16: 1x4 d0 -> 2x2 d1, G=4: two sources per leader, each destination takes 16 B in and 16 B "
      "over NVLink") {
    const M2nCase c{{1, 4, 0}, {2, 2, 1}, {8, 8}, Dtype::u8, 4};
    const Schedule schedule = reshard_plan(c);
    REQUIRE(flows(schedule, c) == Flows{{"S0>D0", 8},
                                        {"S0>D1", 8},
                                        {"S1>D0", 8},
                                        {"S1>D1", 8},
                                        {"S2>D2", 8},
                                        {"S2>D3", 8},
                                        {"S3>D2", 8},
                                        {"S3>D3", 8},
                                        {"D0>D2", 16},
                                        {"D2>D0", 16},
                                        {"D1>D3", 16},
                                        {"D3>D1", 16}});
    REQUIRE(network_in(schedule, make_cluster(c), 4, 4) == std::vector<std::int64_t>(4, 16));
    REQUIRE(nvlink_in(schedule, make_cluster(c), 4, 4) == std::vector<std::int64_t>(4, 16));
  }
  SECTION(
      "17: 1x4 d0 -> 4x2 d1, G=4: as 16, and every leader relays its 16 B to the second domain") {
    const Flows got = reshard_flows({{1, 4, 0}, {4, 2, 1}, {8, 8}, Dtype::u8, 4});
    for (const char* relay : {"D0>D4", "D1>D5", "D2>D6", "D3>D7"}) REQUIRE(got.at(relay) == 16);
    for (const char* inject : {"S0>D0", "S1>D1", "S2>D2", "S3>D3"}) REQUIRE(got.at(inject) == 8);
  }
  SECTION("18: 1x2 d0 -> 4x2 d0, G=4: anchored domains need 128 B of network, not 192") {
    const M2nCase c{{1, 2, 0}, {4, 2, 0}, {8, 8}, Dtype::u8, 4};
    const Schedule schedule = reshard_plan(c);
    const auto in = network_in(schedule, make_cluster(c), 2, 8);
    REQUIRE(in == std::vector<std::int64_t>{32, 32, 0, 0, 32, 32, 0, 0});
    REQUIRE(flows(schedule, c).at("D0>D4") == 32);
  }
  SECTION(
      "19: 2x2 sr source: shard 0 on S0 and S1, shard 1 on S2 and S3; the first of each sends") {
    REQUIRE(reshard_flows({{2, 2, 0, true}, {2, 2, 0}, {8, 8}, Dtype::u8, 4}) ==
            Flows{{"S0>D0", 32}, {"S2>D1", 32}, {"D0>D2", 32}, {"D1>D3", 32}});
  }
  SECTION("20: 1x2 d0 -> 4x2 sr d1, G=4: leaders D0, D1 and D4, D5 with three followers each") {
    const Flows got = reshard_flows({{1, 2, 0}, {4, 2, 1, true}, {8, 8}, Dtype::u8, 4});
    REQUIRE(got == Flows{{"S0>D0", 16},
                         {"S1>D1", 16},
                         {"S0>D4", 16},
                         {"S1>D5", 16},
                         {"D0>D1", 16},
                         {"D0>D2", 16},
                         {"D0>D3", 16},
                         {"D1>D0", 16},
                         {"D1>D2", 16},
                         {"D1>D3", 16},
                         {"D4>D5", 16},
                         {"D4>D6", 16},
                         {"D4>D7", 16},
                         {"D5>D4", 16},
                         {"D5>D6", 16},
                         {"D5>D7", 16}});
  }
  SECTION("21: 3x2 d0 -> 1x2 d0: only the first replica sends") {
    REQUIRE(reshard_flows({{3, 2, 0}, {1, 2, 0}, {8, 8}}) == Flows{{"S0>D0", 32}, {"S1>D1", 32}});
  }
  SECTION(
      "22: 1x4 d0 -> 2x8 d1, 8x16, G=4: replicas span two domains; 4 B to each of 8 leaders, one "
      "relay each") {
    const M2nCase c{{1, 4, 0}, {2, 8, 1}, {8, 16}, Dtype::u8, 4};
    const Flows got = reshard_flows(c);
    REQUIRE(got.size() == 4 * 8 + 8);
    REQUIRE(got.at("S3>D7") == 4);
    REQUIRE(got.at("D7>D15") == 16);
    REQUIRE(nvlink_in(reshard_plan(c), make_cluster(c), 4, 16) == std::vector<std::int64_t>(16, 0));
  }
  SECTION("23: 3x4 d0 -> 2x8 d1, 8x16, G=4: domains are counted with holes, so replica 1 idles") {
    const M2nCase c{{3, 4, 0}, {2, 8, 1}, {8, 16}, Dtype::u8, 4};
    const Schedule schedule = reshard_plan(c);
    REQUIRE(network_out(schedule, make_cluster(c), 0, 12) ==
            std::vector<std::int64_t>{32, 32, 32, 32, 0, 0, 0, 0, 32, 32, 32, 32});
    REQUIRE(network_in(schedule, make_cluster(c), 12, 16) == std::vector<std::int64_t>(16, 16));
  }
  SECTION("24: 2x2 d0 -> 4x2 d0, G=2, two injected domains: strided chains") {
    REQUIRE(reshard_flows({{2, 2, 0}, {4, 2, 0}, {8, 8}, Dtype::u8, 2},
                          {.chunks = 1, .injected_domains = 2}) == Flows{{"S0>D0", 32},
                                                                         {"S1>D1", 32},
                                                                         {"S2>D2", 32},
                                                                         {"S3>D3", 32},
                                                                         {"D0>D4", 32},
                                                                         {"D1>D5", 32},
                                                                         {"D2>D6", 32},
                                                                         {"D3>D7", 32}});
  }
}

TEST_CASE("m2n 25 to 27: what the reference refuses is planned here", "[planner][oracle]") {
  SECTION("25: 32 source shards per destination shard") {
    const Flows got = reshard_flows({{1, 32, 0}, {1, 2, 1}, {32, 8}});
    REQUIRE(got.size() == 64);
    for (const auto& [pair, bytes] : got) REQUIRE(bytes == 4);
  }
  SECTION("26: ten rows as 4,3,3 -> 3,3,2,2 (balanced)") {
    REQUIRE(
        reshard_flows(
            {{1, 3, 0, false, Split::balanced()}, {1, 4, 0, false, Split::balanced()}, {10}}) ==
        Flows{{"S0>D0", 3}, {"S0>D1", 1}, {"S1>D1", 2}, {"S1>D2", 1}, {"S2>D2", 1}, {"S2>D3", 2}});
  }
  SECTION("27: the same rows as 4,4,2 -> 3,3,3,1 (torch.chunk): D3 is row 9 only") {
    const Flows got =
        reshard_flows({{1, 3, 0, false, Split::chunk()}, {1, 4, 0, false, Split::chunk()}, {10}});
    REQUIRE(
        got ==
        Flows{{"S0>D0", 3}, {"S0>D1", 1}, {"S1>D1", 2}, {"S1>D2", 2}, {"S2>D2", 1}, {"S2>D3", 1}});
  }
}

TEST_CASE("m2n 28 to 33: published sizes load ranks as the reference's plan does",
          "[planner][oracle]") {
  const auto all = [](std::int64_t bytes, int n) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(n), bytes);
  };
  SECTION("28: DeepSeek-V3 experts fp8 1x16 d0 -> 16x8 d1, G=8") {
    const M2nCase c{{1, 16, 0}, {16, 8, 1}, {256, 2048, 7168}, Dtype::f8_e4m3, 8};
    const Schedule schedule = reshard_plan(c);
    REQUIRE(network_out(schedule, make_cluster(c), 0, 16) == all(234'881'024, 16));
    REQUIRE(network_in(schedule, make_cluster(c), 16, 128) == all(469'762'048, 128));
  }
  SECTION(
      "29: the same in racks of 64: 58.72 MB over the network, 411.04 MB by NVLink for each rank") {
    const M2nCase c{{1, 16, 0}, {16, 8, 1}, {256, 2048, 7168}, Dtype::f8_e4m3, 64};
    const Schedule schedule = reshard_plan(c);
    REQUIRE(network_out(schedule, make_cluster(c), 0, 16) == all(234'881'024, 16));
    REQUIRE(network_in(schedule, make_cluster(c), 16, 128) == all(58'720'256, 128));
    REQUIRE(nvlink_in(schedule, make_cluster(c), 16, 128) == all(411'041'792, 128));
  }
  SECTION("30: down projection d0 -> d2 loads ranks alike") {
    const M2nCase c{{1, 16, 0}, {16, 8, 2}, {256, 7168, 2048}, Dtype::f8_e4m3, 8};
    const Schedule schedule = reshard_plan(c);
    REQUIRE(network_out(schedule, make_cluster(c), 0, 16) == all(234'881'024, 16));
    REQUIRE(network_in(schedule, make_cluster(c), 16, 128) == all(469'762'048, 128));
  }
  SECTION("31: bf16 1x16 d0 -> 8x32 d2, G=8: 60.13 GB of network in all") {
    const M2nCase c{{1, 16, 0}, {8, 32, 2}, {256, 7168, 2048}, Dtype::bf16, 8};
    const Schedule schedule = reshard_plan(c);
    REQUIRE(network_out(schedule, make_cluster(c), 0, 16) == all(469'762'048, 16));
    REQUIRE(network_in(schedule, make_cluster(c), 16, 256) == all(234'881'024, 256));
    REQUIRE(234'881'024 * std::int64_t{256} == 60'129'542'144);
  }
  SECTION("32: Qwen3-32B down 2x4 d1 -> 8x4 d1, G=8: 65.5 MB on 16 of 32 ranks") {
    const M2nCase c{{2, 4, 1}, {8, 4, 1}, {5120, 25600}, Dtype::bf16, 8};
    const auto in = network_in(reshard_plan(c), make_cluster(c), 8, 32);
    REQUIRE(std::count(in.begin(), in.end(), 65'536'000) == 16);
    REQUIRE(std::count(in.begin(), in.end(), 0) == 16);
  }
  SECTION("33: Qwen3-32B 2x2 -> 16x1 in one rack: 131 MB on 2 ranks, which push to 15 each") {
    const M2nCase c{{2, 2, 0}, {16, 1, 0}, {5120, 25600}, Dtype::bf16, 64};
    const Schedule schedule = reshard_plan(c);
    const auto in = network_in(schedule, make_cluster(c), 4, 16);
    REQUIRE(std::count(in.begin(), in.end(), 131'072'000) == 2);
    REQUIRE(std::count(in.begin(), in.end(), 0) == 14);
    REQUIRE(network_out(schedule, make_cluster(c), 0, 4) ==
            std::vector<std::int64_t>{131'072'000, 131'072'000, 0, 0});
  }
}

TEST_CASE("m2n 34 to 36: two shard axes, overlapping ranks and four dims", "[planner][oracle]") {
  SECTION(
      "34: EP4 x TP2 on [8,8,8] -> TP8 d1: each destination takes 16 B from the four ranks of its "
      "half") {
    Refit refit;
    refit.ranks = 16;
    refit.stages = 1;
    for (int r = 0; r < 16; ++r) (r < 8 ? refit.sources : refit.destinations).push_back(Rank(r));
    const std::vector<std::int64_t> shape{1, 8, 8, 8};
    refit.classes.push_back(
        {"w",
         Dtype::u8,
         Role::unspecified,
         false,
         0,
         {0},
         Layout(shape, Mesh::row_major(Rank(0), {{"ep", 4}, {"tp", 2}}), {shard(1), shard(2)}),
         Layout(shape, Mesh::row_major(Rank(8), {{"tp", 8}}), {shard(2)}),
         1,
         ""});
    const Cluster cluster = cluster_of_domains({8, 8});
    const Schedule schedule = plan(refit, cluster, named_policy("reshard"), {.chunks = 1});
    REQUIRE(verify(schedule, refit).empty());
    int transfers = 0;
    for (const Op& op : schedule.ops) {
      if (op.kind != OpKind::transfer) continue;
      ++transfers;
      REQUIRE(op.bytes == 16);
      REQUIRE(op.src.value % 2 == (op.dst.value - 8) / 4);  // tp = t / 4
    }
    REQUIRE(transfers == 32);
    REQUIRE(network_in(schedule, cluster, 8, 8) == std::vector<std::int64_t>(8, 64));
  }
  SECTION("35: two destination ranks are sources: what they hold already costs no network byte") {
    // Rows 0..7 on S0..S3 (2 rows each); destinations are S2, S3 and two more ranks, 2 rows each.
    Refit refit;
    refit.ranks = 6;
    refit.stages = 1;
    refit.sources = {Rank(0), Rank(1), Rank(2), Rank(3)};
    refit.destinations = {Rank(2), Rank(3), Rank(4), Rank(5)};
    const std::vector<std::int64_t> shape{1, 8, 8};
    refit.classes.push_back({"w",
                             Dtype::u8,
                             Role::unspecified,
                             false,
                             0,
                             {0},
                             Layout(shape, Mesh::row_major(Rank(0), {{"s", 4}}), {shard(1)}),
                             Layout(shape, Mesh::row_major(Rank(2), {{"s", 4}}), {shard(1)}),
                             1,
                             ""});
    const Cluster cluster = cluster_of_domains({1, 1, 1, 1, 1, 1});
    for (const char* strategy : {"reshard", "direct", "gather_broadcast"}) {
      const Schedule schedule = plan(refit, cluster, named_policy(strategy), {.chunks = 1});
      CAPTURE(strategy);
      REQUIRE(verify(schedule, refit).empty());
    }
    // The same layout shifted by nobody: every destination owns its rows, nothing moves.
    refit.destinations = refit.sources;
    refit.classes.front().destination = refit.classes.front().source;
    for (const char* strategy : {"reshard", "direct"}) {
      const Schedule schedule = plan(refit, cluster, named_policy(strategy), {.chunks = 1});
      CAPTURE(strategy);
      REQUIRE(verify(schedule, refit).empty());
      REQUIRE(std::none_of(schedule.ops.begin(), schedule.ops.end(),
                           [](const Op& op) { return op.kind == OpKind::transfer; }));
    }
  }
  SECTION("36: four dims, 1x2 d1 -> 1x2 d3") {
    REQUIRE(reshard_flows({{1, 2, 1}, {1, 2, 3}, {2, 4, 4, 4}}) ==
            Flows{{"S0>D0", 32}, {"S0>D1", 32}, {"S1>D0", 32}, {"S1>D1", 32}});
  }
}

}  // namespace refit::test
