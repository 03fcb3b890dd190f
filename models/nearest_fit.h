#pragma once

#include <functional>
#include <string>

namespace refit {

// The settings nearest to a wrong one that `fits`, from 1 to `most`, as a message names them:
// "4 or 16", or "8" if only one side has any, or "none" if nothing fits.
std::string nearest_fit(int wrong, int most, const std::function<bool(int)>& fits);

}  // namespace refit
