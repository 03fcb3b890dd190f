#include "models/tensor_spec.h"

#include <catch2/catch.hpp>

#include "models/model_spec.h"

using namespace refit;

namespace {

// Four experts of [6, 8], listed one by one.
TensorSpec four_experts() {
  TensorSpec tensor;
  tensor.name = "experts.{expert}.up_proj.weight";
  tensor.dims = {{4, Axis::expert, {}}, {6, Axis::ffn, {}}, {8, Axis::none, {}}};
  tensor.role = Role::routed_expert;
  tensor.experts = 4;
  return tensor;
}

}  // namespace

TEST_CASE("tensor: experts listed one by one count as so many checkpoint tensors", "[models]") {
  const TensorSpec tensor = four_experts();
  REQUIRE(tensor.elements() == 4 * 6 * 8);
  REQUIRE(tensor.bytes() == 4 * 6 * 8 * 2);  // BF16
  REQUIRE(tensor.checkpoint_tensors() == 4);

  TensorSpec fused = tensor;
  fused.experts = 0;
  REQUIRE(fused.checkpoint_tensors() == 1);
}

TEST_CASE("model: bytes of a role leave prediction modules out, totals do not", "[models]") {
  TensorSpec norm;
  norm.name = "norm.weight";
  norm.dims = {{8, Axis::none, {}}};
  norm.dtype = Dtype::f32;
  norm.role = Role::norm;
  TensorSpec mtp = four_experts();
  mtp.mtp = true;

  ModelSpec model;
  model.tensors = {four_experts(), norm, mtp};
  REQUIRE(model.parameters() == 192 + 8 + 192);
  REQUIRE(model.bytes() == 384 + 32 + 384);
  REQUIRE(model.checkpoint_tensors() == 4 + 1 + 4);
  REQUIRE(model.bytes(Role::routed_expert) == 384);
  REQUIRE(model.bytes(Role::norm) == 32);
  REQUIRE(model.bytes(Role::attention) == 0);
}

TEST_CASE("role: every role reads back from its own name", "[models]") {
  const Role role =
      GENERATE(Role::embedding, Role::lm_head, Role::attention, Role::linear_attention,
               Role::router, Role::routed_expert, Role::shared_expert, Role::dense_ffn,
               Role::latent_projection, Role::norm, Role::unspecified);
  REQUIRE(parse_role(to_string(role)) == role);
}

TEST_CASE("role: an unknown role is refused with the known ones", "[models]") {
  REQUIRE_THROWS_WITH(parse_role("expert"),
                      "'expert' is not a role; use one of embedding, lm_head, attention, "
                      "linear_attention, router, routed_expert, shared_expert, dense_ffn, "
                      "latent_projection, norm, unspecified");
}
