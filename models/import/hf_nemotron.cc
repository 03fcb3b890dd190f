#include <algorithm>

#include <fmt/format.h>

#include "base/shown.h"
#include "models/import/hf_attention.h"
#include "models/import/hf_families.h"
#include "models/import/hf_feed_forward.h"
#include "models/import/hf_mtp.h"
#include "models/import/hf_recurrent.h"

namespace refit {
namespace {

enum class Block { mamba, moe, attention, mlp };

struct BlockName {
  Block block;
  char letter;
  std::string_view word;
};

constexpr BlockName kBlockNames[] = {{Block::mamba, 'M', "mamba"},
                                     {Block::moe, 'E', "moe"},
                                     {Block::attention, '*', "attention"},
                                     {Block::mlp, '-', "mlp"}};

// Two spellings: a list of words, or a text with a letter per block.
std::vector<Block> read_pattern(const HfKeys& keys, std::string_view words_key,
                                std::string_view letters_key) {
  std::vector<Block> blocks;
  const auto add = [&](std::string_view key, const auto& name, const auto& spelling) {
    for (const BlockName& known : kBlockNames) {
      if (spelling(known) == name) return blocks.push_back(known.block);
    }
    keys.fail(key,
              fmt::format("'{}' is not known; use mamba (M), moe (E), attention (*) or mlp (-)",
                          shown(fmt::format("{}", name))));
  };
  if (keys.has(words_key)) {
    for (const std::string& word : keys.words(words_key)) {
      add(words_key, word, [](const BlockName& known) { return known.word; });
    }
  } else if (keys.has(letters_key)) {
    for (const char letter : keys.text(letters_key)) {
      add(letters_key, letter, [](const BlockName& known) { return known.letter; });
    }
  } else {
    keys.fail_missing({words_key, letters_key});
  }
  if (blocks.empty() || blocks.size() > kMostLayers) {
    keys.fail(keys.has(words_key) ? words_key : letters_key,
              fmt::format("{} blocks; there must be 1 to {}", blocks.size(), kMostLayers));
  }
  return blocks;
}

bool contains(const std::vector<Block>& blocks, Block wanted) {
  return std::find(blocks.begin(), blocks.end(), wanted) != blocks.end();
}

// Networks use squared ReLU and have no gate.
const FfnNames kUngated = {.gate = "", .up = "up_proj", .down = "down_proj"};

MoeShape read_moe(const HfKeys& keys) {
  MoeShape moe;
  moe.hidden = keys.size("hidden_size");
  moe.experts = read_expert_count(keys);
  moe.expert_width = keys.size("moe_intermediate_size");
  if (keys.find_integer({"n_shared_experts"}, 0, kMostExperts).value_or(0) > 0) {
    moe.shared_width = keys.size("moe_shared_expert_intermediate_size");
  }
  moe.latent = keys.find_integer({"moe_latent_size"}, 1, kMostSize).value_or(0);
  moe.correction_bias = true;
  return moe;
}

}  // namespace

void list_nemotron_h(HfModel& model) {
  const HfKeys& keys = model.keys;
  const std::vector<Block> blocks =
      read_pattern(keys, "layers_block_type", "hybrid_override_pattern");
  // The largest model of the family leaves the count to the length of the list.
  const auto layers = keys.find_integer({"num_hidden_layers"}, 1, kMostLayers);
  model.spec.layers = static_cast<int>(layers.value_or(static_cast<std::int64_t>(blocks.size())));
  expect_one_per_layer(
      keys, keys.has("layers_block_type") ? "layers_block_type" : "hybrid_override_pattern",
      blocks.size(), model.spec.layers);

  const int modules = read_mtp_count(model, "num_nextn_predict_layers");
  const std::vector<Block> module_blocks =
      modules == 0 ? std::vector<Block>{}
                   : read_pattern(keys, "mtp_layers_block_type", "mtp_hybrid_override_pattern");

  // A model need not have the keys of blocks that it does not use.
  const auto uses = [&](Block block) {
    return contains(blocks, block) || contains(module_blocks, block);
  };
  keys.expect_flag("mlp_bias", false);
  GqaShape attention;
  if (uses(Block::attention)) {
    attention = read_gqa(keys, HeadDim::required);
    attention.qkv_bias = attention.o_bias = keys.flag("attention_bias", false);
    model.spec.heads = attention.heads;
  }
  Mamba2Shape mamba;
  if (uses(Block::mamba)) {
    mamba = read_mamba2(keys);
    model.spec.linear_heads = {.heads = static_cast<int>(mamba.heads),
                               .mamba_groups = static_cast<int>(mamba.groups)};
  }
  MoeShape moe;
  if (uses(Block::moe)) {
    moe = read_moe(keys);
    model.spec.experts = static_cast<int>(moe.experts);
  }
  FfnShape mlp;
  if (uses(Block::mlp)) {
    mlp = {.hidden = model.spec.hidden, .width = keys.size("intermediate_size")};
  }

  const MoeNames moe_names = {.expert = kUngated, .shared_expert = kUngated};
  const auto list_block = [&](Block block, const TensorScope& at) {
    add_norm("norm.weight", model.spec.hidden, at);
    const TensorScope mixer = at.under("mixer.");
    switch (block) {
      case Block::mamba:
        return list_mamba2(mamba, mixer);
      case Block::moe:
        return list_moe(moe, moe_names, mixer);
      case Block::attention:
        return list_gqa(attention, mixer);
      case Block::mlp:
        return list_ffn(mlp, kUngated, Role::dense_ffn, mixer);
    }
  };

  const DecoderNames names = {.embedding = "backbone.embeddings.weight",
                              .layers = "backbone.layers.",
                              .final_norm = "backbone.norm_f.weight"};
  list_embedding(names, model);
  const TensorScope at = TensorScope(model.tensors).under(names.layers);
  for (int layer = 0; layer < model.spec.layers; ++layer) {
    list_block(blocks[static_cast<std::size_t>(layer)],
               at.under(fmt::format("{}.", layer)).decoder_layer(layer));
  }
  list_final_norm_and_head(names, model);
  list_nemotron_mtp(
      modules, static_cast<int>(module_blocks.size()),
      [&](int block, const TensorScope& module_at) {
        list_block(module_blocks[static_cast<std::size_t>(block)], module_at);
      },
      model);
}

}  // namespace refit
