#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/imported.h"
#include "scenarios/import/shell_words.h"

namespace refit {

// Flags of Megatron-LM, in a file, a command line or a launch script: one side. With the flags of
// slime or miles (`--actor-num-nodes`, `--rollout-num-gpus-per-engine`, `--sglang-…`) both sides.
// The model is the one of the catalog with these numbers, or asked for. `source` reads scripts that
// this one reads. Error(bad_input) names the line and the flag.
Imported read_megatron_args(std::string_view text, const std::string& file,
                            const ImportAnswers& answers, const SourcedText& source = {});

// The same of a file, with the scripts beside it that it reads.
Imported load_megatron_args(const std::string& text, const std::string& file,
                            const ImportAnswers& answers);

// "[0]*3+[1]*58", "([0]*3+[1]*58)", "[0,1,1]" or "2" (every second layer): whether each of `layers`
// decoder layers has experts. Error(bad_input) if it is neither, or of another length.
std::vector<bool> read_moe_layer_freq(const std::string& text, int layers);

}  // namespace refit
