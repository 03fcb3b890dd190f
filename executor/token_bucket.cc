#include "executor/token_bucket.h"

#include <algorithm>

#include "base/check.h"

namespace refit {

// A burst holds one byte at least, or nothing would ever pass.
TokenBucket::TokenBucket(double bytes_per_s, double now_s, double burst_s)
    : bytes_per_s_(bytes_per_s),
      burst_bytes_(std::max(1.0, bytes_per_s * burst_s)),
      tokens_(burst_bytes_),
      filled_at_s_(now_s) {
  REFIT_CHECK(bytes_per_s > 0);
}

std::int64_t TokenBucket::available(double now_s) {
  if (now_s > filled_at_s_) {
    tokens_ = std::min(burst_bytes_, tokens_ + (now_s - filled_at_s_) * bytes_per_s_);
    filled_at_s_ = now_s;
  }
  return static_cast<std::int64_t>(tokens_);
}

void TokenBucket::take(std::int64_t bytes) {
  tokens_ -= static_cast<double>(bytes);
  REFIT_CHECK(tokens_ >= 0);
}

double TokenBucket::ready_at_s(std::int64_t bytes) const {
  const double missing = std::min(static_cast<double>(bytes), burst_bytes_) - tokens_;
  return filled_at_s_ + std::max(0.0, missing) / bytes_per_s_;
}

}  // namespace refit
