#include "models/detail/generation_engine.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/error.h"
#include "models/nearest_fit.h"

namespace refit::detail {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

// Added once after the sum over ranks, so only the first of them has it; the others have zeros.
bool is_bias_after_sum(const TensorSpec& tensor) {
  return on_expert_grid(tensor) && tensor.part == "down" && tensor.dims.size() == 2;
}

// What every rank of two grids holds, whichever of the two it is in: no rank may be in both. Both
// cut at most dim 1, the vocabulary.
Layout held_by_both(const Layout& a, const Layout& b) {
  std::vector<Rank> ranks;
  std::vector<IntervalSet> pieces;
  for (const Layout* layout : {&a, &b}) {
    const std::vector<Rank> more = layout->mesh().ranks();
    for (std::size_t i = 0; i < more.size(); ++i) {
      ranks.push_back(more[i]);
      pieces.push_back(layout->shard(static_cast<int>(i))[1]);
    }
  }
  const auto size = static_cast<int>(ranks.size());
  return Layout(a.shape(), Mesh(std::move(ranks), {{"rank", size, 1}}),
                {shard(1, Split::table(std::move(pieces)))});
}

bool fits_heads(const ModelSpec& model, int ranks) {
  const HeadGroups& heads = model.heads;
  const LinearHeads& linear = model.linear_heads;
  return heads.q_heads % ranks == 0 && linear.heads % ranks == 0 && linear.key_heads % ranks == 0 &&
         (linear.mamba_groups <= 1 || linear.mamba_groups % ranks == 0) &&
         (heads.kv_heads == 0 || heads.kv_heads % ranks == 0 || ranks % heads.kv_heads == 0);
}

}  // namespace

std::vector<int> stage_layers(int layers, int stages, const std::vector<int>& written,
                              const EngineRules& rules) {
  if (written.empty()) return stage_sizes(layers, stages, rules.remainder);
  for (const int size : written) {
    if (size < 0) {
      refuse(fmt::format("pipeline_partition: {} is no number of layers; use 0 or more", size));
    }
  }
  const std::int64_t sum = std::accumulate(written.begin(), written.end(), std::int64_t{0});
  if (static_cast<int>(written.size()) != stages || sum != layers) {
    refuse(fmt::format(
        "pipeline_partition: {} stages with {} layers are written out, but pipeline is {} and the "
        "model has {} layers",
        written.size(), sum, stages, layers));
  }
  return written;
}

std::int64_t product_of(std::initializer_list<std::pair<const char*, int>> degrees) {
  std::int64_t product = 1;
  for (const auto& [key, degree] : degrees) {
    if (degree < 1) refuse(fmt::format("{}: {} is not a degree; use 1 or more", key, degree));
    // No side is nearly so large; a product of many degrees must not overflow.
    product = std::min(product * degree, std::int64_t{1} << 32);
  }
  return product;
}

int engines_in(int gpus, std::int64_t engine, const char* keys) {
  if (gpus % engine == 0) return static_cast<int>(gpus / engine);
  const auto least = static_cast<int>(std::min<std::int64_t>(engine, std::int64_t{gpus} + 1));
  refuse(fmt::format("{}: an engine of {} ranks does not divide {} ranks; use {}", keys, engine,
                     gpus, nearest_fit(least, gpus, [&](int n) { return gpus % n == 0; })));
}

GenerationEngine::GenerationEngine(const ModelSpec& model, GenerationSpec spec)
    : spec_(std::move(spec)),
      rules_{model.heads, model.linear_heads, spec_.rules.vocab_multiple, spec_.mxfp4_experts},
      head_is_embedding_(model.tied_embeddings) {
  last_stage_embeds_ =
      model.tied_embeddings || std::any_of(model.tensors.begin(), model.tensors.end(),
                                           [](const TensorSpec& tensor) { return tensor.mtp; });
  if (spec_.mxfp4_experts &&
      std::none_of(model.tensors.begin(), model.tensors.end(), is_transposed_expert)) {
    refuse(fmt::format(
        "mxfp4_experts: the experts of {} are cut alike with and without; leave this out",
        model.name));
  }
  for (std::size_t s = 0; s < spec_.stage_layers.size(); ++s) {
    stage_of_layer_.insert(stage_of_layer_.end(), static_cast<std::size_t>(spec_.stage_layers[s]),
                           static_cast<int>(s));
  }
}

int GenerationEngine::stage_of(const TensorSpec& tensor) const {
  const int last = stages() - 1;
  if (tensor.mtp) return last;
  if (tensor.layer) return stage_of_layer_.at(static_cast<std::size_t>(*tensor.layer));
  return tensor.role == Role::embedding ? 0 : last;
}

int GenerationEngine::layout_key(const TensorSpec& tensor) const {
  return experts() ? experts()->key(tensor) : 0;
}

Layout GenerationEngine::layout(const TensorSpec& tensor, int stage, int members) const {
  const Layout here = on_grid(tensor, grid(tensor, stage), members);
  const int last = stages() - 1;
  if (tensor.role != Role::embedding || !last_stage_embeds_ || last == 0) return here;
  const Grid there = head_is_embedding_ ? head_grid(tensor, last) : grid(tensor, last);
  return held_by_both(here, on_grid(tensor, there, members));
}

Layout GenerationEngine::on_grid(const TensorSpec& tensor, const Grid& grid, int members) const {
  const std::vector<MeshAxis>& axes = grid.mesh.axes();
  std::vector<std::int64_t> shape{members};
  std::vector<Placement> placements(axes.size());
  const auto tensor_axis = static_cast<std::size_t>(grid.tensor_axis);
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    const TensorDim& dim = tensor.dims[d];
    shape.push_back(dim.size);
    const int at = static_cast<int>(d) + 1;
    if (dim.axis == Axis::none) continue;
    if (dim.axis == Axis::expert) {
      if (grid.expert_axis >= 0) {
        placements[static_cast<std::size_t>(grid.expert_axis)] =
            shard(at, experts()->split(tensor));
      }
    } else if (grid.tensor_axis >= 0) {
      const int ranks = axes[tensor_axis].size;
      try {
        Split split = rules_.split(tensor, dim, ranks);
        split.piece(dim.size, ranks, 0);
        placements[tensor_axis] = shard(at, std::move(split));
      } catch (const Error&) {
        refuse_cut(tensor, dim, grid);
      }
    }
  }
  if (is_bias_after_sum(tensor) && grid.tensor_axis >= 0) {
    std::vector<IntervalSet> pieces(static_cast<std::size_t>(axes[tensor_axis].size));
    pieces.front() = Interval{0, tensor.dims[1].size};
    placements[tensor_axis] = shard(2, Split::table(std::move(pieces)));
  }
  return Layout(std::move(shape), grid.mesh, std::move(placements));
}

void GenerationEngine::refuse_cut(const TensorSpec& tensor, const TensorDim& dim,
                                  const Grid& grid) const {
  const int ranks = grid.mesh.axes()[static_cast<std::size_t>(grid.tensor_axis)].size;
  const auto fits = [&](int n) {
    try {
      rules_.split(tensor, dim, n).piece(dim.size, n, 0);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const std::string rows =
      dim.axis == Axis::vocab
          ? fmt::format("{} rows padded to {}", dim.size, rules_.padded_vocabulary(dim.size))
      : dim.blocks.empty() ? fmt::format("{} rows", dim.size)
                           : fmt::format("rows in blocks of {}", fmt::join(dim.blocks, ", "));
  const auto most = static_cast<int>(std::min<std::int64_t>(dim.size, 4 * std::int64_t{ranks}));
  refuse(fmt::format("{}: {}: {} do not divide evenly into {}; use {}", grid.keys, tensor.name,
                     rows, ranks, nearest_fit(ranks, most, fits)));
}

void GenerationEngine::check_attention(const ModelSpec& model, int ranks, const char* keys) {
  if (fits_heads(model, ranks)) return;
  const HeadGroups& heads = model.heads;
  const LinearHeads& linear = model.linear_heads;
  const auto refuse_count = [&](int count, const char* what) {
    if (count % ranks == 0) return;
    refuse(fmt::format("{}: {} does not divide {} {}; use {}", keys, ranks, count, what,
                       nearest_fit(ranks, 4 * ranks, [&](int n) { return fits_heads(model, n); })));
  };
  refuse_count(heads.q_heads, "attention heads");
  refuse_count(linear.heads, "heads of linear attention");
  refuse_count(linear.key_heads, "key heads of linear attention");
  if (linear.mamba_groups > 1) refuse_count(linear.mamba_groups, "groups of Mamba heads");
  refuse(fmt::format("{}: {} is neither a divisor nor a multiple of {} key/value heads; use {}",
                     keys, ranks, heads.kv_heads,
                     nearest_fit(ranks, 4 * ranks, [&](int n) { return fits_heads(model, n); })));
}

}  // namespace refit::detail
