#include "models/sglang.h"

#include "tests/models/generation_case.h"

namespace refit::test {
namespace {

SglangOptions degrees(int gpus, int tensor, int pipeline = 1) {
  SglangOptions options;
  options.gpus = gpus;
  options.tensor = tensor;
  options.pipeline = pipeline;
  return options;
}

std::string refusal_of(const ModelSpec& model, const SglangOptions& options) {
  return refusal([&] { sglang(model, options); });
}

TensorSpec vocabulary(Role role) {
  return without_layer(weight({{128, Axis::vocab, {}}, {3, Axis::none, {}}}, role));
}

// First row and number of rows that each of ranks 0 .. n-1 has of dim 0.
std::vector<std::pair<std::int64_t, std::int64_t>> rows_of(const Layout& layout, int n) {
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  for (int r = 0; r < n; ++r) {
    const IntervalSet set = held(layout, Rank(r), 0);
    rows.emplace_back(set.empty() ? 0 : set.intervals().front().begin, set.size());
  }
  return rows;
}

using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;

}  // namespace

TEST_CASE("sglang: layers left over go to the last stages", "[models][sglang]") {
  REQUIRE(sglang_stage_layers(61, 4) == std::vector<int>{15, 15, 15, 16});
  REQUIRE(sglang_stage_layers(94, 8) == std::vector<int>{11, 11, 12, 12, 12, 12, 12, 12});
  SglangOptions options = degrees(8, 1, 8);
  options.version = "0.5.5";
  REQUIRE(sglang(made_up_model(61), options)->stage_layers().back() == 12);
  options.stage_layers = {8, 8, 8, 8, 8, 7, 7, 7};
  REQUIRE(sglang(made_up_model(61), options)->stage_layers() == options.stage_layers);
}

TEST_CASE("sglang: attention is copied inside the tensor ranks, the rest is cut by all of them",
          "[models][sglang]") {
  // engine 2 x pp 2 x tp 4 = attn_dp 2 x attn_tp 2. Stage 1 of engine 0: ranks 4 .. 7.
  SglangOptions options = degrees(16, 4, 2);
  options.attention_data = 2;
  const auto side = sglang(made_up_model(4, 0, {4, 4, 2, false}), options);
  const auto rows_at = [&](Role role, Axis axis, int rank) {
    return held(side->layout(weight({{8, axis, {}}}, role, "q"), 1, 1), Rank(rank), 0);
  };
  for (const int engine : {0, 8}) {
    for (int tp = 0; tp < 4; ++tp) {
      const int rank = engine + 4 + tp;
      const std::int64_t half = 4 * (tp % 2), quarter = 2 * tp;
      for (const Role role : {Role::attention, Role::linear_attention}) {
        REQUIRE(rows_at(role, Axis::q_head, rank) == IntervalSet(Interval{half, half + 4}));
      }
      for (const Role role : {Role::dense_ffn, Role::shared_expert}) {
        REQUIRE(rows_at(role, Axis::ffn, rank) == IntervalSet(Interval{quarter, quarter + 2}));
      }
    }
  }
  REQUIRE(side->layout(weight({{8, Axis::q_head, {}}}, Role::attention), 1, 1).mesh().ranks() ==
          std::vector<Rank>{Rank(4), Rank(5), Rank(6), Rank(7), Rank(12), Rank(13), Rank(14),
                            Rank(15)});
}

TEST_CASE("sglang: context ranks of attention hold copies too", "[models][sglang]") {
  SglangOptions options = degrees(8, 8);
  options.attention_data = 2;
  options.attention_context = 2;  // attn_tp 2 is fastest, then context, then data
  const auto side = sglang(made_up_model(4, 0, {4, 4, 2, false}), options);
  const Layout layout = side->layout(weight({{8, Axis::q_head, {}}}, Role::attention), 0, 1);
  REQUIRE(rows_of(layout, 8) ==
          Rows{{0, 4}, {4, 4}, {0, 4}, {4, 4}, {0, 4}, {4, 4}, {0, 4}, {4, 4}});
}

TEST_CASE("sglang: fewer KV heads than ranks of attention are shared", "[models][sglang]") {
  const ModelSpec model = made_up_model(4, 0, {8, 2, 3, false});
  const TensorSpec k = weight({{6, Axis::kv_head, {}}}, Role::attention, "k");
  SglangOptions options = degrees(8, 8);
  REQUIRE(rows_of(sglang(model, options)->layout(k, 0, 1), 8) ==
          Rows{{0, 3}, {0, 3}, {0, 3}, {0, 3}, {3, 3}, {3, 3}, {3, 3}, {3, 3}});
  options.attention_data = 4;  // two ranks of attention, a head each
  REQUIRE(rows_of(sglang(model, options)->layout(k, 0, 1), 4) ==
          Rows{{0, 3}, {3, 3}, {0, 3}, {3, 3}});
}

TEST_CASE("sglang: the embedding follows attention, the head all tensor ranks",
          "[models][sglang]") {
  const ModelSpec model = made_up_model(4);
  const auto rows_at = [&](const SglangOptions& options, Role role) {
    const auto side = sglang(model, options);
    const TensorSpec spec = vocabulary(role);
    return rows_of(side->layout(spec, side->stage_of(spec), 1), 4);
  };
  const Rows by_four{{0, 32}, {32, 32}, {64, 32}, {96, 32}};
  const Rows by_two{{0, 64}, {64, 64}, {0, 64}, {64, 64}};
  const Rows whole(4, {0, 128});
  SglangOptions options = degrees(4, 4);
  REQUIRE(rows_at(options, Role::embedding) == by_four);
  options.attention_data = 2;
  REQUIRE(rows_at(options, Role::embedding) == by_two);
  REQUIRE(rows_at(options, Role::lm_head) == by_four);
  options.attention_head = true;
  REQUIRE(rows_at(options, Role::lm_head) == by_two);
  options.version = "0.5.6";  // once copied where attention was
  REQUIRE(rows_at(options, Role::embedding) == whole);
  options.attention_data = 1;
  REQUIRE(rows_at(options, Role::embedding) == by_four);
}

TEST_CASE("sglang: a head that is the embedding is cut as a head on the last stage",
          "[models][sglang]") {
  ModelSpec model = made_up_model(4);
  model.tied_embeddings = true;
  SglangOptions options = degrees(8, 4, 2);
  options.attention_data = 2;
  const Layout layout = sglang(model, options)->layout(vocabulary(Role::embedding), 0, 1);
  REQUIRE(rows_of(layout, 8) == Rows{{0, 64},
                                     {64, 64},
                                     {0, 64},
                                     {64, 64},  // attention ranks
                                     {0, 32},
                                     {32, 32},
                                     {64, 32},
                                     {96, 32}});
}

TEST_CASE("sglang: experts are contiguous, and expert ranks stand moe_tp apart",
          "[models][sglang]") {
  // tp 8 = moe_dp 2 x ep 2 x moe_tp 2.
  SglangOptions options = degrees(8, 8);
  options.expert = 2;
  options.expert_data = 2;
  const Layout layout = sglang(made_up_model(4, 6), options)->layout(expert_weight(6, 4), 0, 1);
  for (int r = 0; r < 8; ++r) {
    const std::int64_t ep = r / 2 % 2, moe_tp = r % 2;
    REQUIRE(held(layout, Rank(r), 0) == IntervalSet(Interval{3 * ep, 3 * ep + 3}));
    REQUIRE(held(layout, Rank(r), 1) == IntervalSet(Interval{2 * moe_tp, 2 * moe_tp + 2}));
  }
  // Without an expert degree all tensor ranks cut every expert.
  const Layout cut = sglang(made_up_model(4, 6), degrees(4, 4))->layout(expert_weight(6, 8), 0, 1);
  REQUIRE(held(cut, Rank(3), 0) == IntervalSet(Interval{0, 6}));
  REQUIRE(held(cut, Rank(3), 1) == IntervalSet(Interval{6, 8}));
}

TEST_CASE("sglang: redundant experts have slots of their own", "[models][sglang]") {
  SglangOptions options = degrees(4, 4);
  options.expert = 4;
  options.experts.redundant = 2;  // 0 1 | 2 3 | 4 5 | 0 1
  const Layout layout = sglang(made_up_model(4, 6), options)->layout(expert_weight(6, 8), 0, 1);
  REQUIRE(held(layout, Rank(2), 0) == IntervalSet(Interval{4, 6}));
  REQUIRE(held(layout, Rank(3), 0) == IntervalSet(Interval{0, 2}));
}

TEST_CASE("sglang: DeepEP spreads experts over all tensor ranks and copies shared ones",
          "[models][sglang]") {
  SglangOptions options = degrees(4, 4);
  options.all2all_backend = "deepep";
  const ModelSpec model = made_up_model(4, 8);
  const TensorSpec shared = weight({{8, Axis::ffn, {}}}, Role::shared_expert);
  const auto side = sglang(model, options);
  REQUIRE(held(side->layout(expert_weight(8, 4), 0, 1), Rank(3), 0) == IntervalSet(Interval{6, 8}));
  REQUIRE(held(side->layout(shared, 0, 1), Rank(3), 0) == IntervalSet(Interval{0, 8}));
  options.shared_experts = SharedExperts::sharded;
  REQUIRE(held(sglang(model, options)->layout(shared, 0, 1), Rank(3), 0) ==
          IntervalSet(Interval{6, 8}));
  options.expert = 2;
  REQUIRE(refusal_of(model, options) ==
          "expert: deepep uses all tensor ranks for experts; leave this out or write 4");
}

TEST_CASE("sglang: dense layers of a mixture may be copied", "[models][sglang]") {
  SglangOptions options = degrees(4, 4);
  options.whole_dense = true;
  const auto side = sglang(made_up_model(4), options);
  const auto rows_at = [&](Role role) {
    return held(side->layout(weight({{8, Axis::ffn, {}}}, role), 0, 1), Rank(3), 0).size();
  };
  REQUIRE(rows_at(Role::dense_ffn) == 8);
  REQUIRE(rows_at(Role::shared_expert) == 2);
}

TEST_CASE("sglang: degrees that do not fit are refused with the nearest that do",
          "[models][sglang]") {
  REQUIRE(refusal_of(made_up_model(4), degrees(8, 3)) ==
          "tensor x pipeline: an engine of 3 ranks does not divide 8 ranks; use 2 or 4");
  REQUIRE(refusal_of(made_up_model(4), degrees(8, 0)) ==
          "tensor: 0 is not a degree; use 1 or more");
  SglangOptions options = degrees(8, 8);
  options.attention_data = 3;
  REQUIRE(refusal_of(made_up_model(4), options) ==
          "attention_data x attention_context: 3 does not divide the 8 tensor ranks of a stage; "
          "use 2 or 4");
  options.attention_data = 4;
  options.attention_context = 4;
  REQUIRE(refusal_of(made_up_model(4), options) ==
          "attention_data x attention_context: 16 does not divide the 8 tensor ranks of a stage; "
          "use 8");
  options = degrees(8, 8);
  options.expert = 2;
  options.expert_data = 3;
  REQUIRE(refusal_of(made_up_model(4, 8), options) ==
          "expert x expert_data: 6 does not divide the 8 tensor ranks of a stage; use 4 or 8");
  options.expert_data = 1;
  options.expert = 4;
  REQUIRE(refusal_of(made_up_model(4, 6), options) == "expert: 4 does not divide 6 experts; use 2");
  // 12 heads over 8 ranks of attention; 4 would do.
  REQUIRE(refusal_of(made_up_model(4, 0, {12, 12, 4, false}), degrees(8, 8)) ==
          "tensor x attention_data x attention_context: 8 does not divide 12 attention heads; use "
          "6 or 12");
  options = degrees(4, 4);
  options.experts.redundant = 4;
  REQUIRE(refusal_of(made_up_model(4, 8), options) ==
          "redundant_experts: every rank has all experts; use an expert degree of 2 or more");
  options.experts = {};
  options.experts.rule = "round_robin";
  REQUIRE(refusal_of(made_up_model(4, 8), options) ==
          "expert_placement: version 0.5.9 has no round_robin; use linear");
  const auto side = sglang(made_up_model(4, 8), degrees(4, 4));
  REQUIRE(refusal([&] { side->layout(expert_weight(8, 6), 0, 1); }) ==
          "tensor x expert x expert_data: w: 6 rows do not divide evenly into 4; use 3 or 6");
}

}  // namespace refit::test
