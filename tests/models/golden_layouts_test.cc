// Rows and ranks that published layouts give, worked out by hand from the engines' own rules.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include <catch2/catch.hpp>

#include "models/parcels.h"
#include "models/sglang.h"
#include "tests/models/engine_case.h"
#include "tests/models/fused_qkv.h"
#include "tests/models/row_cuts.h"

namespace refit::test {
namespace {

MegatronOptions training(int gpus, int tensor, int pipeline = 1, int expert = 1) {
  MegatronOptions options;
  options.gpus = gpus;
  options.tensor = tensor;
  options.pipeline = pipeline;
  options.expert = expert;
  options.expert_tensor = 1;
  return options;
}

VllmOptions generation(int gpus, int tensor, int first = 0) {
  VllmOptions options;
  options.gpus = gpus;
  options.tensor = tensor;
  options.first = Rank(first);
  return options;
}

// The refit of the tensors with these names only.
Refit refit_of(ModelSpec model, const std::vector<std::string>& names, const MegatronOptions& from,
               VllmOptions to) {
  std::vector<TensorSpec> tensors;
  for (const std::string& name : names) tensors.push_back(tensor_named(model, name));
  model.tensors = tensors;
  to.first = Rank(from.gpus);
  return make_refit(model, *megatron(model, from), *vllm(model, to), from.gpus + to.gpus);
}

// A run of rows in the local matrix of a training rank.
struct LocalRows {
  int rank = 0;
  std::int64_t first = 0, last = 0;

  friend bool operator==(const LocalRows&, const LocalRows&) = default;
};

// Catch prints these.
std::ostream& operator<<(std::ostream& out, const LocalRows& rows) {
  return out << rows.rank << ": " << rows.first << "-" << rows.last;
}

// Where the rows of q, k or v that a generation rank gets lie in training: who sends them is taken
// from the parcels, the place inside the sender's fused matrix from the matrix built row by row.
std::vector<LocalRows> sources_of(const Refit& refit, const HeadGroups& heads, int tensor,
                                  const std::string& part, Rank destination) {
  const std::vector<QkvRow> fused = fused_matrix(heads);
  std::map<QkvRow, std::int64_t> fused_row;
  for (std::size_t i = 0; i < fused.size(); ++i) fused_row[fused[i]] = static_cast<std::int64_t>(i);
  const std::int64_t each = static_cast<std::int64_t>(fused.size()) / tensor;

  std::map<std::int64_t, int> sender;  // of each row of q, k or v
  for (const Parcel& parcel : find_parcels(refit)) {
    if (std::find(parcel.demanders.begin(), parcel.demanders.end(), destination) ==
        parcel.demanders.end())
      continue;
    REQUIRE(parcel.owners.size() == 1);
    for (const Fragment& fragment : parcel.fragments) {
      if (refit.classes[fragment.tensor_class.index()].part != part) continue;
      for (std::int64_t row = fragment.region[1].begin; row < fragment.region[1].end; ++row) {
        sender[row] = parcel.owners.front().value;
      }
    }
  }
  std::vector<LocalRows> runs;
  for (const auto& [row, rank] : sender) {
    const std::int64_t local = fused_row.at({part.front(), row}) - rank * each;
    REQUIRE((0 <= local && local < each));
    if (!runs.empty() && runs.back().rank == rank && runs.back().last + 1 == local) {
      runs.back().last = local;
    } else {
      runs.push_back({rank, local, local});
    }
  }
  return runs;
}

std::vector<std::string> qkv_of(const std::string& attention) {
  return {attention + "q_proj.weight", attention + "k_proj.weight", attention + "v_proj.weight"};
}

std::int64_t bytes_in_parcels(const Refit& refit) {
  std::int64_t sum = 0;
  for (const Parcel& parcel : find_parcels(refit)) sum += parcel.bytes;
  return sum;
}

bool is_bulk(const TensorClass& c) {
  return c.role == Role::routed_expert || c.role == Role::dense_ffn;
}

}  // namespace

TEST_CASE("golden: rank 77 of Qwen3-235B on 128 ranks, TP4 PP8 EP16", "[models][golden]") {
  // 77 = tp 1 + 4 (dp 3 + 4 x pp 4) = ep 13 + 16 (edp 0 + 1 x pp 4).
  const ModelSpec model = catalog_model("qwen3-235b-a22b");
  MegatronOptions options = training(128, 4, 8, 16);
  options.first_stage_layers = options.last_stage_layers = 11;
  const auto side = megatron(model, options);
  const auto at = [&](const std::string& name) {
    return layout_of(*side, tensor_named(model, name));
  };

  // pp 4 holds layers 47 to 58.
  for (const int layer : {46, 47, 58, 59}) {
    const Layout o = at("model.layers." + std::to_string(layer) + ".self_attn.o_proj.weight");
    REQUIRE((index_of(o, Rank(77)) >= 0) == (layer == 47 || layer == 58));
  }
  // tp 1 of 4: the second quarter of 8192 columns. dp 3: ranks 65, 69, 73 and 77 have the same.
  const Layout o = at("model.layers.47.self_attn.o_proj.weight");
  for (const int rank : {65, 69, 73, 77})
    REQUIRE(held(o, Rank(rank), 1) == IntervalSet(Interval{2048, 4096}));
  const std::vector<int> dense = o.mesh().coordinate_of(index_of(o, Rank(77)));
  REQUIRE(dense[static_cast<std::size_t>(o.mesh().axis_index("tp"))] == 1);
  REQUIRE(dense[static_cast<std::size_t>(o.mesh().axis_index("dp"))] == 3);
  // ep 13 of 16: experts 104 to 111 of 128, whole, and it alone holds them (edp 0 of 1).
  const Layout gate = at("model.layers.47.mlp.experts.{expert}.gate_proj.weight");
  REQUIRE(held(gate, Rank(77), 0) == IntervalSet(Interval{104, 112}));
  REQUIRE(held(gate, Rank(77), 1) == IntervalSet(Interval{0, 1536}));
  REQUIRE(gate.held_elements() == 128LL * 1536 * 4096);
}

TEST_CASE("golden: pipeline stages", "[models][golden]") {
  MegatronOptions qwen = training(128, 4, 8, 16);
  qwen.first_stage_layers = qwen.last_stage_layers = 11;
  REQUIRE(megatron(catalog_model("qwen3-235b-a22b"), qwen)->stage_layers() ==
          std::vector<int>{11, 12, 12, 12, 12, 12, 12, 11});

  MegatronOptions deepseek = training(256, 1, 16, 16);
  deepseek.first_stage_layers = 3;
  deepseek.last_stage_layers = 2;
  REQUIRE(megatron(catalog_model("deepseek-v3"), deepseek)->stage_layers() ==
          std::vector<int>{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2});

  REQUIRE(sglang_stage_layers(61, 4) == std::vector<int>{15, 15, 15, 16});
  REQUIRE(sglang_stage_layers(94, 8) == std::vector<int>{11, 11, 12, 12, 12, 12, 12, 12});
  REQUIRE(vllm_stage_layers(61, 4) == std::vector<int>{15, 15, 16, 15});
  REQUIRE(vllm_stage_layers(108, 8) == std::vector<int>{13, 13, 13, 14, 14, 14, 14, 13});
  REQUIRE(vllm_stage_layers(94, 8) == std::vector<int>{11, 12, 12, 12, 12, 12, 12, 11});
}

TEST_CASE("golden: the first stage of DeepSeek-V3 PP16 has no routed experts", "[models][golden]") {
  const ModelSpec model = catalog_model("deepseek-v3");
  MegatronOptions options = training(256, 1, 16, 16);
  options.first_stage_layers = 3;
  options.last_stage_layers = 2;
  const auto side = megatron(model, options);
  std::map<int, std::set<int>> layers, expert_layers, dense_layers;
  for (const TensorSpec& tensor : model.tensors) {
    if (!tensor.layer) continue;
    const int stage = side->stage_of(tensor);
    layers[stage].insert(*tensor.layer);
    if (tensor.role == Role::routed_expert) expert_layers[stage].insert(*tensor.layer);
    if (tensor.role == Role::dense_ffn) dense_layers[stage].insert(*tensor.layer);
  }
  REQUIRE(layers[0] == std::set<int>{0, 1, 2});
  REQUIRE(dense_layers[0] == std::set<int>{0, 1, 2});
  REQUIRE(expert_layers[0].empty());
  REQUIRE(expert_layers[1] == std::set<int>{3, 4, 5, 6});
  REQUIRE(layers[15] == std::set<int>{59, 60});
}

TEST_CASE("golden: Ultra PP2 has 24 Mamba, 24 expert and 6 attention layers a stage",
          "[models][golden]") {
  const ModelSpec model = catalog_model("nemotron-3-ultra-550b-a55b");
  const auto side = megatron(model, training(64, 8, 2, 32));
  REQUIRE(side->stage_layers() == std::vector<int>{54, 54});
  std::map<std::pair<int, std::string>, int> count;
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.layer) ++count[{side->stage_of(tensor), tensor.part}];
  }
  for (const int stage : {0, 1}) {
    REQUIRE(count[{stage, "in_proj"}] == 24);
    REQUIRE(count[{stage, "router"}] == 24);
    REQUIRE(count[{stage, "q"}] == 6);
  }
}

TEST_CASE("golden: QKV of Qwen3-235B, Megatron TP4 to vLLM TP8", "[models][golden]") {
  // 9216 rows, 2304 a rank: one KV group. vLLM rank 3 has query heads 24..31 and KV head 1, all of
  // them at training rank 1, whose matrix is q 0..2047, k 2048..2175, v 2176..2303.
  const ModelSpec model = catalog_model("qwen3-235b-a22b");
  const Refit refit =
      refit_of(model, qkv_of("model.layers.0.self_attn."), training(4, 4), generation(8, 8));
  REQUIRE(fused_matrix(model.heads).size() == 9216);
  using Runs = std::vector<LocalRows>;
  REQUIRE(sources_of(refit, model.heads, 4, "q", Rank(4 + 3)) == Runs{{1, 1024, 2047}});
  REQUIRE(sources_of(refit, model.heads, 4, "k", Rank(4 + 3)) == Runs{{1, 2048, 2175}});
  REQUIRE(sources_of(refit, model.heads, 4, "v", Rank(4 + 3)) == Runs{{1, 2176, 2303}});

  const auto to = vllm(model, generation(8, 8));
  const auto rows_held = [&](const std::string& name) {
    return layout_of(*to, tensor_named(model, "model.layers.0.self_attn." + name)).held_elements() /
           4096;
  };
  REQUIRE(held(layout_of(*to, tensor_named(model, "model.layers.0.self_attn.q_proj.weight")),
               Rank(3), 0) == IntervalSet(Interval{24 * 128, 32 * 128}));
  REQUIRE(rows_held("q_proj.weight") + rows_held("k_proj.weight") + rows_held("v_proj.weight") ==
          10240);
}

TEST_CASE("golden: QKV of Nemotron Ultra, Megatron TP8 to vLLM TP8, is a reshuffle",
          "[models][golden]") {
  // 8704 rows, 1088 = 8.5 heads a rank: the cut falls inside heads, and key and value of group 0
  // and 1 are at ranks 3 and 7 only.
  const ModelSpec model = catalog_model("nemotron-3-ultra-550b-a55b");
  int attention_layer = -1;
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.part == "q" && attention_layer < 0) attention_layer = *tensor.layer;
  }
  const std::string at = "backbone.layers." + std::to_string(attention_layer) + ".mixer.";
  const Refit refit = refit_of(model, qkv_of(at), training(8, 8), generation(8, 8));
  REQUIRE(fused_matrix(model.heads).size() == 8704);

  using Runs = std::vector<LocalRows>;
  const auto require_row = [&](int rank, const Runs& q, const Runs& k, const Runs& v) {
    CAPTURE(rank);
    REQUIRE(sources_of(refit, model.heads, 8, "q", Rank(8 + rank)) == q);
    REQUIRE(sources_of(refit, model.heads, 8, "k", Rank(8 + rank)) == k);
    REQUIRE(sources_of(refit, model.heads, 8, "v", Rank(8 + rank)) == v);
  };
  require_row(0, {{0, 0, 1023}}, {{3, 832, 959}}, {{3, 960, 1087}});
  require_row(3, {{2, 896, 1087}, {3, 0, 831}}, {{3, 832, 959}}, {{3, 960, 1087}});
  require_row(4, {{4, 0, 1023}}, {{7, 832, 959}}, {{7, 960, 1087}});
  require_row(7, {{6, 896, 1087}, {7, 0, 831}}, {{7, 832, 959}}, {{7, 960, 1087}});
}

TEST_CASE("golden: rows of the vocabulary, and padding that is never sent", "[models][golden]") {
  const auto rows_of_rank = [](const ModelSpec& model, const Parallelism& side, int rank) {
    return held(layout_of(side, model.tensors.front()), Rank(rank), 0);
  };
  const ModelSpec qwen = catalog_model("qwen3-235b-a22b");
  REQUIRE(qwen.tensors.front().role == Role::embedding);
  REQUIRE(qwen.vocab == 151936);
  // Megatron TP4: a multiple of 128 x 4 is 152064, 38016 rows a rank, the last 128 of rank 3
  // padding.
  const auto four = megatron(qwen, training(4, 4));
  for (int r = 0; r < 3; ++r) {
    REQUIRE(rows_of_rank(qwen, *four, r) == IntervalSet(Interval{38016 * r, 38016 * (r + 1)}));
  }
  REQUIRE(rows_of_rank(qwen, *four, 3) == IntervalSet(Interval{38016 * 3, 152064 - 128}));
  // TP8: 152576, 19072 a rank, 640 of padding.
  const auto eight = megatron(qwen, training(8, 8));
  REQUIRE(rows_of_rank(qwen, *eight, 6) == IntervalSet(Interval{19072 * 6, 19072 * 7}));
  REQUIRE(rows_of_rank(qwen, *eight, 7) == IntervalSet(Interval{19072 * 7, 152576 - 640}));
  // vLLM TP8 pads to 64: 151936 as it is, 18992 a rank.
  const auto vllm_eight = vllm(qwen, generation(8, 8));
  REQUIRE(rows_of_rank(qwen, *vllm_eight, 7) == IntervalSet(Interval{18992 * 7, 151936}));

  const ModelSpec deepseek = catalog_model("deepseek-v3");
  MegatronOptions by_1280 = training(1, 1);
  by_1280.vocab_divisible_by = 1280;
  REQUIRE(rows_of_rank(deepseek, *megatron(deepseek, by_1280), 0) ==
          IntervalSet(Interval{0, 129280}));
  by_1280.gpus = by_1280.tensor = 8;  // 133120, 16640 a rank: rank 7 begins at 116480 and has 12800
  REQUIRE(rows_of_rank(deepseek, *megatron(deepseek, by_1280), 6) ==
          IntervalSet(Interval{99840, 116480}));
  REQUIRE(rows_of_rank(deepseek, *megatron(deepseek, by_1280), 7) ==
          IntervalSet(Interval{116480, 129280}));
  REQUIRE(rows_of_rank(deepseek, *vllm(deepseek, generation(32, 32)), 31) ==
          IntervalSet(Interval{4040 * 31, 129280}));

  // What travels are 151936 rows of 4096, twice (embedding and head), of 2 bytes.
  const Refit refit = refit_of(qwen, {"model.embed_tokens.weight", "lm_head.weight"},
                               training(8, 8), generation(8, 8));
  REQUIRE(bytes_in_parcels(refit) == 2LL * 151936 * 4096 * 2);
  for (const Parcel& parcel : find_parcels(refit)) {
    for (const Fragment& fragment : parcel.fragments) REQUIRE(fragment.region[1].end <= 151936);
  }
}

TEST_CASE("golden: DTensor chunks", "[models][golden]") {
  const Mesh ranks = Mesh::row_major(Rank(0), {{"fsdp", 96}});
  const Layout vocab({151936}, ranks, {shard(0)});
  for (int r = 0; r < 95; ++r) REQUIRE(vocab.shard_elements(r) == 1583);
  REQUIRE(vocab.shard_elements(95) == 1551);
  const Layout small({128}, ranks, {shard(0)});
  for (int r = 0; r < 96; ++r) REQUIRE(small.shard_elements(r) == (r < 64 ? 2 : 0));

  // FSDP2 inside tensor parallel, 2 x 2 over 8 rows. The mesh lists dp first, but tp cuts first: dp
  // 0 holds rows 0, 1 and 4, 5, and tp takes its half of each.
  const Layout strided(
      {8}, Mesh::row_major(Rank(0), {{"dp", 2}, {"tp", 2}}),
      {shard(0, Split::table({rows({{0, 2}, {4, 6}}), rows({{2, 4}, {6, 8}})})), shard(0)});
  const std::vector<Interval> expected{{0, 2}, {4, 6}, {2, 4}, {6, 8}};
  for (int r = 0; r < 4; ++r)
    REQUIRE(strided.shard(r)[0] == IntervalSet(expected[static_cast<std::size_t>(r)]));
}

TEST_CASE("golden: gate and up of Qwen3-32B, Megatron TP4 to vLLM TP8", "[models][golden]") {
  // 25600 rows each. vLLM rank 5 has rows 16000..19199 of both, from Megatron rank 2, which has
  // rows 12800..19199 of gate, then of up: local 3200..6399 and 6400 + 3200 = 9600..12799.
  const ModelSpec model = catalog_model("qwen3-32b");
  const std::string mlp = "model.layers.0.mlp.";
  const Refit refit = refit_of(model, {mlp + "gate_proj.weight", mlp + "up_proj.weight"},
                               training(4, 4), generation(8, 8));
  int fragments = 0;
  for (const Parcel& parcel : find_parcels(refit)) {
    if (parcel.demanders != std::vector{Rank(4 + 5)}) continue;
    REQUIRE(parcel.owners == std::vector{Rank(2)});
    for (const Fragment& fragment : parcel.fragments) {
      ++fragments;
      REQUIRE(fragment.region == Region{{0, 1}, {16000, 19200}, {0, 5120}});
    }
  }
  REQUIRE(fragments == 2);  // gate and up
  const Layout gate = refit.classes[0].source;
  const std::int64_t first = held(gate, Rank(2), 0).intervals().front().begin;
  const std::int64_t gate_rows = held(gate, Rank(2), 0).size();
  REQUIRE(16000 - first == 3200);
  REQUIRE(gate_rows + 16000 - first == 9600);
}

TEST_CASE("golden: Mamba components of Nemotron Ultra at TP8", "[models][golden]") {
  // z | x | B | C | dt of 16384, 16384, 1024, 1024 and 256 rows, 35072 in all, each cut in 8.
  const ModelSpec model = catalog_model("nemotron-3-ultra-550b-a55b");
  const TensorSpec& in_proj = tensor_named(model, "backbone.layers.0.mixer.in_proj.weight");
  const TensorSpec& conv = tensor_named(model, "backbone.layers.0.mixer.conv1d.weight");
  REQUIRE(in_proj.dims[0].size == 35072);
  REQUIRE(conv.dims[0].size == 18432);
  const auto from = megatron(model, training(8, 8));
  const auto to = vllm(model, generation(8, 8));
  for (const Parallelism* side : {from.get(), to.get()}) {
    const Layout layout = layout_of(*side, in_proj);
    const std::int64_t r = 3;
    const IntervalSet got = held(layout, Rank(r), 0);
    REQUIRE(got == rows({{2048 * r, 2048 * (r + 1)},
                         {16384 + 2048 * r, 16384 + 2048 * (r + 1)},
                         {32768 + 128 * r, 32768 + 128 * (r + 1)},
                         {33792 + 128 * r, 33792 + 128 * (r + 1)},
                         {34816 + 32 * r, 34816 + 32 * (r + 1)}}));
    REQUIRE(got.size() == 4384);
    REQUIRE(held(layout_of(*side, conv), Rank(r), 0).size() == 2304);
  }
}

TEST_CASE("golden: bulk bytes per expert rank and layer, and what all engines receive",
          "[models][golden]") {
  struct Golden {
    const char* model;
    MegatronOptions from;
    VllmOptions to;
    std::int64_t per_layer, received;
  };
  MegatronOptions qwen = training(128, 4, 8, 16);
  qwen.first_stage_layers = qwen.last_stage_layers = 11;
  MegatronOptions deepseek = training(256, 1, 16, 16);
  deepseek.first_stage_layers = 3;
  deepseek.last_stage_layers = 2;
  const Golden all[] = {
      // 128 / 16 experts x 3 x 1536 x 4096 x 2 B; 454,192,791,552 x 16 engines
      {"qwen3-235b-a22b", qwen, generation(128, 8), 301'989'888, 7'267'084'664'832},
      // 256 / 16 x 3 x 2048 x 7168 x 2 B; 1,310,195,712,000 x 8
      {"deepseek-v3", deepseek, generation(256, 32), 1'409'286'144, 10'481'565'696'000},
      // 512 / 32 x 2 x 5120 x 2048 x 2 B; 1,030,792,151,040 x 8
      {"nemotron-3-ultra-550b-a55b", training(64, 8, 2, 32), generation(64, 8), 671'088'640,
       8'246'337'208'320},
  };
  for (const Golden& golden : all) {
    CAPTURE(golden.model);
    const ModelSpec model = catalog_model(golden.model);
    const auto from = megatron(model, golden.from);
    const auto to = vllm(model, golden.to);
    const Refit refit = make_refit(model, *from, *to, golden.from.gpus + golden.to.gpus);
    std::int64_t layer = 0, received = 0;
    int experts_in = -1;
    for (const TensorSpec& tensor : model.tensors) {
      if (tensor.role != Role::routed_expert) continue;
      if (experts_in < 0) experts_in = *tensor.layer;
      if (*tensor.layer == experts_in) layer += layout_of(*from, tensor).shard_elements(0) * 2;
    }
    for (const TensorClass& c : refit.classes)
      received += is_bulk(c) ? c.destination.held_elements() * 2 : 0;
    REQUIRE(layer == golden.per_layer);
    REQUIRE(received == golden.received);
  }
}

}  // namespace refit::test
