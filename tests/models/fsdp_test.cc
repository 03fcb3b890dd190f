#include <catch2/catch.hpp>

#include "tests/models/fsdp_case.h"

namespace refit::test {
namespace {

const TensorDim kHidden{6, Axis::none, {}};

TensorSpec expert_matrix(std::int64_t experts, std::int64_t rows, bool one_by_one = true) {
  TensorSpec spec = layer_tensor({{experts, Axis::expert, {}}, {rows, Axis::ffn, {}}, kHidden},
                                 Role::routed_expert, "gate");
  spec.experts = one_by_one ? static_cast<int>(experts) : 0;
  return spec;
}

std::string refusal_of(const ModelSpec& model, const FsdpOptions& options) {
  return refusal([&] { fsdp(model, options); });
}

}  // namespace

TEST_CASE("fsdp: the vocabulary of Qwen3 over 96 ranks leaves the last one short",
          "[models][fsdp][golden]") {
  // ceil(151936 / 96) = 1583; 95 x 1583 = 150385, so that rank 95 has 1551.
  const auto side = fsdp(one_layer(), fsdp_on(96));
  const Layout layout =
      side->layout(layer_tensor({{151936, Axis::vocab, {}}, kHidden}, Role::embedding), 0, 1);
  REQUIRE(held(layout, Rank(0), 0) == IntervalSet(from_to(0, 1583)));
  REQUIRE(held(layout, Rank(94), 0) == IntervalSet(from_to(148802, 150385)));
  REQUIRE(held(layout, Rank(95), 0) == IntervalSet(from_to(150385, 151936)));
  REQUIRE(held(layout, Rank(95), 0).size() == 1551);
}

TEST_CASE("fsdp: 128 rows over 96 ranks leave 32 ranks with nothing", "[models][fsdp][golden]") {
  // ceil(128 / 96) = 2: ranks 0 to 63 have two rows each.
  const auto side = fsdp(one_layer(), fsdp_on(96));
  const Layout layout = side->layout(layer_tensor({{128, Axis::none, {}}}, Role::norm), 0, 1);
  for (int rank = 0; rank < 64; ++rank) {
    REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(from_to(2 * rank, 2 * rank + 2)));
  }
  for (int rank = 64; rank < 96; ++rank) REQUIRE(held(layout, Rank(rank), 0).empty());
}

TEST_CASE("fsdp: tensor parallelism cuts first, and FSDP inside its pieces",
          "[models][fsdp][golden]") {
  // Eight rows, dp 2 x tp 2; rank = 2 dp + tp. Placements read from left to right would give rank 1
  // rows 2 and 3.
  const auto side = fsdp(one_layer(), fsdp_on(4, 1, 2));
  const Layout layout = side->layout(layer_tensor({{8, Axis::ffn, {}}, kHidden}), 0, 1);
  REQUIRE(held(layout, Rank(0), 0) == IntervalSet(from_to(0, 2)));
  REQUIRE(held(layout, Rank(1), 0) == IntervalSet(from_to(4, 6)));
  REQUIRE(held(layout, Rank(2), 0) == IntervalSet(from_to(2, 4)));
  REQUIRE(held(layout, Rank(3), 0) == IntervalSet(from_to(6, 8)));
}

TEST_CASE("fsdp: the second matrix of a pair is cut by column, and still dealt out by row",
          "[models][fsdp]") {
  const auto side = fsdp(one_layer(), fsdp_on(4, 1, 2));
  const Layout down = side->layout(layer_tensor({kHidden, {8, Axis::ffn, {}}}), 0, 1);
  for (int rank = 0; rank < 4; ++rank) {
    const int dp = rank / 2, tp = rank % 2;
    REQUIRE(held(down, Rank(rank), 0) == IntervalSet(from_to(3 * dp, 3 * dp + 3)));
    REQUIRE(held(down, Rank(rank), 1) == IntervalSet(from_to(4 * tp, 4 * tp + 4)));
  }
}

TEST_CASE("fsdp: stages are outermost, then copies, shards and context as one, then tp",
          "[models][fsdp]") {
  // 32 ranks = pp 2 x replicate 2 x (shard 2 x context 2) x tp 2.
  FsdpOptions options = fsdp_on(32, 2, 2, 2);
  options.pipeline = 2;
  options.first = Rank(100);
  options.stage_layers = {1, 0};
  const auto side = fsdp(one_layer(), options);
  REQUIRE(side->stages() == 2);
  const Layout layout = side->layout(layer_tensor({{8, Axis::ffn, {}}}), 1, 3);
  for (int copy = 0; copy < 2; ++copy) {
    for (int shard = 0; shard < 4; ++shard) {
      for (int tp = 0; tp < 2; ++tp) {
        const int rank = 100 + ((2 + copy) * 4 + shard) * 2 + tp;
        const std::int64_t row = tp * 4 + shard;
        REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(from_to(row, row + 1)));
      }
    }
  }
  REQUIRE(index_of(layout, Rank(115)) == -1);
  REQUIRE(layout.held_elements() == 2 * 3 * 8);
}

TEST_CASE("fsdp: layers that do not divide go to the first stages", "[models][fsdp]") {
  ModelSpec model = one_layer();
  model.layers = 11;
  FsdpOptions options = fsdp_on(4);
  options.pipeline = 4;
  REQUIRE(fsdp(model, options)->stage_layers() == std::vector<int>{3, 3, 3, 2});
  options.stage_layers = {2, 3, 3, 3};
  const auto side = fsdp(model, options);
  TensorSpec spec = layer_tensor({kHidden});
  spec.layer = 2;
  REQUIRE(side->stage_of(spec) == 1);
  spec.layer.reset();
  REQUIRE(side->stage_of(spec) == 3);
  spec.role = Role::embedding;
  REQUIRE(side->stage_of(spec) == 0);
}

TEST_CASE("fsdp: norms, recurrent layers and fused attention are not cut by tp", "[models][fsdp]") {
  const auto whole = [&](const ModelSpec& model, const TensorSpec& spec) {
    const Layout layout = fsdp(model, fsdp_on(4, 1, 4))->layout(spec, 0, 1);
    return layout.held_elements() == 4 * spec.elements();
  };
  const TensorDim heads{64, Axis::q_head, {}};
  REQUIRE_FALSE(whole(one_layer(), layer_tensor({heads, kHidden}, Role::attention, "q")));
  REQUIRE_FALSE(whole(one_layer(), layer_tensor({kHidden, heads}, Role::attention, "o")));
  REQUIRE(whole(one_layer(), layer_tensor({heads}, Role::attention, "q_norm")));
  REQUIRE(whole(one_layer(), layer_tensor({heads, kHidden}, Role::linear_attention, "in_proj")));
  const TensorSpec qkv = layer_tensor({heads, kHidden}, Role::attention, "qkv");
  const TensorSpec o = layer_tensor({kHidden, heads}, Role::attention, "o");
  REQUIRE(whole(one_layer({qkv, o}), qkv));
  REQUIRE(whole(one_layer({qkv, o}), o));
}

TEST_CASE("fsdp: the correction bias of a router is a buffer, which every rank has",
          "[models][fsdp]") {
  const TensorSpec bias = layer_tensor({{8, Axis::none, {}}}, Role::router, "router_bias");
  REQUIRE(fsdp(one_layer(), fsdp_on(4))->layout(bias, 0, 1).held_elements() == 4 * 8);
  REQUIRE(automodel(one_layer(), automodel_on(4))->layout(bias, 0, 1).held_elements() == 4 * 8);
}

TEST_CASE("fsdp: experts that are parameters of their own are dealt out one by one",
          "[models][fsdp]") {
  // Each expert has 10 rows for 4 ranks: 3, 3, 3, 1.
  const Layout layout = fsdp(one_layer(), fsdp_on(4))->layout(expert_matrix(8, 10), 0, 1);
  for (int rank = 0; rank < 4; ++rank) {
    REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(from_to(0, 8)));
    REQUIRE(held(layout, Rank(rank), 1) ==
            IntervalSet(from_to(3 * rank, std::min(10, 3 * rank + 3))));
  }
}

TEST_CASE("fsdp: stacked experts are dealt out whole, and some ranks get none", "[models][fsdp]") {
  // 8 experts over 6 ranks: ceil(8 / 6) = 2 for ranks 0 to 3.
  FsdpOptions options = fsdp_on(6);
  const bool by_checkpoint = GENERATE(true, false);
  if (!by_checkpoint) options.stacked_experts = true;
  const Layout layout =
      fsdp(one_layer(), options)->layout(expert_matrix(8, 10, !by_checkpoint), 0, 1);
  for (int rank = 0; rank < 6; ++rank) {
    const std::int64_t first = std::min(8, 2 * rank);
    REQUIRE(held(layout, Rank(rank), 0) ==
            IntervalSet(from_to(first, std::min<std::int64_t>(8, first + 2))));
  }
}

TEST_CASE("fsdp: expert parallelism divides experts, FSDP deals out each part", "[models][fsdp]") {
  // 8 ranks = ep_shard 4 x ep 2, rank = 2 shard + ep; 4 x 2 is no more than 8 experts, so that
  // experts stay whole.
  FsdpOptions options = fsdp_on(8, 1, 2);
  options.expert = 2;
  const Layout layout = fsdp(one_layer(), options)->layout(expert_matrix(8, 10), 0, 1);
  for (int rank = 0; rank < 8; ++rank) {
    const std::int64_t expert = rank % 2 * 4 + rank / 2;
    REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(from_to(expert, expert + 1)));
    REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(from_to(0, 10)));
  }
}

TEST_CASE("fsdp: more ranks than experts cut the next dim", "[models][fsdp]") {
  // 16 ranks = replicate 1 x ep_shard 4 x ep 4; 16 > 8, so that each shard has 3 of 12 rows.
  FsdpOptions options = fsdp_on(16);
  options.expert = 4;
  const Layout layout = fsdp(one_layer(), options)->layout(expert_matrix(8, 12), 0, 1);
  for (int rank = 0; rank < 16; ++rank) {
    const int ep = rank % 4, shard = rank / 4;
    REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(from_to(2 * ep, 2 * ep + 2)));
    REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(from_to(3 * shard, 3 * shard + 3)));
  }
}

TEST_CASE("fsdp: copies hold all experts, and experts can be cut by tensor ranks too",
          "[models][fsdp]") {
  // 32 ranks = replicate 2 x ep_shard 4 x ep 2 x etp 2; 4 x 2 = 8 experts: one per shard and ep.
  FsdpOptions options = fsdp_on(32, 2, 2);
  options.expert = 2;
  options.expert_tensor = 2;
  const Layout layout = fsdp(one_layer(), options)->layout(expert_matrix(8, 10), 0, 1);
  for (int rank = 0; rank < 32; ++rank) {
    const int etp = rank % 2, ep = rank / 2 % 2, shard = rank / 4 % 4;
    const std::int64_t expert = ep * 4 + shard;
    REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(from_to(expert, expert + 1)));
    REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(from_to(5 * etp, 5 * etp + 5)));
  }
  // Without expert parallelism experts are cut like everything else, and then dealt out by row.
  const Layout alike = fsdp(one_layer(), fsdp_on(4, 1, 2))->layout(expert_matrix(8, 8), 0, 1);
  REQUIRE(held(alike, Rank(1), 0) == IntervalSet(from_to(0, 8)));
  REQUIRE(held(alike, Rank(1), 1) == IntervalSet(from_to(4, 6)));
  REQUIRE(held(alike, Rank(3), 1) == IntervalSet(from_to(6, 8)));
}

TEST_CASE("fsdp: degrees that do not fit are refused", "[models][fsdp]") {
  const ModelSpec model = one_layer();
  REQUIRE(refusal_of(model, fsdp_on(8, 0)) == "replicate: 0 is not a degree; use 1 or more");
  REQUIRE(refusal_of(model, fsdp_on(8, 3)) ==
          "replicate x context x tensor: 3 ranks do not divide the 8 ranks of a pipeline stage; "
          "use 2 or 4");
  REQUIRE(refusal_of(model, fsdp_on(8, 2, 4, 2)) ==
          "replicate x context x tensor: at least 16 ranks do not divide the 8 ranks of a pipeline "
          "stage; use 8");
  FsdpOptions options = fsdp_on(8);
  options.pipeline = 3;
  options.stage_layers = {1, 0, 0};
  REQUIRE(refusal_of(model, options) ==
          "pipeline: 3 ranks do not divide the 8 ranks of this side; use 2 or 4");
  options.pipeline = 2;
  REQUIRE(refusal_of(model, options) ==
          "stage_layers: 3 stages with 1 layers are written out, but pipeline is 2 and the model "
          "has 1 layers");
  options.stage_layers = {2, -1};
  REQUIRE(refusal_of(model, options) == "stage_layers: -1 is no number of layers; use 0 or more");
  options.stage_layers.clear();
  REQUIRE(refusal_of(model, options) == "pipeline: 2 stages for 1 layers; use 1 to 1");
}

TEST_CASE("fsdp: a plan cuts between heads, and does not copy key/value heads", "[models][fsdp]") {
  REQUIRE(
      refusal_of(one_layer({}, 4), fsdp_on(8, 1, 8)) ==
      "tensor: 8 does not divide 4 key/value heads, and a DTensor plan cuts between heads only; "
      "use 4");
  REQUIRE(refusal_of(one_layer({}, 16), fsdp_on(12, 1, 3)) ==
          "tensor: 3 does not divide 16 attention heads, and a DTensor plan cuts between heads "
          "only; use 2 or 4");
}

TEST_CASE("fsdp: experts that do not fit are refused", "[models][fsdp]") {
  FsdpOptions options = fsdp_on(24, 1, 4);
  options.expert = 3;
  REQUIRE(refusal_of(one_layer(), options) ==
          "expert: 3 does not divide 8 experts, and each rank holds equally many; use 2 or 4");
  options.expert = 5;
  REQUIRE(refusal_of(one_layer(), options) ==
          "expert x expert_tensor: 5 ranks do not divide the 24 ranks of one copy of a stage; use "
          "4 or 6");
  options.expert = 2;
  options.expert_tensor = 3;
  REQUIRE(refusal_of(one_layer(), options) ==
          "expert_tensor: 3 is neither 1 nor tensor, which is 4; use one of them");
  options.expert_tensor.reset();
  options.stacked_experts = false;
  REQUIRE(refusal_of(one_layer(), options) ==
          "stacked_experts: expert parallelism divides one stacked parameter; leave this out, or "
          "use expert: 1");
  // ep 4 leaves 6 ranks for 10 rows; ep 2 leaves 12, ep 8 leaves 3: none divides 10. With 12 rows
  // 6, 12 and 3 do.
  options = fsdp_on(24);
  options.expert = 4;
  const auto side = fsdp(one_layer(), options);
  REQUIRE(refusal([&] { side->layout(expert_matrix(8, 10), 0, 1); }) ==
          "expert: FSDP over 6 ranks cuts each expert of w, as there are more ranks than experts, "
          "but 10 rows do not divide evenly into 6; use none");
  REQUIRE(refusal([&] { side->layout(expert_matrix(8, 9), 0, 1); }) ==
          "expert: FSDP over 6 ranks cuts each expert of w, as there are more ranks than experts, "
          "but 9 rows do not divide evenly into 6; use 8");
}

TEST_CASE("fsdp: halves of a packed matrix that tensor ranks can't share are refused",
          "[models][fsdp]") {
  FsdpOptions options = fsdp_on(8, 1, 4);
  const TensorSpec packed = layer_tensor({{8, Axis::expert, {}}, {12, Axis::ffn, {6, 6}}, kHidden},
                                         Role::routed_expert, "gate_up");
  REQUIRE(refusal([&] { fsdp(one_layer(), options)->layout(packed, 0, 1); }) ==
          "expert_tensor: 6 rows of w do not divide evenly into 4");
}

}  // namespace refit::test
