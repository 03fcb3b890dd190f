// Random degrees of the generation engines, every rank and row against the engines' rules written
// down with divisions and remainders.
#include <functional>
#include <random>

#include "tests/models/generation_case.h"

namespace refit::test {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int of(std::vector<int> choices) {
    return choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random_)];
  }
  bool coin() { return of({0, 1}) == 1; }

 private:
  std::mt19937 random_;
};

// Whom a row belongs to when `sharers` ranks divide it; `who` is one of them.
using Holds = std::function<bool(std::int64_t row, int who, int sharers)>;

Holds evenly(std::int64_t rows) {
  return [=](std::int64_t row, int who, int n) { return row / (rows / n) == who; };
}

// Parts behind each other, each divided on its own.
Holds in_parts(std::vector<std::int64_t> parts) {
  return [=](std::int64_t row, int who, int n) {
    for (const std::int64_t part : parts) {
      if (row < part) return row / (part / n) == who;
      row -= part;
    }
    return false;
  };
}

// As many heads as ranks or more: divided; fewer: each shared by neighbours.
Holds kv_heads(int heads, int head_dim) {
  return [=](std::int64_t row, int who, int n) {
    const std::int64_t head = row / head_dim;
    return heads >= n ? head / (heads / n) == who : who / (n / heads) == head;
  };
}

Holds padded_to_64(std::int64_t rows) {
  return [=](std::int64_t row, int who, int n) { return row / ((rows + 63) / 64 * 64 / n) == who; };
}

struct Kind {
  TensorSpec tensor;
  int dim = 0;  // the one that is cut
  Holds holds;
};

constexpr int kHeads = 16, kHeadDim = 4, kVocab = 250, kFfn = 48;

std::vector<Kind> dense_kinds(int kv, int groups) {
  const TensorDim hidden{3, Axis::none, {}};
  const std::vector<std::int64_t> zxbcdt{32, 32, 2L * groups, 2L * groups, 16};
  std::int64_t in_proj = 0;
  for (const std::int64_t part : zxbcdt) in_proj += part;
  std::vector<Kind> kinds{
      {weight({{64, Axis::q_head, {}}, hidden}, Role::attention, "q"), 0, evenly(64)},
      {weight({{kv * kHeadDim, Axis::kv_head, {}}, hidden}, Role::attention, "k"), 0,
       kv_heads(kv, kHeadDim)},
      {weight({hidden, {64, Axis::q_head, {}}}, Role::attention, "o"), 1, evenly(64)},
      {weight({{in_proj, Axis::q_head, zxbcdt}, hidden}, Role::linear_attention, "in_proj"), 0,
       in_parts(zxbcdt)},
      {weight({{2 * kFfn, Axis::ffn, {kFfn, kFfn}}, hidden}, Role::dense_ffn, "gate_up"), 0,
       in_parts({kFfn, kFfn})},
      {weight({hidden, {kFfn, Axis::ffn, {}}}, Role::shared_expert, "down"), 1, evenly(kFfn)},
      {without_layer(weight({{kVocab, Axis::vocab, {}}, hidden}, Role::embedding)), 0,
       padded_to_64(kVocab)},
      {without_layer(weight({{kVocab, Axis::vocab, {}}, hidden}, Role::lm_head)), 0,
       padded_to_64(kVocab)},
      {weight({hidden}, Role::norm), 0, {}}};
  return kinds;
}

std::set<std::int64_t> expected_rows(const Kind& kind, int who, int sharers) {
  std::set<std::int64_t> rows;
  for (std::int64_t row = 0; row < kind.tensor.dims[static_cast<std::size_t>(kind.dim)].size;
       ++row) {
    if (sharers == 1 || !kind.holds || kind.holds(row, who, sharers)) rows.insert(row);
  }
  return rows;
}

// Experts dealt out one by one, the first ranks one more.
std::set<std::int64_t> expected_experts(int experts, int who, int ranks) {
  std::vector<int> counts(static_cast<std::size_t>(ranks), 0);
  for (int e = 0; e < experts; ++e) ++counts[static_cast<std::size_t>(e % ranks)];
  std::set<std::int64_t> mine;
  int next = 0;
  for (int r = 0; r <= who; ++r) {
    for (int i = 0; i < counts[static_cast<std::size_t>(r)]; ++i, ++next) {
      if (r == who) mine.insert(next);
    }
  }
  return mine;
}

// The stage of a layer when `sizes` layers follow each other.
int stage_of_layer(const std::vector<int>& sizes, int layer) {
  int stage = 0;
  while (layer >= sizes[static_cast<std::size_t>(stage)]) {
    layer -= sizes[static_cast<std::size_t>(stage++)];
  }
  return stage;
}

int expected_stage(const Parallelism& side, const TensorSpec& tensor) {
  if (tensor.layer) return stage_of_layer(side.stage_layers(), *tensor.layer);
  return tensor.role == Role::embedding ? 0 : side.stages() - 1;
}

struct Who {
  int index = 0, sharers = 1;
};

// `pp` of a rank and its place among those that share a tensor.
struct Place {
  int stage = 0;
  std::function<Who(Role)> dense;
  Who tensor_of_expert;
  Who expert_rank;
};

void require_rows(const Parallelism& side, const std::vector<Kind>& kinds, int experts,
                  const TensorSpec& expert, int gpus, int first,
                  const std::function<Place(int)>& place_of) {
  for (int r = 0; r < gpus; ++r) {
    const Place place = place_of(r);
    CAPTURE(r, place.stage);
    for (const Kind& kind : kinds) {
      CAPTURE(to_string(kind.tensor.role), kind.tensor.part);
      const int stage = side.stage_of(kind.tensor);
      REQUIRE(stage == expected_stage(side, kind.tensor));
      const Layout layout = side.layout(kind.tensor, stage, 1);
      REQUIRE((index_of(layout, Rank(first + r)) >= 0) == (stage == place.stage));
      if (stage != place.stage) continue;
      const Who who = place.dense(kind.tensor.role);
      REQUIRE(indices(held(layout, Rank(first + r), kind.dim)) ==
              expected_rows(kind, who.index, who.sharers));
    }
    const int stage = side.stage_of(expert);
    if (stage != place.stage) continue;
    const Layout layout = side.layout(expert, stage, 1);
    REQUIRE(indices(held(layout, Rank(first + r), 0)) ==
            expected_experts(experts, place.expert_rank.index, place.expert_rank.sharers));
    const Kind rows{expert, 1, evenly(expert.dims[1].size)};
    REQUIRE(indices(held(layout, Rank(first + r), 1)) ==
            expected_rows(rows, place.tensor_of_expert.index, place.tensor_of_expert.sharers));
  }
}

ModelSpec model_with(int layers, int experts, int kv, int groups) {
  ModelSpec model = made_up_model(layers, experts, {kHeads, kv, kHeadDim, false});
  model.linear_heads = {.heads = 16, .key_heads = 0, .mamba_groups = groups};
  return model;
}

}  // namespace

TEST_CASE("vllm: random degrees, every rank and row", "[models][vllm][oracle]") {
  const unsigned seed = 77;
  CAPTURE(seed);
  Dice dice(seed);
  for (int round = 0; round < 60; ++round) {
    const int kv = dice.of({1, 2, 4, 8, 16}), groups = dice.of({2, 4, 8});
    VllmOptions options;
    options.tensor = dice.of({1, 2});
    if (groups == 8) options.tensor = dice.of({1, 2, 4, 8});
    options.pipeline = dice.of({1, 2, 3});
    options.data = dice.of({1, 2, 3});
    options.prefill_context = dice.of({1, 2});
    options.expert_parallel = dice.coin();
    options.first = Rank(dice.of({0, 5}));
    const int engines = dice.of({1, 2});
    const int T = options.tensor, C = options.prefill_context, P = options.pipeline,
              D = options.data;
    options.gpus = engines * T * C * P * D;
    const int moe_ranks = T * C * D;
    const int experts = dice.of({5, 12}), layers = dice.of({5, 7, 8});
    CAPTURE(T, C, P, D, engines, kv, experts, layers, options.expert_parallel);
    const ModelSpec model = model_with(layers, experts, kv, groups);
    const auto side = vllm(model, options);
    TensorSpec expert = expert_weight(experts, 2 * moe_ranks, layers / 2);
    require_rows(*side, dense_kinds(kv, groups), experts, expert, options.gpus, options.first.value,
                 [&](int r) {
                   const int tp = r % T, pcp = r / T % C, dp = r / (T * C * P) % D;
                   const int moe = (dp * C + pcp) * T + tp;
                   Place place;
                   place.stage = r / (T * C) % P;
                   place.dense = [=](Role role) {
                     const bool whole =
                         role == Role::shared_expert && options.expert_parallel && T > 1 && D > 1;
                     return whole ? Who{} : Who{tp, T};
                   };
                   const Who flat{moe, moe_ranks};
                   place.expert_rank = options.expert_parallel ? flat : Who{};
                   place.tensor_of_expert = options.expert_parallel ? Who{} : flat;
                   return place;
                 });
  }
}

TEST_CASE("sglang: random degrees, every rank and row", "[models][sglang][oracle]") {
  const unsigned seed = 78;
  CAPTURE(seed);
  Dice dice(seed);
  for (int round = 0; round < 60; ++round) {
    const int kv = dice.of({1, 2, 4, 8, 16});
    SglangOptions options;
    options.tensor = 8;
    options.pipeline = dice.of({1, 2, 3});
    options.attention_data = dice.of({1, 2, 4});
    options.attention_context = dice.of({1, 2});
    options.expert = dice.of({1, 2, 4});
    options.expert_data = dice.of({1, 2});
    options.attention_head = dice.coin();
    options.whole_dense = dice.coin();
    options.version = dice.of({0, 1}) == 1 ? "0.5.9" : "0.5.6";
    options.first = Rank(dice.of({0, 3}));
    const int T = options.tensor, P = options.pipeline, engines = dice.of({1, 2});
    const int attn_tp = T / (options.attention_data * options.attention_context);
    const int E = *options.expert, moe_tp = T / (E * options.expert_data);
    const bool split = attn_tp < T, follows = options.version == "0.5.9";
    options.gpus = engines * T * P;
    const int layers = dice.of({5, 7, 8});
    CAPTURE(T, P, attn_tp, E, moe_tp, kv, layers, options.version);
    const auto side = sglang(model_with(layers, 8, kv, 8), options);
    const TensorSpec expert = expert_weight(8, 16, layers / 2);
    require_rows(*side, dense_kinds(kv, 8), 8, expert, options.gpus, options.first.value,
                 [&](int r) {
                   const int tp = r % T;
                   const Who attention{tp % attn_tp, attn_tp}, all{tp, T};
                   Place place;
                   place.stage = r / T % P;
                   place.dense = [=](Role role) {
                     if (role == Role::attention || role == Role::linear_attention) {
                       return attention;
                     }
                     if (role == Role::embedding) {
                       return follows ? attention : split ? Who{} : all;
                     }
                     if (role == Role::lm_head) return options.attention_head ? attention : all;
                     if (role == Role::dense_ffn && options.whole_dense) return Who{};
                     return all;
                   };
                   place.expert_rank = {tp / moe_tp % E, E};
                   place.tensor_of_expert = {tp % moe_tp, moe_tp};
                   return place;
                 });
  }
}

}  // namespace refit::test
