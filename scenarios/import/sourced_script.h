#pragma once

#include <string>
#include <vector>

#include "scenarios/import/shell_words.h"

namespace refit {

// Text of a script beside the file `from`: "x.sh", or what stands behind the folder that a script
// finds itself in, as in ${SCRIPT_DIR}/models/x.sh. What is not found is added to `missing`.
SourcedText sourced_beside(const std::string& from, std::vector<std::string>& missing);

}  // namespace refit
