// Which rank is which coordinate, in every order of axes.
#include "models/megatron_grids.h"

#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "tests/models/megatron_case.h"

namespace refit::test {
namespace {

using Sizes = std::map<std::string, int>;  // by the name in the order

std::vector<std::string> split(const std::string& order) {
  std::vector<std::string> names(1);
  for (const char c : order) {
    if (c == '-') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return names;
}

// Counts a rank down, the fastest axis first.
std::map<std::string, int> coordinates(int rank, const std::string& order, const Sizes& sizes) {
  std::map<std::string, int> result;
  for (const std::string& name : split(order)) {
    result[name] = rank % sizes.at(name);
    rank /= sizes.at(name);
  }
  return result;
}

// The ranks that differ in their stage only, as a set of sets.
std::set<std::set<int>> pipelines(int gpus, const std::string& order, const Sizes& sizes) {
  std::map<std::map<std::string, int>, std::set<int>> groups;
  for (int rank = 0; rank < gpus; ++rank) {
    auto at = coordinates(rank, order, sizes);
    at.erase("pp");
    groups[at].insert(rank);
  }
  std::set<std::set<int>> all;
  for (const auto& [at, ranks] : groups) all.insert(ranks);
  return all;
}

Sizes dense_sizes(const MegatronOptions& o) {
  return {{"tp", o.tensor},
          {"cp", o.context},
          {"ep", 1},
          {"dp", o.gpus / (o.tensor * o.context * o.pipeline)},
          {"pp", o.pipeline}};
}

Sizes expert_sizes(const MegatronOptions& o) {
  const int etp = o.expert_tensor.value_or(o.tensor);
  return {{"tp", etp},
          {"cp", 1},
          {"ep", o.expert},
          {"dp", o.gpus / (etp * o.expert * o.pipeline)},
          {"pp", o.pipeline}};
}

void require_grid(const Mesh& mesh, const MegatronOptions& options, const Sizes& sizes,
                  const std::vector<std::string>& axes) {
  REQUIRE(mesh.size() == options.gpus);
  const std::vector<Rank> ranks = mesh.ranks();
  for (int i = 0; i < mesh.size(); ++i) {
    const int rank = ranks[static_cast<std::size_t>(i)].value - options.first.value;
    const auto expected = coordinates(rank, options.order, sizes);
    const std::vector<int> got = mesh.coordinate_of(i);
    for (std::size_t a = 0; a < axes.size(); ++a) REQUIRE(got[a] == expected.at(axes[a]));
  }
}

}  // namespace

TEST_CASE("megatron: rank 77 of 128 at TP4 PP8 EP16 ETP1 is tp 1, dp 3, pp 4 and ep 13, edp 0",
          "[models][megatron][golden]") {
  const MegatronGrids grids = megatron_grids(small_model(8, 128), degrees(128, 4, 1, 8, 16, 1));
  const std::vector<int> dense{4, 3, 0, 1}, experts{4, 0, 13, 0};  // pp dp cp tp, pp edp ep etp
  REQUIRE(grids.dense.rank_at(dense) == Rank(77));
  REQUIRE(grids.experts.rank_at(experts) == Rank(77));
}

TEST_CASE("megatron: every order of ranks gives the coordinates counted down by hand",
          "[models][megatron][oracle]") {
  const unsigned seed = 71;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int accepted = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    MegatronOptions options = degrees(0, 1 << pick(3), 1 << pick(2), 1 + pick(3));
    options.expert = 1 << pick(3);
    if (pick(2) == 0) options.expert_tensor = 1 << pick(2);
    options.gpus = 32 * options.pipeline;
    options.first = Rank(pick(3));
    std::vector<std::string> axes{"tp", "cp", "ep", "dp", "pp"};
    if (pick(3) > 0) {
      std::shuffle(axes.begin(), axes.end(), random);
    } else if (pick(2) == 0) {
      std::swap(axes[3], axes[4]);
    }
    options.order = axes[0];
    for (std::size_t a = 1; a < axes.size(); ++a) options.order += "-" + axes[a];
    CAPTURE(options.order, options.tensor, options.context, options.pipeline, options.expert);

    const Sizes dense = dense_sizes(options), experts = expert_sizes(options);
    const bool same = pipelines(options.gpus, options.order, dense) ==
                      pipelines(options.gpus, options.order, experts);
    // Megatron also wants as many copies of both, unless pp comes last.
    const bool copies =
        axes[4] == "pp" || options.pipeline == 1 || dense.at("dp") == experts.at("dp");
    const ModelSpec model = small_model(6, 64);
    if (!same || !copies) {
      ++refused;
      REQUIRE_THROWS_AS(megatron_grids(model, options), Error);
      continue;
    }
    ++accepted;
    const MegatronGrids grids = megatron_grids(model, options);
    require_grid(grids.dense, options, dense, {"pp", "dp", "cp", "tp"});
    require_grid(grids.experts, options, experts, {"pp", "dp", "ep", "tp"});
  }
  REQUIRE(accepted > 300);
  REQUIRE(refused > 300);
}

TEST_CASE("megatron: stages before data parallelism, as with use-tp-pp-dp-mapping",
          "[models][megatron]") {
  // 16 ranks, TP2 PP2 EP2 ETP1: the stage changes every 2 ranks in both grids, copies every 4.
  MegatronOptions options = degrees(16, 2, 1, 2, 2, 1);
  options.order = "tp-cp-ep-pp-dp";
  const auto side = megatron(small_model(2, 4), options);
  TensorSpec weight;
  weight.name = "w";
  weight.dims = {{8, Axis::ffn, {}}};
  weight.role = Role::dense_ffn;
  for (const int stage : {0, 1}) {
    const Layout layout = side->layout(weight, stage, 1);
    for (int rank = 0; rank < 16; ++rank) {
      REQUIRE((index_of(layout, Rank(rank)) >= 0) == (rank / 2 % 2 == stage));
      if (rank / 2 % 2 != stage) continue;
      const std::int64_t first = rank % 2 * 4;
      REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(Interval{first, first + 4}));
    }
  }
}

TEST_CASE("megatron: orders that make no grid are refused", "[models][megatron]") {
  const auto refused = [](const std::string& order, MegatronOptions options) {
    options.order = order;
    return refusal([&] { megatron_grids(small_model(4, 8), options); });
  };
  const MegatronOptions options = degrees(16, 4, 1, 2, 2, 1);
  REQUIRE(refused("tp-cp-ep-dp-xp", options) ==
          "order: 'xp' in 'tp-cp-ep-dp-xp' is no axis; write tp, cp, ep, dp and pp once each, "
          "fastest first: tp-cp-ep-dp-pp");
  REQUIRE(refused("tp-cp-tp-dp-pp", options) ==
          "order: 'tp' in 'tp-cp-tp-dp-pp' is there twice; write tp, cp, ep, dp and pp once each, "
          "fastest first: tp-cp-ep-dp-pp");
  REQUIRE(refused("tp-pp", options) ==
          "order: 'tp-pp' has 2 axes; write tp, cp, ep, dp and pp once each, fastest first: "
          "tp-cp-ep-dp-pp");
  REQUIRE(refused("", options) ==
          "order: '' in '' is no axis; write tp, cp, ep, dp and pp once each, fastest first: "
          "tp-cp-ep-dp-pp");
  REQUIRE(refused("tp-cp-ep-pp-dp", options) ==
          "order: in tp-cp-ep-pp-dp, stages lie 4 ranks apart for dense weights and 2 for experts, "
          "with 2 and 4 copies; end it with pp, or make expert x expert_tensor 4 as tensor x "
          "context");
}

TEST_CASE("megatron: degrees that do not fit are refused", "[models][megatron]") {
  const ModelSpec dense = small_model(12), sparse = small_model(12, 8);
  REQUIRE(refusal_of(dense, degrees(8, 3, 1, 1)) ==
          "tensor: 3 does not divide 8 ranks; use one of 1, 2, 4, 8");
  REQUIRE(refusal_of(dense, degrees(8, 0, 1, 1)) == "tensor: 0 is not a degree; use 1 or more");
  REQUIRE(refusal_of(dense, degrees(8, 1, 1, 3)) ==
          "pipeline: 3 does not divide 8 ranks; use one of 1, 2, 4, 8");
  REQUIRE(refusal_of(dense, degrees(8, 1, 1, -1)) == "pipeline: -1 is not a degree; use 1 or more");
  REQUIRE(refusal_of(dense, degrees(8, 4, 2, 2)) ==
          "tensor x context: 8 ranks do not divide the 4 ranks of a pipeline stage (8 ranks / "
          "pipeline 2); use 4");
  REQUIRE(refusal_of(dense, degrees(8, 4, 0, 2)) ==
          "tensor x context: 0 ranks do not divide the 4 ranks of a pipeline stage (8 ranks / "
          "pipeline 2); use 1");
  REQUIRE(refusal_of(sparse, degrees(8, 4, 1, 2, 2, 2)) == "");
  // Two wrongs: 4 = -2 x -2, and a product beyond 32 bits that would come out as 1.
  REQUIRE(refusal_of(sparse, degrees(8, 1, 1, 2, -2, -2)) ==
          "expert x expert_tensor: 4 ranks do not divide the 4 ranks of a pipeline stage (8 ranks "
          "/ pipeline 2); use 2");
  REQUIRE(refusal_of(sparse, degrees(8, 1, 1, 2, 641, 6'700'417)) ==
          "expert x expert_tensor: 4294967297 ranks do not divide the 4 ranks of a pipeline stage "
          "(8 ranks / pipeline 2); use 4");
  REQUIRE(refusal_of(small_model(12, 6), degrees(8, 1, 1, 1, 4)) ==
          "expert: 4 does not divide 6 experts; Megatron needs equal shares, use 2");
  REQUIRE(refusal_of(small_model(12, 128), degrees(48, 1, 1, 1, 24)) ==
          "expert: 24 does not divide 128 experts; Megatron needs equal shares, use 16");
  REQUIRE(refusal_of(dense, degrees(8, 1, 1, 1, 16)) == "");  // no experts to divide
}

TEST_CASE("megatron: who forgets that experts are cut by tensor, too, is told the cure",
          "[models][megatron]") {
  // A job with TP 8 and EP 8 on 16 GPUs that leaves expert_tensor out: Megatron takes 8.
  REQUIRE(refusal_of(small_model(12, 64), degrees(16, 8, 1, 1, 8)) ==
          "expert x expert_tensor: 64 ranks do not divide the 16 ranks of a pipeline stage (16 "
          "ranks / pipeline 1); use 16; expert_tensor is tensor (8) unless it is written; write "
          "expert_tensor: 1");
  REQUIRE(refusal_of(small_model(12, 64), degrees(16, 8, 1, 1, 8, 1)) == "");
  // Or the expert's columns do not divide: 768 of Qwen3-30B-A3B by 32 do, 1408 by 32 do not halve.
  const auto side = megatron(small_model(4, 8), degrees(24, 3, 1, 1, 8));
  TensorSpec gate;
  gate.name = "gate";
  gate.dims = {{8, Axis::expert, {}}, {1408, Axis::ffn, {}}};
  gate.role = Role::routed_expert;
  REQUIRE(refusal([&] { side->layout(gate, 0, 1); }) ==
          "expert_tensor: gate can't be cut by 3 ranks: 1408 rows do not divide evenly; use 2 or "
          "4; expert_tensor is tensor (3) unless it is written; write expert_tensor: 1");
}

}  // namespace refit::test
