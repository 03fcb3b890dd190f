// The language of Megatron's hybrid_layer_pattern: a letter per block, | between chunks, and after
// each / the blocks of a prediction module.
#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "models/megatron_stages.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::bad_input, "hybrid_pattern: " + message);
}

constexpr std::string_view kBlocks = "MGE*+-D";

// The block that a tensor belongs to; nothing for norms, which every block has.
char block_of(const TensorSpec& tensor, const ModelSpec& model) {
  switch (tensor.role) {
    case Role::linear_attention:
      return tensor.part == "in_proj" ? 'M' : tensor.part.starts_with("in_") ? 'G' : '\0';
    case Role::attention:
      return model.heads.kv_heads > 0 ? '*' : '+';
    case Role::routed_expert:
      return 'E';
    case Role::dense_ffn:
      return '-';
    default:
      return '\0';
  }
}

void check_module(std::string_view module, std::string_view first) {
  for (const char c : module) {
    if (kBlocks.find(c) == std::string_view::npos) {
      refuse(fmt::format("'{}' in the blocks of a prediction module is unknown; use letters of {}",
                         c, kBlocks));
    }
  }
  if (module != first) {
    refuse(fmt::format("prediction modules '{}' and '{}' differ; make them equal", first, module));
  }
}

}  // namespace

std::string hybrid_blocks(const ModelSpec& model) {
  std::string blocks(static_cast<std::size_t>(model.layers), '\0');
  for (const TensorSpec& tensor : model.tensors) {
    if (!tensor.layer) continue;
    const char block = block_of(tensor, model);
    if (block == '\0') continue;
    char& known = blocks[static_cast<std::size_t>(*tensor.layer)];
    if (known != '\0' && known != block) return "";
    known = block;
  }
  return blocks.find('\0') == std::string::npos ? blocks : "";
}

std::vector<PipelineChunk> read_hybrid_pattern(const ModelSpec& model,
                                               const MegatronOptions& options) {
  const std::string blocks = hybrid_blocks(model);
  if (blocks.empty()) {
    refuse(
        fmt::format("layers of {} have attention and feed-forward together, so they have no "
                    "pattern; use pipeline_layout",
                    model.name));
  }
  const std::string_view pattern = options.hybrid_pattern;
  const std::size_t end = std::min(pattern.find('/'), pattern.size());
  for (std::size_t at = end, first = end + 1; at < pattern.size();) {
    const std::size_t next = std::min(pattern.find('/', at + 1), pattern.size());
    check_module(pattern.substr(at + 1, next - at - 1),
                 pattern.substr(first, std::min(pattern.find('/', first), pattern.size()) - first));
    at = next;
  }

  std::vector<PipelineChunk> chunks(1);
  std::size_t layer = 0;
  for (const char c : pattern.substr(0, end)) {
    if (c == '|') {
      chunks.emplace_back();
      continue;
    }
    if (layer < blocks.size() && c != blocks[layer]) {
      refuse(fmt::format("block {} (counted from 0) is written '{}', but the model has '{}' there",
                         layer, c, blocks[layer]));
    }
    ++layer;
    ++chunks.back().layers;
  }
  if (layer != blocks.size()) {
    refuse(fmt::format("{} blocks are written, but the model has {}", layer, blocks.size()));
  }
  const auto stages = static_cast<std::size_t>(options.pipeline);
  if (chunks.size() > 1 && chunks.size() % stages != 0) {
    refuse(
        fmt::format("{} chunks do not divide evenly over {} stages; use {} bars or a multiple "
                    "of {} chunks",
                    chunks.size(), stages, stages - 1, stages));
  }
  const std::size_t rounds = chunks.size() / stages;
  if (options.virtual_pipeline > 1 && chunks.size() > 1 &&
      rounds != static_cast<std::size_t>(options.virtual_pipeline)) {
    throw Error(ErrorCode::bad_input,
                fmt::format("virtual_pipeline: {} chunks a stage, but hybrid_pattern has {}; make "
                            "them equal or leave this out",
                            options.virtual_pipeline, rounds));
  }
  return chunks;
}

}  // namespace refit
