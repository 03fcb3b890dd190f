// Random single mutations of good plans: whatever the element oracle finds, verify must find.
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "schedule/verify.h"
#include "tests/schedule/broken.h"
#include "tests/support/element_oracle.h"
#include "tests/support/m2n_case.h"

namespace refit::test {
namespace {

struct Question {
  Refit refit;
  Cluster cluster;
};

Question question(const M2nCase& c) { return {make_refit(c), make_cluster(c)}; }

// Two classes in each of two stages, on ranks that are partly both source and destination.
Question overlapping() {
  Refit refit;
  refit.ranks = 6;
  refit.stages = 2;
  for (int r = 0; r < 4; ++r) refit.sources.push_back(Rank(r));
  for (int r = 2; r < 6; ++r) refit.destinations.push_back(Rank(r));
  const auto add = [&](Role role, int stage, Placement from, Placement to) {
    const std::vector<std::int64_t> shape{2, 6, 2};
    const Mesh sources = Mesh::row_major(Rank(2 * stage), {{"r", 2}});
    const Mesh destinations = Mesh::row_major(Rank(2), {{"copy", 2}, {"part", 2}});
    refit.classes.push_back({std::string(to_string(role)),
                             Dtype::bf16,
                             role,
                             false,
                             stage,
                             {0, 1},
                             Layout(shape, sources, {std::move(from)}),
                             Layout(shape, destinations, {replicate(), std::move(to)}),
                             2,
                             ""});
  };
  for (const int stage : {0, 1}) {
    add(Role::routed_expert, stage, shard(1), shard(2));
    add(Role::norm, stage, replicate(), shard(1));
  }
  return {std::move(refit), cluster_of_domains({2, 2, 2})};
}

// The oracle can't run others.
bool names_chunks_that_exist(const Schedule& schedule) {
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::compute || op.kind == OpKind::barrier) continue;
    for (const ParcelId id : schedule.cargos[op.cargo.index()].parcels) {
      if (op.chunk_end > schedule.parcels[id.index()].chunks) return false;
    }
  }
  return true;
}

class Mutator {
 public:
  Mutator(const Schedule& good, unsigned seed) : good_(good), random_(seed) {}

  // One change; what it is stands in `kind`.
  Schedule next(std::string& kind) {
    Schedule s = good_;
    const std::size_t id = moving_op();
    Op& op = s.ops[id];
    switch (random_() % 14) {
      case 0:
        kind = "drop";
        return without_op(good_, id);
      case 1:
        kind = "copy";
        return with_copy_of_op(good_, id);
      case 2:
        kind = "src";
        op.src = Rank(below(s.ranks));
        return s;
      case 3:
        kind = "dst";
        op.dst = Rank(below(s.ranks));
        return s;
      case 4:
        kind = "cargo";
        op.cargo = CargoId(below(size(s.cargos)));
        return s;
      case 5:
        kind = "group";
        op.group = GroupId(below(size(s.groups)));
        return s;
      case 6: {
        kind = "chunks";
        const int chunks = s.parcels[s.cargos[op.cargo.index()].parcels.front().index()].chunks;
        op.chunk_begin = below(chunks);
        op.chunk_end = op.chunk_begin + 1;
        return s;
      }
      case 7:
        kind = "bytes";
        op.bytes += 1 + below(3);
        return s;
      case 8:
        kind = "swap";
        std::swap(s.ops[id], s.ops[moving_op()]);
        return s;
      case 9: {
        kind = "fragment";
        Region& region = a_parcel(s).fragments[0].region;
        Interval& side = region[static_cast<std::size_t>(below(size(region)))];
        side.begin += below(2);
        side.end -= below(2);
        if (side.begin >= side.end) side.begin = side.end - 1;
        return s;
      }
      case 10:
        kind = "owners";
        a_parcel(s).owners[0] = Rank(below(s.ranks));
        return s;
      case 11:
        kind = "demanders";
        a_parcel(s).demanders.pop_back();
        return s;
      case 12: {
        kind = "member of a cargo";
        auto& parcels = s.cargos[static_cast<std::size_t>(below(size(s.cargos)))].parcels;
        parcels[static_cast<std::size_t>(below(size(parcels)))] = ParcelId(below(size(s.parcels)));
        return s;
      }
      default: {
        kind = "member of a group";
        auto& ranks = s.groups[static_cast<std::size_t>(below(size(s.groups)))].ranks;
        ranks[static_cast<std::size_t>(below(size(ranks)))] = Rank(below(s.ranks));
        return s;
      }
    }
  }

 private:
  template <class List>
  static int size(const List& list) {
    return static_cast<int>(list.size());
  }
  int below(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most)); }
  Parcel& a_parcel(Schedule& s) {
    return s.parcels[static_cast<std::size_t>(below(size(s.parcels)))];
  }
  std::size_t moving_op() {
    while (true) {
      const auto id = static_cast<std::size_t>(below(size(good_.ops)));
      const OpKind kind = good_.ops[id].kind;
      if (kind != OpKind::compute && kind != OpKind::barrier) return id;
    }
  }

  const Schedule& good_;
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("verify finds every fault that the element oracle finds", "[schedule][verify][oracle]") {
  const unsigned seed = GENERATE(11u, 12u, 13u);
  CAPTURE(seed);
  std::vector<Question> questions;
  questions.push_back(question({{1, 2, 0}, {4, 1, 0}, {8}, Dtype::u8, 2}));
  questions.push_back(question({{2, 2, 0}, {2, 3, 1}, {4, 6}, Dtype::bf16, 3}));
  questions.push_back(
      question({{1, 3, 0, false, Split::balanced()}, {3, 1, 0}, {7}, Dtype::f32, 1}));
  questions.push_back(overlapping());
  std::map<std::string, int> faults;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const auto& [refit, cluster] = questions[q];
    for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
      CAPTURE(q, strategy);
      const Schedule good =
          plan(refit, cluster, named_policy(strategy), {.chunks = 2, .bucket_bytes = 8});
      REQUIRE(run_elements(good, refit) == "");
      REQUIRE(verify(good, refit).empty());
      Mutator mutator(good, seed);
      for (int i = 0; i < 100; ++i) {
        std::string kind;
        const Schedule broken = mutator.next(kind);
        const std::string fault =
            names_chunks_that_exist(broken) ? run_elements(broken, refit) : "no such chunk";
        if (fault.empty()) continue;
        ++faults[kind];
        CAPTURE(i, kind, fault);
        REQUIRE_FALSE(verify(broken, refit).empty());
      }
    }
  }
  // Every kind of mutation must do harm now and then, or this test would show nothing. Owners and
  // demanders are verify's alone: the oracle looks at elements.
  for (const char* kind : {"drop", "copy", "src", "dst", "cargo", "group", "chunks", "bytes",
                           "fragment", "member of a cargo", "member of a group", "swap"}) {
    CAPTURE(kind);
    CHECK(faults[kind] > 0);
  }
}

}  // namespace refit::test
