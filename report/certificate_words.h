#pragma once

#include <string>

#include "sim/certificate.h"

namespace refit {

// "wire-only 845.15 ms = 1.003 x bound; chunk 1.26 MB, relays 4 deep, 0.2 ms to fill; plan 5f0c…"
std::string certificate_words(const Certificate& certificate);

}  // namespace refit
