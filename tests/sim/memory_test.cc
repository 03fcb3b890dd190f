#include "sim/memory.h"

#include <catch2/catch.hpp>

#include "tests/sim/plans.h"
#include "tests/support/m2n_case.h"

using namespace refit;
using namespace refit::test;

namespace {

std::size_t at(MemoryTerm term) { return index_of(term); }

// Three lone GPUs in each of two sites.
Cluster two_sites() {
  NodeGroupSpec here = lone_gpus(3).spec().groups.front();
  NodeGroupSpec there = here;
  there.name = "there";
  there.site = 1;
  return Cluster({{here, there}, {{}, {}}, {"here", "there"}, {{0, 1, 1e9, 0}}});
}

// Nothing but what a test puts in.
constexpr MemoryOptions kBare{.staging_bytes = 0, .communicator_bytes = 0};

// 8 bytes in two source shards of 4 on ranks 0 and 1, in four destination shards of 2 on ranks 2-5.
const M2nCase kTwoToFour{{1, 2, 0}, {1, 4, 0}, {8}, Dtype::u8, 1};

// Transfers of `bytes` each, at given times, of parcels that rank 0 owns and `demander` wants.
class Moves {
 public:
  explicit Moves(int lanes, int demander) {
    plan_.lanes = lanes;
    plan_.ranks = 6;
    Parcel& parcel = plan_.parcels.emplace_back();
    parcel.owners = {Rank(0)};
    parcel.demanders = {Rank(demander)};
    plan_.cargos.push_back({{ParcelId(0)}});
  }

  OpId add(int src, int dst, std::int64_t bytes, Span when, const std::vector<OpId>& after = {},
           int lane = 0) {
    Op op;
    op.src = Rank(src);
    op.dst = Rank(dst);
    op.bytes = bytes;
    op.lane = static_cast<std::uint8_t>(lane);
    return push(op, when, after);
  }
  OpId gather(std::vector<Rank> ranks, std::int64_t bytes, Span when,
              const std::vector<OpId>& after = {}) {
    Op op;
    op.kind = OpKind::all_gather;
    op.group = group(std::move(ranks));
    op.bytes = bytes;
    return push(op, when, after);
  }
  OpId work(int rank, const std::vector<OpId>& after) {
    Op op;
    op.kind = OpKind::compute;
    op.group = group({Rank(rank)});
    return push(op, {}, after);
  }

  MemoryUse use(const MemoryOptions& options, const Cluster& cluster = lone_gpus(6)) const {
    return memory_use(plan_, make_refit(kTwoToFour), cluster, timeline_, options);
  }
  MemoryByClass by_class(const MemoryBounds& bounds, const MemoryOptions& options = kBare,
                         const Cluster& cluster = lone_gpus(6)) const {
    return memory_by_class(plan_, make_refit(kTwoToFour), cluster, timeline_, options, bounds);
  }
  double most(int rank, MemoryTerm term, const MemoryOptions& options = kBare) const {
    return use(options).peak[static_cast<std::size_t>(rank)].bytes[at(term)];
  }

 private:
  GroupId group(std::vector<Rank> ranks) {
    const int one_ring = static_cast<int>(ranks.size());
    plan_.groups.push_back({std::move(ranks), one_ring});
    return GroupId(static_cast<std::int64_t>(plan_.groups.size()) - 1);
  }
  OpId push(Op op, Span when, const std::vector<OpId>& after) {
    op.after_begin = static_cast<std::uint32_t>(plan_.after.size());
    plan_.after.insert(plan_.after.end(), after.begin(), after.end());
    op.after_end = static_cast<std::uint32_t>(plan_.after.size());
    plan_.ops.push_back(op);
    timeline_.push_back(when);
    return OpId(static_cast<std::int64_t>(plan_.ops.size()) - 1);
  }

  Schedule plan_;
  Timeline timeline_;
};

}  // namespace

TEST_CASE("memory: before anything moves both sides hold their shards", "[sim][memory]") {
  const MemoryUse use = Moves(1, 2).use(kBare);
  REQUIRE(use.peak.size() == 6);
  CHECK(use.peak[1].bytes[at(MemoryTerm::source_shards)] == 4);
  CHECK(use.peak[1].total() == 4);
  CHECK(use.peak[5].bytes[at(MemoryTerm::destination_shards)] == 2);
  CHECK(use.peak[5].total() == 2);
  CHECK(use.largest == Rank(0));  // of equals the first
  CHECK(use.peak[use.largest.index()].dominant() == MemoryTerm::source_shards);
  CHECK_FALSE(use.first_over);
}

TEST_CASE("memory: a rank on both sides holds both shards", "[sim][memory]") {
  Refit refit = make_refit(kTwoToFour);
  refit.classes.front().destination =
      Layout({1, 8}, Mesh::row_major(Rank(0), {{"tp", 4}}), {shard(1)});
  Schedule nothing;
  nothing.ranks = 4;
  const MemoryUse use = memory_use(nothing, refit, lone_gpus(4), {}, kBare);
  CHECK(use.peak[0].total() == 6);  // 4 + 2
  CHECK(use.peak[2].total() == 2);
}

TEST_CASE("memory: a gather's bucket is whole on every rank of its group", "[sim][memory]") {
  Moves moves(1, 2);
  moves.gather(ranks(0, 2), 800, {0, 1});
  const MemoryUse use = moves.use(kBare);
  CHECK(use.peak[0].bytes[at(MemoryTerm::buckets)] == 800);
  CHECK(use.peak[1].total() == 804);
  CHECK(use.peak[2].total() == 2);
  CHECK(use.peak[use.largest.index()].dominant() == MemoryTerm::buckets);
}

TEST_CASE("memory: buckets that overlap in time add up, and those in a row do not",
          "[sim][memory]") {
  Moves in_a_row(1, 2);
  in_a_row.gather(ranks(0, 2), 800, {0, 1});
  in_a_row.gather(ranks(0, 2), 500, {1, 2});
  CHECK(in_a_row.most(0, MemoryTerm::buckets) == 800);
  Moves overlapping(1, 2);
  overlapping.gather(ranks(0, 2), 800, {0, 1});
  overlapping.gather(ranks(0, 2), 500, {0.5, 2});
  CHECK(overlapping.most(0, MemoryTerm::buckets) == 1300);
}

TEST_CASE("memory: what a rank only hands on is gone after its last use", "[sim][memory]") {
  SECTION("the next piece comes when the first is gone") {
    Moves moves(1, 4);
    const OpId first = moves.add(0, 3, 100, {0, 1});
    moves.add(3, 4, 100, {1, 2}, {first});
    const OpId second = moves.add(0, 3, 100, {2, 3});
    moves.add(3, 4, 100, {3, 4}, {second});
    CHECK(moves.most(3, MemoryTerm::relayed) == 100);
  }
  SECTION("the next piece comes while the first is being handed on") {
    Moves moves(1, 4);
    const OpId first = moves.add(0, 3, 100, {0, 1});
    moves.add(3, 4, 100, {1, 2}, {first});
    moves.add(0, 3, 100, {1, 2});
    CHECK(moves.most(3, MemoryTerm::relayed) == 200);
  }
  SECTION("two uses: the later one ends it") {
    Moves moves(1, 4);
    const OpId first = moves.add(0, 3, 100, {0, 1});
    moves.add(3, 4, 100, {1, 2}, {first});
    moves.add(3, 4, 100, {1, 4}, {first});
    moves.add(0, 3, 10, {3, 4});
    CHECK(moves.most(3, MemoryTerm::relayed) == 110);
  }
  SECTION("a collective may be the last use, and work is none") {
    Moves moves(1, 4);
    const OpId first = moves.add(0, 3, 100, {0, 1});
    moves.gather(ranks(3, 5), 100, {1, 2}, {first});
    moves.work(3, {first});
    moves.add(0, 3, 50, {2, 3});
    CHECK(moves.most(3, MemoryTerm::relayed) == 100);
  }
  SECTION("a rank that wants it keeps it in its own shard") {
    Moves moves(1, 3);
    moves.add(0, 3, 100, {0, 1});
    CHECK(moves.most(3, MemoryTerm::relayed) == 0);
  }
}

TEST_CASE("memory: packed copies fill the staging slots and no more", "[sim][memory]") {
  const auto two_sends = [](int second_lane, double staging_bytes) {
    Moves moves(2, 2);
    moves.add(0, 2, 100, {0, 1});
    moves.add(0, 3, 100, {0.5, 2}, {}, second_lane);
    return moves.most(0, MemoryTerm::staging, {staging_bytes, 0});
  };
  CHECK(two_sends(0, 500) == 200);
  CHECK(two_sends(0, 150) == 150);
  CHECK(two_sends(1, 150) == 200);  // each lane has slots of its own

  // Receiving has slots of its own, too: 150 in and 100 out.
  Moves both(1, 2);
  both.add(0, 3, 150, {0, 1});
  both.add(3, 2, 100, {0, 1});
  CHECK(both.most(3, MemoryTerm::staging, {150, 0}) == 250);
}

TEST_CASE("memory: each lane that a rank uses is a communicator", "[sim][memory]") {
  Moves moves(2, 2);
  moves.add(0, 2, 1, {0, 1});
  moves.add(0, 2, 1, {1, 2});
  moves.add(0, 3, 1, {0, 1}, {}, 1);
  moves.gather(ranks(0, 2), 1, {2, 3});
  const MemoryOptions options{0, 1000};
  CHECK(moves.most(0, MemoryTerm::communicators, options) == 2000);
  CHECK(moves.most(1, MemoryTerm::communicators, options) == 1000);  // by the gather
  CHECK(moves.most(3, MemoryTerm::communicators, options) == 1000);
  CHECK(moves.most(4, MemoryTerm::communicators, options) == 0);
}

TEST_CASE("memory: the moment of the peak is known", "[sim][memory]") {
  Moves moves(1, 2);
  moves.gather(ranks(0, 2), 800, {1, 2});
  moves.gather(ranks(0, 2), 900, {3, 4});
  moves.gather(ranks(0, 2), 900, {5, 6});
  const MemoryUse use = moves.use(kBare);
  CHECK(use.peak[0].when_s == 3);  // of equals the first
  CHECK(use.peak[2].when_s == 0);
}

TEST_CASE("memory: what crosses a border is in host memory, too, at both ends", "[sim][memory]") {
  const auto host = [](const MemoryUse& use, std::size_t rank) {
    return use.peak[rank].bytes[at(MemoryTerm::host_copies)];
  };
  Moves moves(1, 2);
  moves.add(0, 2, 100, {0, 1});   // at home
  moves.add(0, 3, 70, {0.5, 2});  // to the other site
  moves.add(0, 4, 40, {1.5, 3});
  const MemoryUse use = moves.use({1000, 0}, two_sites());
  CHECK(host(use, 0) == 110);
  CHECK(host(use, 2) == 0);
  CHECK(host(use, 3) == 70);
  // It is not on the GPU: the shard of 4, and at most 100 + 70 packed.
  CHECK(use.peak[0].total() == 174);
  CHECK(use.peak[0].dominant() == MemoryTerm::staging);
  // The slots bound it; in one site there is none.
  CHECK(host(moves.use({80, 0}, two_sites()), 0) == 80);
  CHECK(host(moves.use({1000, 0}), 0) == 0);

  // A collective over both sites: in and out on each of its ranks.
  Moves gather(1, 2);
  gather.gather(ranks(2, 5), 100, {0, 1});
  CHECK(host(gather.use({1000, 0}, two_sites()), 2) == 200);
  CHECK(host(gather.use({1000, 0}, two_sites()), 1) == 0);
}

TEST_CASE("memory: ranks with equal weights are one class, and the fullest shows its curve",
          "[sim][memory]") {
  // Ranks 0 and 1 hold 4 bytes each, 2 to 5 hold 2 each. Rank 1 gathers with rank 2.
  Moves moves(1, 2);
  moves.gather(ranks(1, 3), 10, {2, 4});
  moves.gather(ranks(1, 3), 20, {6.5, 7});
  moves.gather(ranks(1, 2), 1, {7.5, 8});
  const MemoryByClass memory = moves.by_class({.classes = 16, .points = 4});
  CHECK(memory.step_s == 2);
  CHECK(memory.left_out == 0);
  REQUIRE(memory.classes.size() == 2);
  const MemoryClass& sources = memory.classes[0];
  CHECK(sources.ranks == ranks(0, 2));
  CHECK(sources.fullest == Rank(1));
  CHECK(sources.peak.total() == 24);
  CHECK(sources.peak.when_s == 6.5);
  CHECK(sources.gpu_memory_bytes == 80e9);
  // Parts: 0-2 s nothing; 2-4 the first gather; 4-6 begins as it ends; 6-8 the second one.
  std::vector<double> buckets;
  for (const MemoryTerms& terms : sources.curve) {
    CHECK(terms[at(MemoryTerm::source_shards)] == 4);
    buckets.push_back(terms[at(MemoryTerm::buckets)]);
  }
  CHECK(buckets == std::vector<double>{0, 10, 10, 20});
  CHECK(memory.classes[1].ranks == ranks(2, 6));
  CHECK(memory.classes[1].fullest == Rank(2));
}

TEST_CASE("memory: a curve keeps a moment that is shorter than its parts, and ends as things are",
          "[sim][memory]") {
  Moves moves(1, 2);
  moves.gather(ranks(1, 3), 10, {0.5, 0.6});
  moves.add(0, 2, 3, {7, 8});
  const MemoryByClass memory = moves.by_class({.classes = 16, .points = 4});
  const MemoryClass& destinations = memory.classes[1];
  REQUIRE(destinations.curve.size() == 4);
  CHECK(gpu_bytes(destinations.curve[0]) == 12);
  CHECK(gpu_bytes(destinations.curve[1]) == 2);
  CHECK(gpu_bytes(destinations.curve[3]) == 2);
}

TEST_CASE("memory: a class has the host copies of the rank that has most", "[sim][memory]") {
  Moves moves(1, 2);
  moves.add(0, 2, 900, {0, 4});  // at home: rank 0 has the fullest GPU
  moves.add(1, 3, 100, {2, 4});  // to the other site
  const MemoryByClass memory = moves.by_class({16, 2}, {1000, 0}, two_sites());
  const MemoryClass& sources = memory.classes[0];
  CHECK(sources.ranks == ranks(0, 2));
  CHECK(sources.fullest == Rank(0));
  CHECK(sources.peak.total() == 904);
  CHECK(sources.peak.bytes[at(MemoryTerm::host_copies)] == 100);
  CHECK(sources.curve[0][at(MemoryTerm::host_copies)] == 0);
  CHECK(sources.curve[1][at(MemoryTerm::host_copies)] == 100);
}

TEST_CASE("memory: of many classes those with the highest peaks stay", "[sim][memory]") {
  // A communicator more makes a class of its own: rank 0 with 4, rank 1 with 5, ranks 2 and 3 with
  // 3, ranks 4 and 5 with 2.
  Moves moves(1, 2);
  moves.add(1, 2, 0, {0, 1});
  moves.add(1, 3, 0, {1, 2});
  const MemoryByClass memory = moves.by_class({.classes = 2, .points = 1}, {0, 1});
  CHECK(memory.left_out == 2);
  REQUIRE(memory.classes.size() == 2);
  CHECK(memory.classes[0].ranks == ranks(0, 1));
  CHECK(memory.classes[1].ranks == ranks(1, 2));
}

TEST_CASE("memory: a plan without ops has a curve of shards", "[sim][memory]") {
  const MemoryByClass memory = Moves(1, 2).by_class({.classes = 16, .points = 2});
  CHECK(memory.step_s == 0);
  REQUIRE(memory.classes.size() == 2);
  CHECK(gpu_bytes(memory.classes[0].curve[1]) == 4);
}

TEST_CASE("memory: the first rank that exceeds its GPU is named", "[sim][memory]") {
  // GPUs of 80 GB. Two sources of 45 GB each; one destination of 90 GB.
  const M2nCase c{{1, 2, 0}, {1, 1, 0}, {90'000'000'000}, Dtype::u8, 1};
  Schedule nothing;
  nothing.ranks = 3;
  const auto use = [&](double communicator_bytes) {
    Schedule plan = nothing;
    plan.lanes = 1;
    plan.groups.push_back({ranks(0, 2), 2});
    Op gather;
    gather.kind = OpKind::all_gather;
    plan.ops = {gather};
    return memory_use(plan, make_refit(c), lone_gpus(3), {{0, 1}}, {0, communicator_bytes});
  };
  CHECK(use(0).first_over == Rank(2));
  CHECK(use(0).largest == Rank(2));
  CHECK(use(0).peak[use(0).largest.index()].dominant() == MemoryTerm::destination_shards);
  // 45 + 35 GB is 80, which fits; a byte more does not.
  CHECK(use(35e9).first_over == Rank(2));
  CHECK(use(35e9 + 1).first_over == Rank(0));
  CHECK(use(35e9 + 1).largest == Rank(2));  // the first is not the worst
}
