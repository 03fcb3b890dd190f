#include "models/detail/training_ranks.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "models/engine_rules.h"
#include "models/nearest_fit.h"

namespace refit::detail {

void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

int dividing_product(std::initializer_list<NamedDegree> degrees, int ranks, const char* of_what) {
  std::int64_t product = 1;
  std::vector<std::string> keys;
  for (const NamedDegree& degree : degrees) {
    if (degree.size < 1)
      refuse(fmt::format("{}: {} is not a degree; use 1 or more", degree.key, degree.size));
    // What is too large already is not multiplied on, where it could overflow.
    if (product <= ranks) product *= degree.size;
    keys.emplace_back(degree.key);
  }
  if (product <= ranks && ranks % product == 0) return static_cast<int>(product);
  const int wrong = static_cast<int>(std::min<std::int64_t>(product, ranks + std::int64_t{1}));
  const std::string nearest = nearest_fit(wrong, ranks, [&](int n) { return ranks % n == 0; });
  refuse(fmt::format("{}: {}{} ranks do not divide the {} {}; use {}", fmt::join(keys, " x "),
                     product > ranks ? "at least " : "", product, ranks, of_what, nearest));
}

void check_whole_experts(const ModelSpec& model, int expert) {
  if (model.experts == 0 || model.experts % expert == 0) return;
  refuse(fmt::format(
      "expert: {} does not divide {} experts, and each rank holds equally many; use {}", expert,
      model.experts,
      nearest_fit(expert, model.experts, [&](int n) { return model.experts % n == 0; })));
}

StagedSide::StagedSide(int gpus, std::vector<int> stage_layers)
    : gpus_(gpus), stage_layers_(std::move(stage_layers)) {
  for (std::size_t s = 0; s < stage_layers_.size(); ++s) {
    stage_of_layer_.insert(stage_of_layer_.end(), static_cast<std::size_t>(stage_layers_[s]),
                           static_cast<int>(s));
  }
}

int StagedSide::stage_of(const TensorSpec& tensor) const {
  if (!tensor.mtp && tensor.layer)
    return stage_of_layer_.at(static_cast<std::size_t>(*tensor.layer));
  return !tensor.mtp && tensor.role == Role::embedding ? 0 : stages() - 1;
}

std::vector<int> written_stages_or_even(const ModelSpec& model, int pipeline,
                                        const std::vector<int>& written) {
  if (written.empty()) return stage_sizes(model.layers, pipeline, StageRemainder::first);
  const auto sum = std::accumulate(written.begin(), written.end(), std::int64_t{0});
  const auto stages = static_cast<std::int64_t>(written.size());
  if (stages != pipeline || sum != model.layers) {
    refuse(
        fmt::format("stage_layers: {} stages with {} layers are written out, but pipeline is {} "
                    "and the model has {} layers",
                    stages, sum, pipeline, model.layers));
  }
  for (const int layers : written) {
    if (layers < 0)
      refuse(fmt::format("stage_layers: {} is no number of layers; use 0 or more", layers));
  }
  return written;
}

}  // namespace refit::detail
