#include "models/block_layout.h"

#include <algorithm>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "tests/models/engine_case.h"
#include "tests/models/generation_case.h"

namespace refit::test {
namespace {

VllmOptions engine(int tensor) {
  VllmOptions options;
  options.gpus = options.tensor = tensor;
  return options;
}

// What an engine's cut of one tensor, or of the first that does not fit, is refused with.
std::string refused(const ModelSpec& model, const Parallelism& side, Format format,
                    const std::string& only = "") {
  return refusal([&] {
    for (const TensorSpec& tensor : model.tensors) {
      if (!only.empty() && tensor.name != only) continue;
      const ElementForm form = form_of(tensor, {format, {}}, main_dtype(model));
      check_blocks(tensor, form, form, side.layout_parts(tensor, side.stage_of(tensor), 1),
                   {side.gpus(), model.heads});
    }
  });
}

// Rows of a dim that a piece holds, one by one, turned into blocks: nothing if a block is held in
// part.
std::optional<std::set<std::int64_t>> blocks_of(const IntervalSet& piece, std::int64_t block,
                                                std::int64_t length) {
  const std::set<std::int64_t> held = indices(piece);
  std::set<std::int64_t> blocks;
  for (std::int64_t first = 0; first < length; first += block) {
    std::int64_t rows = 0, mine = 0;
    for (std::int64_t row = first; row < std::min(first + block, length); ++row) {
      ++rows;
      mine += held.contains(row) ? 1 : 0;
    }
    if (mine != 0 && mine != rows) return std::nullopt;
    if (mine != 0) blocks.insert(first / block);
  }
  return blocks;
}

// Cuts that engines make, between blocks about half of the time.
Split random_split(std::mt19937& random, std::int64_t length, int ranks, std::int64_t block) {
  switch (random() % 4) {
    case 0:
      return Split::chunk(random() % 2 == 0 ? block : 1);
    case 1:
      return Split::balanced();
    case 2:
      return Split::padded((length + ranks * block - 1) / (ranks * block) * (ranks * block));
    default:
      break;
  }
  std::vector<IntervalSet> pieces;
  std::vector<std::vector<Interval>> rows(static_cast<std::size_t>(ranks));
  for (std::int64_t first = 0; first < length; first += block) {
    rows[random() % rows.size()].push_back({first, std::min(first + block, length)});
  }
  for (std::vector<Interval>& own : rows) pieces.push_back(IntervalSet::of(std::move(own)));
  return Split::table(std::move(pieces));
}

}  // namespace

TEST_CASE("blocks: DeepSeek-V3 in FP8 over 32 ranks is refused with 4.5 blocks, over 16 it fits",
          "[models][precision]") {
  const ModelSpec model = catalog_model("deepseek-v3");
  // 18432 / 32 = 576 = 4.5 * 128. Divisors of 32 GPUs that share 128 heads and cut between blocks:
  // 18432 / (128 n) is whole for n = 16, and 16 is the largest.
  REQUIRE(refused(model, *vllm(model, engine(32)), Format::fp8_blockwise) ==
          "tensor: model.layers.0.mlp.gate_proj.weight: 18432 rows over 32 ranks are 576 each, 4.5 "
          "blocks, but fp8_blockwise is cut between blocks of 128 only; use 16");
  REQUIRE(refused(model, *vllm(model, engine(16)), Format::fp8_blockwise).empty());
}

TEST_CASE("blocks: experts that are cut inside a block are sent to expert parallelism",
          "[models][precision]") {
  SECTION("DeepSeek-V3: 2048 / 32 = 64") {
    const ModelSpec model = catalog_model("deepseek-v3");
    REQUIRE(refused(model, *vllm(model, engine(32)), Format::fp8_blockwise,
                    "model.layers.3.mlp.experts.{expert}.gate_proj.weight") ==
            "tensor x prefill_context x data: "
            "model.layers.3.mlp.experts.{expert}.gate_proj.weight: 2048 rows over 32 ranks are 64 "
            "each, 0.5 blocks, but fp8_blockwise is cut between blocks of 128 only; use 16; or "
            "write expert_parallel: true, which leaves experts whole");
  }
  SECTION("Qwen3-235B: 1536 / 8 = 192, and so are the columns of the second matrix") {
    const ModelSpec model = catalog_model("qwen3-235b-a22b");
    REQUIRE(refused(model, *vllm(model, engine(8)), Format::fp8_blockwise) ==
            "tensor x prefill_context x data: "
            "model.layers.0.mlp.experts.{expert}.gate_proj.weight: 1536 rows over 8 ranks are 192 "
            "each, 1.5 blocks, but fp8_blockwise is cut between blocks of 128 only; use 4; or "
            "write expert_parallel: true, which leaves experts whole");
    REQUIRE(refused(model, *vllm(model, engine(8)), Format::fp8_blockwise,
                    "model.layers.0.mlp.experts.{expert}.down_proj.weight") ==
            "tensor x prefill_context x data: "
            "model.layers.0.mlp.experts.{expert}.down_proj.weight: 1536 columns over 8 ranks are "
            "192 each, 1.5 blocks, but fp8_blockwise is cut between blocks of 128 only; use 4; or "
            "write expert_parallel: true, which leaves experts whole");
    VllmOptions whole = engine(8);
    whole.expert_parallel = true;
    REQUIRE(refused(model, *vllm(model, whole), Format::fp8_blockwise).empty());
    REQUIRE(refused(model, *vllm(model, engine(4)), Format::fp8_blockwise).empty());
  }
  SECTION("Qwen3-30B: 768 is 6 blocks, so neither 4 nor 8 ranks can share it, but 2 can") {
    const ModelSpec model = catalog_model("qwen3-30b-a3b");
    const auto each = [&](int tensor) {
      return refused(model, *vllm(model, engine(tensor)), Format::fp8_blockwise,
                     "model.layers.0.mlp.experts.{expert}.up_proj.weight");
    };
    REQUIRE(each(4).find("768 rows over 4 ranks are 192 each, 1.5 blocks") != std::string::npos);
    REQUIRE(each(8).find("768 rows over 8 ranks are 96 each, 0.75 blocks") != std::string::npos);
    REQUIRE(each(8).find("use 2; or write expert_parallel: true") != std::string::npos);
    REQUIRE(each(2).empty());
  }
  SECTION("SGLang and Megatron are told their own keys") {
    const ModelSpec model = catalog_model("qwen3-235b-a22b");
    SglangOptions options;
    options.gpus = options.tensor = 8;
    REQUIRE(refused(model, *sglang(model, options), Format::fp8_blockwise) ==
            "tensor x expert x expert_data: model.layers.0.mlp.experts.{expert}.gate_proj.weight: "
            "1536 rows over 8 ranks are 192 each, 1.5 blocks, but fp8_blockwise is cut between "
            "blocks of 128 only; use 4; or use a larger expert, which leaves experts whole");
    MegatronOptions training;
    training.gpus = training.tensor = 8;
    REQUIRE(refused(model, *megatron(model, training), Format::fp8_blockwise,
                    "model.layers.0.mlp.experts.{expert}.gate_proj.weight") ==
            "expert_tensor: model.layers.0.mlp.experts.{expert}.gate_proj.weight: 1536 rows over 8 "
            "ranks are 192 each, 1.5 blocks, but fp8_blockwise is cut between blocks of 128 only; "
            "use 4; or write expert_tensor: 1, which leaves experts whole");
  }
}

TEST_CASE("blocks: 32-blocks leave rows free, and gpt-oss has an engine flag for its columns",
          "[models][precision]") {
  const ModelSpec model = catalog_model("gpt-oss-120b");
  // gate_up is cut along its output dim, where any border will do; down along the 2880 that it sums
  // over: 720 = 22.5 blocks.
  REQUIRE(refused(model, *vllm(model, engine(4)), Format::mxfp4) ==
          "tensor x prefill_context x data: model.layers.0.mlp.experts.down_proj: 2880 rows over 4 "
          "ranks are 720 each, 22.5 blocks, but mxfp4 is cut between blocks of 32 only; use 2; or "
          "write expert_parallel: true, which leaves experts whole; or write mxfp4_experts: true, "
          "which cuts gpt-oss between blocks");
  VllmOptions by_blocks = engine(4);
  by_blocks.mxfp4_experts = true;
  REQUIRE(refused(model, *vllm(model, by_blocks), Format::mxfp4).empty());
}

TEST_CASE("blocks: an uneven cut inside a block is refused with the rows that one rank holds",
          "[models][precision]") {
  // Fused query, key and value: 1088 rows a rank, 8.5 blocks; rank 0 has nothing but queries.
  const ModelSpec model = catalog_model("nemotron-3-ultra-550b-a55b");
  const auto q = std::find_if(model.tensors.begin(), model.tensors.end(),
                              [](const TensorSpec& tensor) { return tensor.part == "q"; });
  REQUIRE(q != model.tensors.end());
  MegatronOptions training;
  training.gpus = training.tensor = 8;
  training.expert_tensor = 1;
  REQUIRE(refused(model, *megatron(model, training), Format::fp8_blockwise, q->name) ==
          "tensor: " + q->name +
              ": a rank holds rows 0 to 1087 of 8192, but fp8_blockwise is cut between blocks of "
              "128 only; use 4");
}

TEST_CASE("blocks: rows that FSDP deals out are not cut between blocks", "[models][precision]") {
  TensorSpec tensor = weight({{1000, Axis::ffn, {}}, {256, Axis::none, {}}}, Role::dense_ffn);
  const Layout dealt({1, 1000, 256}, Mesh::row_major(Rank(0), {{"shard", 4}}), {shard(1)});
  REQUIRE(refusal([&] {
            check_blocks(tensor, Format::fp8_blockwise, {{Interval{0, 1000}, dealt}}, {4, {}});
          }) ==
          "precision: w: 1000 rows over 4 ranks are 250 each, 1.95312 blocks, but fp8_blockwise is "
          "cut between blocks of 128 only; this engine deals rows out without regard to blocks, so "
          "use bf16 here and let the other side convert");
}

TEST_CASE("blocks: a piece that begins inside a block is refused where all pieces end between them",
          "[models][precision]") {
  // Overlapping pieces, as with copies: rank 1 lacks the first half of a block that rank 0 has.
  const TensorSpec tensor = weight({{256, Axis::ffn, {}}, {128, Axis::none, {}}}, Role::dense_ffn);
  const Layout overlap({1, 256, 128}, Mesh::row_major(Rank(0), {{"rank", 2}}),
                       {shard(1, Split::table({rows({{0, 256}}), rows({{64, 256}})}))});
  REQUIRE(refusal([&] {
            check_blocks(tensor, Format::fp8_blockwise, {{Interval{0, 256}, overlap}}, {2, {}});
          }).find("precision: w: a rank holds rows 64 to 255 of 256, but") == 0);
}

TEST_CASE("blocks: a rank holds the scale of a block if and only if it holds the block",
          "[models][precision][oracle]") {
  const std::uint32_t seed = Catch::rngSeed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  int fitting = 0, refused_cuts = 0;
  for (int round = 0; round < 400; ++round) {
    const std::int64_t rows = 100 + static_cast<std::int64_t>(random() % 1200);
    const std::int64_t columns = 100 + static_cast<std::int64_t>(random() % 600);
    const int outer = 1 + static_cast<int>(random() % 3),
              inner = 1 + static_cast<int>(random() % 3);
    const Format format = random() % 2 == 0 ? Format::fp8_blockwise : Format::mxfp4;
    const TensorSpec tensor =
        weight({{rows, Axis::ffn, {}}, {columns, Axis::none, {}}}, Role::dense_ffn);
    const std::vector<std::int64_t> block = block_shape(tensor, format);
    // Two axes that cut one dim after the other, or a dim each; the third holds copies.
    const int dim = 1 + static_cast<int>(random() % 2);
    const bool same = random() % 3 == 0;
    const int other = same ? dim : 3 - dim;
    const auto length = [&](int d) { return d == 1 ? rows : columns; };
    const auto unit = [&](int d) {
      return std::max<std::int64_t>(32, block[static_cast<std::size_t>(d - 1)]);
    };
    const Split first = random_split(random, length(dim), outer, unit(dim));
    const Split second = same ? Split::chunk(random() % 2 == 0 ? unit(dim) : 1)
                              : random_split(random, length(other), inner, unit(other));
    std::vector<LayoutPart> parts;
    try {
      parts.push_back({Interval{0, rows},
                       Layout({2, rows, columns},
                              Mesh::row_major(Rank(3), {{"a", outer}, {"copy", 2}, {"b", inner}}),
                              {shard(dim, first), replicate(), shard(other, second)})});
    } catch (const Error&) {
      continue;  // a piece that a table does not describe
    }
    CAPTURE(rows, columns, outer, inner, dim, same, format == Format::fp8_blockwise);
    const Layout& layout = parts.front().layout;
    bool fits = true;
    for (int i = 0; i < layout.mesh().size(); ++i) {
      const std::vector<IntervalSet> shard_sets = layout.shard(i);
      for (std::size_t d : {0U, 1U}) {
        fits = fits && blocks_of(shard_sets[d + 1], block[d], length(static_cast<int>(d) + 1));
      }
    }
    const std::string message = refusal([&] { check_blocks(tensor, format, parts, {64, {}}); });
    REQUIRE(message.empty() == fits);
    (fits ? fitting : refused_cuts) += 1;
    if (!fits) continue;

    for (const StoredTensor& stored : stored_as(tensor, {format, Dtype::bf16})) {
      const std::vector<LayoutPart> made = stored_parts(stored, parts);
      REQUIRE(made.size() == 1);
      const Layout& scales = made.front().layout;
      for (int i = 0; i < layout.mesh().size(); ++i) {
        const std::vector<int> coordinate = layout.mesh().coordinate_of(i);
        const Rank rank = layout.mesh().rank_at(coordinate);
        const std::vector<IntervalSet> weights = layout.shard(i);
        const std::vector<IntervalSet> entries = scales.shard(index_of(scales, rank));
        for (std::size_t d : {0U, 1U}) {
          CAPTURE(i, d, stored.tensor.name);
          const bool nothing = weights[1].empty() || weights[2].empty();
          if (nothing) {
            REQUIRE((entries[1].empty() || entries[2].empty()));
            continue;
          }
          REQUIRE(indices(entries[d + 1]) ==
                  *blocks_of(weights[d + 1], stored.block[d], length(static_cast<int>(d) + 1)));
        }
      }
    }
  }
  REQUIRE(fitting > 20);
  REQUIRE(refused_cuts > 20);
}

TEST_CASE("blocks: a layout in parts keeps its parts, with rows counted in blocks",
          "[models][precision]") {
  const TensorSpec tensor = weight({{512, Axis::ffn, {}}, {256, Axis::none, {}}}, Role::dense_ffn);
  const Mesh mesh = Mesh::row_major(Rank(0), {{"shard", 2}});
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return LayoutPart{Interval{begin, end},
                      Layout({1, end - begin, 256}, mesh, {shard(1, Split::chunk(128))})};
  };
  SECTION("borders between blocks") {
    const std::vector<LayoutPart> weights{part(0, 128), part(128, 512)};
    check_blocks(tensor, Format::fp8_blockwise, weights, {2, {}});
    const auto stored = stored_as(tensor, {Format::fp8_blockwise, Dtype::bf16});
    const std::vector<LayoutPart> scales = stored_parts(stored[1], weights);
    REQUIRE(scales[0].rows == IntervalSet(Interval{0, 1}));
    REQUIRE(scales[1].rows == IntervalSet(Interval{1, 4}));
    REQUIRE(scales[1].layout.shape() == std::vector<std::int64_t>{1, 3, 2});
    // 384 rows in chunks of 128 over 2: 256 and 128.
    REQUIRE(held(scales[1].layout, Rank(0), 0) == rows({{0, 2}}));
    REQUIRE(held(scales[1].layout, Rank(1), 0) == rows({{2, 3}}));
  }
  SECTION("a border inside one") {
    REQUIRE(refusal([&] {
              check_blocks(tensor, Format::fp8_blockwise, {part(0, 192), part(192, 512)}, {2, {}});
            })
                .find("precision: w: a rank holds rows 0 to 191 of 512, but fp8_blockwise is cut "
                      "between blocks of 128 only") == 0);
  }
}

}  // namespace refit::test
