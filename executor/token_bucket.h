#pragma once

#include <cstdint>

namespace refit {

// Keeps a rate where the kernel cannot: bytes may pass while there are tokens, and tokens come in
// at the rate, up to a burst. The caller brings the clock, so that a loop reads it once.
//
//   if (const auto room = bucket.available(now_s)) bucket.take(send(socket, …, min(size, room)));
//   else wait until bucket.ready_at_s(size)
class TokenBucket {
 public:
  // Full at first. The burst is a millisecond of the rate: short enough not to be seen in a
  // transfer's time, long enough to be late by a scheduler tick.
  explicit TokenBucket(double bytes_per_s, double now_s, double burst_s = 1e-3);

  // Whole bytes that may pass now.
  std::int64_t available(double now_s);

  // `bytes` have passed; at most what was available.
  void take(std::int64_t bytes);

  // When this many bytes, or a full bucket if that is less, can pass.
  double ready_at_s(std::int64_t bytes) const;

 private:
  double bytes_per_s_;
  double burst_bytes_;
  double tokens_;
  double filled_at_s_;
};

}  // namespace refit
