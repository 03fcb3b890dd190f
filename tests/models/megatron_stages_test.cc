// Which stage holds which layer, without the two written languages.
#include "models/megatron_stages.h"

#include <random>

#include <catch2/catch.hpp>

#include "tests/models/megatron_case.h"

namespace refit::test {
namespace {

MegatronOptions pipeline(int stages, std::optional<int> first = {}, std::optional<int> last = {},
                         int chunks = 1) {
  MegatronOptions options;
  options.gpus = stages;
  options.pipeline = stages;
  options.first_stage_layers = first;
  options.last_stage_layers = last;
  options.virtual_pipeline = chunks;
  return options;
}

std::vector<int> sizes(int layers, const MegatronOptions& options) {
  return megatron_stages(small_model(layers), options).layers;
}

std::vector<int> stage_of_layer(int layers, const MegatronOptions& options) {
  return megatron_stages(small_model(layers), options).stage_of_layer;
}

std::string refused(int layers, const MegatronOptions& options) {
  return refusal([&] { megatron_stages(small_model(layers), options); });
}

// Megatron's own arithmetic: how many layers chunk v of stage p builds, and which is its first.
// Nothing if it asserts.
struct Chunk {
  int first = 0, count = 0;
};
std::optional<Chunk> chunk_by_formula(int layers, const MegatronOptions& o, int p, int v) {
  const int stages = o.pipeline, chunks = o.virtual_pipeline;
  if (o.first_stage_layers || o.last_stage_layers) {
    const int f = o.first_stage_layers.value_or(0), l = o.last_stage_layers.value_or(0);
    const int free = stages - (o.first_stage_layers ? 1 : 0) - (o.last_stage_layers ? 1 : 0);
    const int middle = layers - f - l;
    if (free < 0 || middle < 0 || (free == 0) != (middle == 0)) return std::nullopt;
    if (free > 0 && (middle % free != 0 || middle / free % chunks != 0)) return std::nullopt;
    if (f % chunks != 0 || l % chunks != 0) return std::nullopt;
    const int each = free > 0 ? middle / chunks / free : 0;
    const int round = f / chunks + middle / chunks + l / chunks;
    const int m = o.first_stage_layers ? p - 1 : p;
    const int count = p == 0 && o.first_stage_layers           ? f / chunks
                      : p == stages - 1 && o.last_stage_layers ? l / chunks
                                                               : each;
    return Chunk{p == 0 ? v * round : v * round + f / chunks + m * each, count};
  }
  const int all = layers + (o.account_for_embedding ? 1 : 0) + (o.account_for_loss ? 1 : 0);
  if (all % stages != 0 || all / stages % chunks != 0) return std::nullopt;
  const int each = all / stages / chunks;
  Chunk chunk{v * (all / chunks) + p * each, each};
  if (o.account_for_embedding && p == 0 && v == 0) {
    --chunk.count;
  } else if (o.account_for_embedding) {
    --chunk.first;
  }
  if (o.account_for_loss && p == stages - 1 && v == chunks - 1) --chunk.count;
  return chunk;
}

}  // namespace

TEST_CASE("megatron: stages are even, or even between a fixed first and last",
          "[models][megatron]") {
  REQUIRE(sizes(32, pipeline(4)) == std::vector<int>{8, 8, 8, 8});
  REQUIRE(sizes(94, pipeline(8, 11, 11)) == std::vector<int>{11, 12, 12, 12, 12, 12, 12, 11});
  REQUIRE(sizes(93, pipeline(16, 3)).front() == 3);
  REQUIRE(sizes(93, pipeline(16, 3)).back() == 6);  // (93 - 3) / 15
  REQUIRE(sizes(5, pipeline(2, {}, 2)) == std::vector<int>{3, 2});
  REQUIRE(sizes(5, pipeline(2, 3, 2)) == std::vector<int>{3, 2});  // no stage between them
  REQUIRE(sizes(5, pipeline(1)) == std::vector<int>{5});
  MegatronOptions written = pipeline(3);
  written.stage_layers = {1, 0, 4};
  REQUIRE(sizes(5, written) == std::vector<int>{1, 0, 4});
}

TEST_CASE("megatron: embedding and loss take the place of a layer each", "[models][megatron]") {
  // DeepSeek-V3 in 4: 61 layers, embedding and loss are 63, which 4 do not divide; 62 + 2 = 64.
  MegatronOptions options = pipeline(4);
  options.account_for_embedding = options.account_for_loss = true;
  REQUIRE(sizes(62, options) == std::vector<int>{15, 16, 16, 15});
  REQUIRE(refused(61, options) ==
          "pipeline: 61 layers with 2 more for embedding and loss do not divide evenly over 4 "
          "stages; use 1");
  options.account_for_loss = false;
  REQUIRE(sizes(63, options) == std::vector<int>{15, 16, 16, 16});
  options.account_for_embedding = false;
  options.account_for_loss = true;
  REQUIRE(sizes(3, options) == std::vector<int>{1, 1, 1, 0});  // the loss has a stage to itself
  options.virtual_pipeline = 2;  // 15 + 1 in 8 chunks of 2; the last one is stage 3's
  REQUIRE(stage_of_layer(15, options) ==
          std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3});
}

TEST_CASE("megatron: chunks go round the stages", "[models][megatron]") {
  // 8 layers, 2 stages, 4 chunks: stage 0 has 0, 2, 4, 6. With 2 chunks: 0, 1, 4, 5.
  REQUIRE(stage_of_layer(8, pipeline(2, {}, {}, 4)) == std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1});
  REQUIRE(stage_of_layer(8, pipeline(2, {}, {}, 2)) == std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1});
  // 2, 4, 4 and 2 layers in 2 chunks each: 1 + 2 + 2 + 1 a round.
  REQUIRE(stage_of_layer(12, pipeline(4, 2, 2, 2)) ==
          std::vector<int>{0, 1, 1, 2, 2, 3, 0, 1, 1, 2, 2, 3});
}

TEST_CASE("megatron: stages of chunks are those of Megatron's own arithmetic",
          "[models][megatron][oracle]") {
  const unsigned seed = 5;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  int accepted = 0, refusals = 0;
  for (int round = 0; round < 20'000; ++round) {
    MegatronOptions options = pipeline(pick(2, 5), {}, {}, pick(1, 3));
    int layers = pick(1, 40);
    if (pick(0, 1) == 0) {
      const int chunks = options.virtual_pipeline;
      if (pick(0, 2) > 0) options.first_stage_layers = pick(1, 3) * (pick(0, 4) > 0 ? chunks : 1);
      if (pick(0, 2) > 0) options.last_stage_layers = pick(1, 3) * (pick(0, 4) > 0 ? chunks : 1);
      const int middle = options.pipeline - (options.first_stage_layers ? 1 : 0) -
                         (options.last_stage_layers ? 1 : 0);
      if (pick(0, 4) > 0) {
        layers = options.first_stage_layers.value_or(0) + options.last_stage_layers.value_or(0) +
                 middle * chunks * pick(1, 3);
      }
    } else {
      options.account_for_embedding = pick(0, 1) == 0;
      options.account_for_loss = pick(0, 1) == 0;
      if (pick(0, 4) > 0) {
        layers = std::max(1, options.pipeline * options.virtual_pipeline * pick(1, 3) -
                                 (options.account_for_embedding ? 1 : 0) -
                                 (options.account_for_loss ? 1 : 0));
      }
    }
    CAPTURE(round, layers, options.pipeline, options.virtual_pipeline);

    std::vector<int> expected(static_cast<std::size_t>(layers), -1);
    bool fits = true;
    for (int p = 0; p < options.pipeline; ++p) {
      for (int v = 0; v < options.virtual_pipeline; ++v) {
        const std::optional<Chunk> chunk = chunk_by_formula(layers, options, p, v);
        fits = fits && chunk;
        for (int i = 0; fits && i < chunk->count; ++i) {
          expected[static_cast<std::size_t>(chunk->first + i)] = p;
        }
      }
    }
    if (!fits) {
      ++refusals;
      REQUIRE(refused(layers, options) != "");
      continue;
    }
    ++accepted;
    REQUIRE(stage_of_layer(layers, options) == expected);
  }
  REQUIRE(accepted > 5'000);
  REQUIRE(refusals > 2'000);
}

TEST_CASE("megatron: stages that do not fit are refused, with ends that would",
          "[models][megatron]") {
  REQUIRE(refused(94, pipeline(8)) ==
          "pipeline: 94 layers do not divide evenly over 8 stages; set first_stage_layers and "
          "last_stage_layers so that the rest does, such as 11 and 11");
  REQUIRE(refused(61, pipeline(16)) ==
          "pipeline: 61 layers do not divide evenly over 16 stages; set first_stage_layers and "
          "last_stage_layers so that the rest does, such as 3 and 2");
  REQUIRE(refused(94, pipeline(8, 11, 12)) ==
          "pipeline: 71 layers that are left for the middle do not divide evenly over 6 stages; "
          "set first_stage_layers and last_stage_layers so that the rest does, such as 11 and 11");
  REQUIRE(refused(5, pipeline(2, 2, 2)) ==
          "pipeline: 1 layers that are left for the middle do not divide evenly over 0 stages; set "
          "first_stage_layers and last_stage_layers so that the rest does, such as 3 and 2");
  REQUIRE(refused(4, pipeline(3, 2, 2)) ==
          "pipeline: 0 layers that are left for the middle do not divide evenly over 1 stages; set "
          "first_stage_layers and last_stage_layers so that the rest does, such as 2 and 1");
  REQUIRE(refused(5, pipeline(4, 3, 3)) ==
          "pipeline: 5 layers over 4 stages can't have 3 in the first and 3 in the last; set only "
          "what fits");
  REQUIRE(refused(5, pipeline(1, 2, 3)) ==
          "last_stage_layers: the first stage is the last one; use a pipeline of 2 or more");
  REQUIRE(refused(5, pipeline(0)) == "pipeline: 0 is not a degree; use 1 or more");
  // Two too many elsewhere would make up for these.
  REQUIRE(refused(5, pipeline(2, -2)) ==
          "first_stage_layers: -2 is no number of layers; use 0 or more");
  REQUIRE(refused(5, pipeline(2, {}, -2)) ==
          "last_stage_layers: -2 is no number of layers; use 0 or more");

  MegatronOptions written = pipeline(2);
  written.stage_layers = {-1, 6};
  REQUIRE(refused(5, written) == "stage_layers: -1 is no number of layers; use 0 or more");
  written.stage_layers = {2, 2};
  REQUIRE(refused(5, written) ==
          "stage_layers: 2 stages with 4 layers are written out, but pipeline is 2 and the model "
          "has 5 layers");
  written.stage_layers = {1, 2, 2};
  REQUIRE(refused(5, written) ==
          "stage_layers: 3 stages with 5 layers are written out, but pipeline is 2 and the model "
          "has 5 layers");
}

TEST_CASE("megatron: chunks that do not fit are refused", "[models][megatron]") {
  REQUIRE(refused(48, pipeline(4, {}, {}, 5)) ==
          "virtual_pipeline: 12 layers of stage 0 do not divide evenly into 5 chunks; use 4 or 6");
  REQUIRE(refused(94, pipeline(8, 11, 11, 2)) ==
          "virtual_pipeline: 11 layers of stage 0 do not divide evenly into 2 chunks; use 1");
  REQUIRE(refused(48, pipeline(1, {}, {}, 2)) ==
          "virtual_pipeline: one stage has no chunks; use a pipeline of 2 or more");
  REQUIRE(refused(48, pipeline(4, {}, {}, 0)) ==
          "virtual_pipeline: 0 is not a degree; use 1 or more");
}

TEST_CASE("megatron: where stages begin is said in one way only", "[models][megatron]") {
  MegatronOptions options = pipeline(2, 2);
  options.stage_layers = {2, 3};
  REQUIRE(refused(5, options) ==
          "first_stage_layers: stage_layers already says where stages begin; leave one out");
  options = pipeline(2, {}, 2);
  options.account_for_loss = true;
  REQUIRE(refused(5, options) ==
          "account_for_loss: last_stage_layers already says where stages begin; leave one out");
  options = pipeline(2);
  options.pipeline_layout = "Ettt|ttL";
  options.account_for_embedding = true;
  REQUIRE(refused(5, options) ==
          "account_for_embedding: pipeline_layout already says where stages begin; leave one out");
}

}  // namespace refit::test
