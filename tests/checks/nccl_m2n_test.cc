// One refit per limit of NCCL M2N: just inside it nothing is said, just outside the whole message.
#include "checks/nccl_m2n.h"

#include <catch2/catch.hpp>

#include "tests/checks/lines.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

Lines m2n(const Refit& refit, const Cluster& cluster) {
  return lines(nccl_m2n_findings(refit, cluster));
}
Lines m2n(const M2nCase& c) { return m2n(make_refit(c), make_cluster(c)); }

// A tensor from `source` to the eight ranks behind it, cut evenly in the last dim.
Lines m2n(Layout source, const std::vector<std::int64_t>& shape) {
  M2nCase c{{1, source.mesh().size(), 0}, {1, 8, 0}, {64}, Dtype::u8, 8};
  Refit refit = make_refit(c);
  TensorClass& w = refit.classes.front();
  w.source = std::move(source);
  const int last = static_cast<int>(shape.size()) - 1;
  w.destination = Layout(shape, Mesh::row_major(Rank(w.source.mesh().size()), {{"tp", 8}}),
                         {shard(last, Split::even())});
  return m2n(refit, make_cluster(c));
}

}  // namespace

TEST_CASE("nccl_m2n: replicas x shards to shards x replicas is what it is made for",
          "[checks][m2n]") {
  CHECK(m2n({{2, 4, 0}, {2, 4, 0, true}, {64, 64}, Dtype::bf16, 8}) == Lines{});
}

TEST_CASE("nccl_m2n: both sides have ranks of their own", "[checks][m2n]") {
  Refit refit = make_refit({{1, 4, 0}, {1, 4, 0}, {64}, Dtype::u8, 4});
  refit.sources.push_back(Rank(4));
  refit.sources.push_back(Rank(5));
  CHECK(
      m2n(refit, cluster_of_domains({4, 4})) ==
      Lines{"nccl_m2n.overlapping_ranks: training and generation: 2 ranks are on both sides, rank "
            "4 first; none may; use separate GPUs"});
}

TEST_CASE("nccl_m2n: three dims of a tensor are taken and four are not", "[checks][m2n]") {
  CHECK(m2n({{1, 4, 0}, {1, 4, 0}, {8, 2, 2}, Dtype::u8, 4}) == Lines{});
  CHECK(m2n({{1, 4, 0}, {1, 4, 0}, {8, 2, 2, 2}, Dtype::u8, 4}) ==
        Lines{"nccl_m2n.dims: w: 4 dims, and at most 3 are taken; send each expert by itself"});
}

TEST_CASE("nccl_m2n: one axis may cut, not experts and rows at once", "[checks][m2n]") {
  const Layout both({1, 8, 64}, Mesh::row_major(Rank(0), {{"ep", 4}, {"etp", 2}}),
                    {shard(1, Split::even()), shard(2, Split::even())});
  CHECK(m2n(both, {1, 8, 64}) ==
        Lines{"nccl_m2n.shard_axes: w: the source cuts it along ep 4 and etp 2; one axis may; use "
              "one of the two degrees only"});
}

TEST_CASE("nccl_m2n: replicas on both sides of the shards are three axes", "[checks][m2n]") {
  const auto mesh = [](std::vector<std::pair<std::string, int>> axes) {
    return Mesh::row_major(Rank(0), std::move(axes));
  };
  const Placement cut = shard(1, Split::even());
  // dp and cp are neighbours: one axis of 4 replicas.
  CHECK(
      m2n(Layout({1, 64}, mesh({{"dp", 2}, {"cp", 2}, {"tp", 2}}), {replicate(), replicate(), cut}),
          {1, 64}) == Lines{});
  const Lines three{
      "nccl_m2n.mesh_axes: w: the source ranks are a mesh of replicas x shards x replicas; at most "
      "2 "
      "axes; number the ranks so that all replicas of a shard, or all its copies of the model, "
      "follow one another"};
  CHECK(
      m2n(Layout({1, 64}, mesh({{"dp", 2}, {"tp", 2}, {"cp", 2}}), {replicate(), cut, replicate()}),
          {1, 64}) == three);
  // Two KV heads on four ranks are two shards of two replicas, and dp makes the third axis.
  CHECK(
      m2n(Layout({1, 64}, mesh({{"dp", 2}, {"tp", 4}}), {replicate(), shard(1, Split::shared(2))}),
          {1, 64}) == three);
}

TEST_CASE("nccl_m2n: a shard is one run of rows", "[checks][m2n]") {
  // [gate; up] of 32 rows each over 2 ranks: rows 0-15 and 32-47 on rank 0.
  CHECK(m2n(Layout({1, 64}, Mesh::row_major(Rank(0), {{"dp", 4}, {"tp", 2}}),
                   {replicate(), shard(1, Split::blocks({32, 32}))}),
            {1, 64}) ==
        Lines{"nccl_m2n.strided: w: a source shard is several runs of one dim; only one may; send "
              "each run as a tensor of its own"});
}

TEST_CASE("nccl_m2n: shards have equal sizes", "[checks][m2n]") {
  // 10 rows over 4 ranks by torch.chunk: 3, 3, 3, 1.
  CHECK(m2n({{2, 2, 0}, {1, 4, 0, false, Split::chunk()}, {10}, Dtype::u8, 4}) ==
        Lines{"nccl_m2n.uneven: w: destination shards have 1 to 3 elements; all must be equal; "
              "choose a degree that divides the dim, or send it with another strategy"});
}

TEST_CASE("nccl_m2n: 16 source shards may meet in one destination shard", "[checks][m2n]") {
  CHECK(m2n({{1, 32, 0}, {1, 2, 0}, {64}, Dtype::u8, 2}) == Lines{});
  // 32-way expert parallel to TP 16, experts cut one way and rows the other: all 32 meet in each.
  CHECK(m2n({{1, 32, 0}, {1, 16, 1}, {32, 16}, Dtype::u8, 16}) ==
        Lines{"nccl_m2n.source_overlap: w: 32 source shards meet in one destination shard; PACK "
              "takes 16; cut the destination into 2 times as many, or the source into at most 16 "
              "per destination shard"});
}

TEST_CASE("nccl_m2n: 64 destination shards may share one source shard", "[checks][m2n]") {
  CHECK(m2n({{1, 1, 0}, {1, 64, 0}, {128}, Dtype::u8, 1}) == Lines{});
  CHECK(m2n({{1, 1, 0}, {1, 128, 0}, {128}, Dtype::u8, 1}) ==
        Lines{"nccl_m2n.destination_overlap: w: 128 destination shards share one source shard; 64 "
              "may"});
}

TEST_CASE("nccl_m2n: a staging slot holds 2 GiB and from 4 GiB on a call hangs", "[checks][m2n]") {
  const auto of = [](std::int64_t bytes) {
    return m2n({{1, 1, 0}, {1, 2, 0}, {bytes}, Dtype::u8, 1});
  };
  CHECK(of(2147483648) == Lines{});  // 2^31
  CHECK(
      of(3000000000) ==
      Lines{"nccl_m2n.slot: w: one rank holds 3.00 GB of it, and the largest staging slot is 2.15 "
            "GB; raise the staging pool's largest slot, or cut it further"});
  CHECK(of(4294967294).front().substr(0, 13) == "nccl_m2n.slot");
  CHECK(
      of(4294967296) ==  // 2^32
      Lines{"nccl_m2n.hang: w: one rank holds 4.29 GB of it; from 4.29 GB (4 GiB) on a call never "
            "ends; cut it further, or send it in parts"});
}

TEST_CASE("nccl_m2n: a class of many tensors is judged by one of them", "[checks][m2n]") {
  // 8 members of 1 GB are 8 calls of 1 GB, not one of 8 GB.
  Refit refit = make_refit({{1, 1, 0}, {1, 2, 0}, {1000000000}, Dtype::u8, 2});
  TensorClass& w = refit.classes.front();
  const auto eight = [](const Layout& one) {
    std::vector<std::int64_t> shape = one.shape();
    shape.front() = 8;
    return Layout(shape, one.mesh(), one.placements());
  };
  w.members = {0, 1, 2, 3, 4, 5, 6, 7};
  w.source = eight(w.source);
  w.destination = eight(w.destination);
  CHECK(m2n(refit, cluster_of_domains({1, 1, 1})) == Lines{});
}

TEST_CASE("nccl_m2n: 16 source ranks beside racks of 64 make domains of 16", "[checks][m2n]") {
  // Runs of 16, 64 and 64 ranks: gcd 16. With domains of 64 counted from rank 0 of the communicator
  // the first would hold the 16 sources and 48 destinations.
  CHECK(
      m2n(make_refit({{4, 4, 0}, {32, 4, 0}, {64}, Dtype::u8, 64}),
          cluster_of_domains({16, 64, 64})) ==
      Lines{"nccl_m2n.domain_gcd: communicator of stage 0: 16 source and 128 destination ranks in "
            "runs with a common divisor of 16: NVLink domains of 64 are taken for domains of 16; "
            "use whole domains of 64 ranks on both sides, or split communicators",
            "nccl_m2n.phantom_domain: communicator of stage 0: destinations start at rank 16, and "
            "domains of 64 at multiples of 64: the first would end after 48 destinations, where "
            "no domain ends; use a multiple of 64 source ranks per stage"});
  CHECK(m2n(make_refit({{16, 4, 0}, {32, 4, 0}, {64}, Dtype::u8, 64}),
            cluster_of_domains({64, 64, 64})) == Lines{});
}

TEST_CASE("nccl_m2n: a last rack that is half full halves all domains", "[checks][m2n]") {
  // Runs of 64, 64 and 32: gcd 32. Destinations start at a multiple of 64: no phantom.
  CHECK(m2n(make_refit({{16, 4, 0}, {24, 4, 0}, {64}, Dtype::u8, 64}),
            cluster_of_domains({64, 64, 32})) ==
        Lines{"nccl_m2n.domain_gcd: communicator of stage 0: 64 source and 96 destination ranks in "
              "runs with a common divisor of 32: NVLink domains of 64 are taken for domains of 32; "
              "use whole domains of 64 ranks on both sides, or split communicators"});
}

TEST_CASE("nccl_m2n: sources in the first destinations' domain are no trap", "[checks][m2n]") {
  // 8 sources and 8 destinations share a domain of 16: runs of 16 and 16, as the links are.
  CHECK(m2n(make_refit({{1, 8, 0}, {3, 8, 0}, {64}, Dtype::u8, 16}),
            cluster_of_domains({16, 16})) == Lines{});
}

TEST_CASE("nccl_m2n: one receiver hands on to 128 followers at most", "[checks][m2n]") {
  const auto racks_of = [](int ranks) {
    return m2n(make_refit({{1, ranks, 0}, {ranks, 1, 0}, {ranks * 8}, Dtype::u8, ranks}),
               cluster_of_domains({ranks, ranks}));
  };
  const Lines said = racks_of(144);
  REQUIRE(said.size() == 2);  // the other: 144 shards meet in one
  CHECK(
      said[1] ==
      "nccl_m2n.followers: communicator of stage 0: domains of 144 ranks have up to 143 followers "
      "per receiver; 128 may");
}

}  // namespace refit::test
