#include "models/coding.h"

namespace refit {

std::string_view to_string(CodingPlace place) { return place == CodingPlace::gpu ? "gpu" : "host"; }

}  // namespace refit
