#include <catch2/catch.hpp>

#include "tests/models/fsdp_case.h"

namespace refit::test {
namespace {

// 8 experts of [4 rows, 6 columns] as checkpoints list them: [out, in].
TensorSpec matrix(const std::string& part, std::int64_t rows, std::int64_t columns) {
  const bool is_down = part == "down";
  return layer_tensor({{8, Axis::expert, {}},
                       {rows, is_down ? Axis::none : Axis::ffn, {}},
                       {columns, is_down ? Axis::ffn : Axis::none, {}}},
                      Role::routed_expert, part);
}

std::string refusal_of(const ModelSpec& model, const AutomodelOptions& options) {
  return refusal([&] { automodel(model, options); });
}

}  // namespace

TEST_CASE("automodel: ep is innermost and ep_shard cuts the input of each projection",
          "[models][automodel]") {
  // 8 ranks = ep_shard 2 x ep 4, over copies and context too. Stored [E, H, 2I] and [E, I, H];
  // Shard(1) is H of gate and up, I of down: columns of the checkpoint's matrices.
  const auto side = automodel(one_layer(), automodel_on(8, 4, 2, 2));
  for (const char* part : {"gate", "up", "gate_up", "down"}) {
    CAPTURE(part);
    const TensorSpec spec = matrix(part, 4, 6);
    const Layout layout = side->layout(spec, 0, 1);
    REQUIRE(layout.held_elements() == spec.elements());
    for (int rank = 0; rank < 8; ++rank) {
      const int ep = rank % 4, shard = rank / 4;
      REQUIRE(held(layout, Rank(rank), 0) == IntervalSet(from_to(2 * ep, 2 * ep + 2)));
      REQUIRE(held(layout, Rank(rank), 1) == IntervalSet(from_to(0, 4)));
      REQUIRE(held(layout, Rank(rank), 2) == IntervalSet(from_to(3 * shard, 3 * shard + 3)));
    }
    REQUIRE(side->is_transposed(spec));
  }
}

TEST_CASE("automodel: gpt-oss has the order of Automodel already", "[models][automodel]") {
  const ModelSpec model = catalog_model("gpt-oss-120b");
  const auto side = automodel(model, automodel_on(64, 32));
  // H and I are both 2880; two shards of 1440.
  for (const char* name : {"gate_up_proj", "down_proj"}) {
    const TensorSpec& spec = tensor_named(model, std::string("model.layers.0.mlp.experts.") + name);
    const Layout layout = layout_of(*side, spec);
    REQUIRE(held(layout, Rank(33), 0) == IntervalSet(from_to(4, 8)));
    REQUIRE(held(layout, Rank(33), 1) == IntervalSet(from_to(1440, 2880)));
    REQUIRE(held(layout, Rank(33), 2).size() == spec.dims[2].size);
    REQUIRE_FALSE(side->is_transposed(spec));
  }
  // Biases have two dims, and nothing to swap.
  const TensorSpec& bias = tensor_named(model, "model.layers.0.mlp.experts.gate_up_proj_bias");
  REQUIRE(held(layout_of(*side, bias), Rank(33), 1) == IntervalSet(from_to(2880, 5760)));
  REQUIRE_FALSE(side->is_transposed(bias));
}

TEST_CASE("automodel: one rank of ep_shard cuts nothing, one of ep leaves experts to FSDP",
          "[models][automodel]") {
  const Layout whole =
      automodel(one_layer(), automodel_on(4, 4))->layout(matrix("gate", 4, 7), 0, 1);
  REQUIRE(held(whole, Rank(3), 0) == IntervalSet(from_to(6, 8)));
  REQUIRE(held(whole, Rank(3), 2) == IntervalSet(from_to(0, 7)));
  // 12 ranks in two copies: 8 experts over 6 ranks are two for each of the first four.
  const Layout dealt =
      automodel(one_layer(), automodel_on(12, 1, 2))->layout(matrix("gate", 4, 7), 0, 1);
  for (int rank = 0; rank < 12; ++rank) {
    const std::int64_t first = std::min(8, rank % 6 * 2);
    REQUIRE(held(dealt, Rank(rank), 0) ==
            IntervalSet(from_to(first, std::min<std::int64_t>(first + 2, 8))));
  }
}

TEST_CASE("automodel: dense weights lie as with fsdp", "[models][automodel]") {
  AutomodelOptions options = automodel_on(16, 1, 2, 2);
  options.tensor = 2;
  ModelSpec model = one_layer();
  model.experts = 0;
  const TensorSpec spec = layer_tensor({{21, Axis::ffn, {}}, {4, Axis::none, {}}});
  REQUIRE(automodel(model, options)->layout(spec, 0, 2) ==
          fsdp(model, fsdp_on(16, 2, 2, 2))->layout(spec, 0, 2));
  REQUIRE_FALSE(automodel(model, options)->is_transposed(spec));
}

TEST_CASE("automodel: what it does not train is refused", "[models][automodel]") {
  AutomodelOptions options = automodel_on(8);
  options.tensor = 2;
  REQUIRE(refusal_of(one_layer(), options) ==
          "tensor: 2 is not to be had with experts, which Automodel trains without tensor "
          "parallelism; use 1");
  REQUIRE(refusal_of(one_layer(), automodel_on(8, 1, 4, 2)) ==
          "replicate: 4 leaves nothing to shard over; Automodel wants fewer copies than the 4 data "
          "parallel ranks; use 2");
  REQUIRE(refusal_of(one_layer(), automodel_on(8, 3)) ==
          "expert: 3 ranks do not divide the 8 ranks of a pipeline stage; use 2 or 4");
  REQUIRE(refusal_of(one_layer(), automodel_on(32, 16)) ==
          "expert: 16 does not divide 8 experts, and each rank holds equally many; use 8");
  // ep 2 leaves 4 shards, ep 4 two.
  const auto side = automodel(one_layer(), automodel_on(8, 2));
  REQUIRE(refusal([&] { side->layout(matrix("gate", 4, 6), 0, 1); }) ==
          "expert: 2 leaves 4 ranks to cut dim 1 of w, and 6 rows do not divide evenly into 4; use "
          "4");
}

}  // namespace refit::test
