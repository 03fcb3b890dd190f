#include "models/megatron_stages.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "models/nearest_fit.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

// Where stages begin can be said in one way at most.
void check_one_way(const MegatronOptions& options) {
  const bool bars = options.hybrid_pattern.find('|') != std::string::npos;
  const struct {
    const char* key;
    bool written;
    int way;
  } keys[] = {{"pipeline_layout", !options.pipeline_layout.empty(), 0},
              {"hybrid_pattern", bars, 1},
              {"stage_layers", !options.stage_layers.empty(), 2},
              {"first_stage_layers", options.first_stage_layers.has_value(), 3},
              {"last_stage_layers", options.last_stage_layers.has_value(), 3},
              {"account_for_embedding", options.account_for_embedding, 4},
              {"account_for_loss", options.account_for_loss, 4}};
  const char* earlier = nullptr;
  int way = -1;
  for (const auto& key : keys) {
    if (!key.written) continue;
    if (earlier && key.way != way) {
      refuse(
          fmt::format("{}: {} already says where stages begin; leave one out", key.key, earlier));
    }
    earlier = key.key;
    way = key.way;
  }
}

void check_count(const char* key, int layers) {
  if (layers < 0) refuse(fmt::format("{}: {} is no number of layers; use 0 or more", key, layers));
}

std::vector<int> written_sizes(int layers, const MegatronOptions& options) {
  for (const int size : options.stage_layers) check_count("stage_layers", size);
  const std::int64_t sum =
      std::accumulate(options.stage_layers.begin(), options.stage_layers.end(), std::int64_t{0});
  if (static_cast<int>(options.stage_layers.size()) != options.pipeline || sum != layers) {
    refuse(fmt::format(
        "stage_layers: {} stages with {} layers are written out, but pipeline is {} and the model "
        "has {} layers",
        options.stage_layers.size(), sum, options.pipeline, layers));
  }
  return options.stage_layers;
}

// First and last stage that leave the others equal shares, as near to those as can be.
std::string ends_that_fit(int layers, int stages) {
  std::string best;
  int least = 0;
  for (const int each : {layers / stages, layers / stages + 1}) {
    const int ends = layers - (stages - 2) * each;
    const int first = (ends + 1) / 2;
    const int off = std::max(std::abs(first - each), std::abs(ends - first - each));
    if (each < 1 || ends < 2 || (!best.empty() && off >= least)) continue;
    best = fmt::format(", such as {} and {}", first, ends - first);
    least = off;
  }
  return best;
}

// Even, or even between a first and a last stage that are set.
std::vector<int> shared_sizes(int layers, const MegatronOptions& options) {
  const int stages = options.pipeline;
  const int first = options.first_stage_layers.value_or(0);
  const int last = options.last_stage_layers.value_or(0);
  check_count("first_stage_layers", first);
  check_count("last_stage_layers", last);
  const int fixed = (options.first_stage_layers ? 1 : 0) + (options.last_stage_layers ? 1 : 0);
  if (fixed == 2 && stages == 1) {
    refuse("last_stage_layers: the first stage is the last one; use a pipeline of 2 or more");
  }
  const int middle = stages - fixed;
  const std::int64_t rest = std::int64_t{layers} - first - last;
  if (rest < 0) {
    refuse(fmt::format(
        "pipeline: {} layers over {} stages can't have {} in the first and {} in the last; "
        "set only what fits",
        layers, stages, first, last));
  }
  if ((middle == 0) != (rest == 0) || (middle > 0 && rest % middle != 0)) {
    refuse(fmt::format(
        "pipeline: {} layers{} do not divide evenly over {} stages; set first_stage_layers and "
        "last_stage_layers so that the rest does{}",
        rest, fixed > 0 ? " that are left for the middle" : "", middle,
        stages > 1 ? ends_that_fit(layers, stages) : ""));
  }
  std::vector<int> sizes;
  if (options.first_stage_layers) sizes.push_back(first);
  for (int s = 0; s < middle; ++s) sizes.push_back(static_cast<int>(rest / middle));
  if (options.last_stage_layers) sizes.push_back(last);
  return sizes;
}

// Embedding and loss take the place of a layer each in the first and the last chunk.
std::vector<int> sizes_with_ends(int layers, const MegatronOptions& options) {
  const int more = (options.account_for_embedding ? 1 : 0) + (options.account_for_loss ? 1 : 0);
  const int all = layers + more;
  if (all % options.pipeline != 0) {
    refuse(fmt::format(
        "pipeline: {} layers with {} more for {} do not divide evenly over {} stages; use {}",
        layers, more,
        more == 2                       ? "embedding and loss"
        : options.account_for_embedding ? "the embedding"
                                        : "the loss",
        options.pipeline, nearest_fit(options.pipeline, std::min(all, options.gpus), [&](int n) {
          return all % n == 0 && options.gpus % n == 0;
        })));
  }
  return std::vector<int>(static_cast<std::size_t>(options.pipeline), all / options.pipeline);
}

// Stages of these sizes, in chunks: each round of the pipeline takes one from every stage.
std::vector<PipelineChunk> in_chunks(const std::vector<int>& sizes, int chunks_per_stage) {
  const auto divides = [](int size, int n) { return n == 1 || (size >= n && size % n == 0); };
  const auto fits = [&](int n) {
    return std::all_of(sizes.begin(), sizes.end(), [&](int size) { return divides(size, n); });
  };
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    if (divides(sizes[s], chunks_per_stage)) continue;
    refuse(fmt::format(
        "virtual_pipeline: {} layers of stage {} do not divide evenly into {} chunks; "
        "use {}",
        sizes[s], s, chunks_per_stage,
        nearest_fit(chunks_per_stage, *std::max_element(sizes.begin(), sizes.end()), fits)));
  }
  std::vector<PipelineChunk> chunks;
  for (int round = 0; round < chunks_per_stage; ++round) {
    for (const int size : sizes) chunks.push_back({size / chunks_per_stage, false});
  }
  return chunks;
}

std::vector<PipelineChunk> chunks_of(const ModelSpec& model, const MegatronOptions& options) {
  check_one_way(options);
  const bool hybrid = hybrid_blocks(model).find_first_of("MG") != std::string::npos;
  if (!options.pipeline_layout.empty()) {
    if (hybrid) {
      refuse(
          fmt::format("pipeline_layout: {} mixes kinds of blocks, which Megatron places by "
                      "hybrid_pattern; write its borders there as bars",
                      model.name));
    }
    return read_pipeline_layout(model, options);
  }
  if (!options.hybrid_pattern.empty()) {
    std::vector<PipelineChunk> chunks = read_hybrid_pattern(model, options);
    if (chunks.size() > 1 || options.pipeline == 1) return chunks;
  }
  if (hybrid && options.virtual_pipeline > 1) {
    refuse(
        fmt::format("virtual_pipeline: {} mixes kinds of blocks, which Megatron puts into "
                    "chunks only by hybrid_pattern; write {} chunks with bars between them",
                    model.name, std::int64_t{options.virtual_pipeline} * options.pipeline));
  }
  if (options.virtual_pipeline > 1 && options.pipeline == 1) {
    refuse("virtual_pipeline: one stage has no chunks; use a pipeline of 2 or more");
  }
  if (!options.stage_layers.empty()) {
    return in_chunks(written_sizes(model.layers, options), options.virtual_pipeline);
  }
  if (!options.account_for_embedding && !options.account_for_loss) {
    return in_chunks(shared_sizes(model.layers, options), options.virtual_pipeline);
  }
  std::vector<PipelineChunk> chunks =
      in_chunks(sizes_with_ends(model.layers, options), options.virtual_pipeline);
  if (options.account_for_embedding) --chunks.front().layers;
  if (options.account_for_loss) --chunks.back().layers;
  return chunks;
}

}  // namespace

MegatronStages megatron_stages(const ModelSpec& model, const MegatronOptions& options) {
  for (const auto& [key, degree] :
       {std::pair{"pipeline", options.pipeline}, {"virtual_pipeline", options.virtual_pipeline}}) {
    if (degree < 1) refuse(fmt::format("{}: {} is not a degree; use 1 or more", key, degree));
  }
  MegatronStages stages;
  stages.layers.assign(static_cast<std::size_t>(options.pipeline), 0);
  stages.mtp = stages.final_norm = options.pipeline - 1;
  bool trains_mtp = std::any_of(model.tensors.begin(), model.tensors.end(),
                                [](const TensorSpec& tensor) { return tensor.mtp; });
  int stage = 0;
  for (const PipelineChunk& chunk : chunks_of(model, options)) {
    stages.layers[static_cast<std::size_t>(stage)] += chunk.layers;
    stages.stage_of_layer.insert(stages.stage_of_layer.end(),
                                 static_cast<std::size_t>(chunk.layers), stage);
    if (chunk.mtp) {
      stages.mtp = stage;
      trains_mtp = true;
    }
    stage = (stage + 1) % options.pipeline;
  }
  // A prediction module goes on from the normed output, so the norm stays with the last layer.
  if (trains_mtp && !stages.stage_of_layer.empty()) {
    stages.final_norm = stages.stage_of_layer.back();
  }
  return stages;
}

}  // namespace refit
