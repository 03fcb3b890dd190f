#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

// Where the layers go that do not divide over the pipeline stages.
enum class StageRemainder {
  before_last,  // one each to the second-to-last stage, the third-to-last, …
  last,         // one each to the last stages
  first,        // one each to the first stages
  last_stage,   // all of them to the last stage
};

enum class EmbeddingCut { tensor, attention, tensor_unless_split };

// What differs between the releases of a generation engine: data (models/engines/*.yaml), since
// engines change faster than programs that must know their layouts.
struct EngineRules {
  std::string version;
  std::int64_t vocab_multiple = 1;
  StageRemainder remainder = StageRemainder::before_last;
  std::vector<std::string> placements;
  EmbeddingCut embedding = EmbeddingCut::tensor;
  std::vector<std::string> all2all_backends;  // the default first
  std::vector<std::string> shared_whole;      // of these backends

  // `backend`, or the default if it is empty. Error(bad_input) if this release has none such.
  std::string all2all(const std::string& backend) const;
  bool shared_experts_whole_with(const std::string& backend) const;
};

// The rules of "0.11" or its patch release "0.11.2"; of the latest known release if `version` is
// empty. Error(bad_input) with the known ones if it is none of them.
EngineRules engine_rules(std::string_view engine, const std::string& version = {});

// `layers` over `stages`. Error(bad_input) if a stage would have none.
std::vector<int> stage_sizes(int layers, int stages, StageRemainder remainder);

}  // namespace refit
