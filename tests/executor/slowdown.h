#pragma once

namespace refit::test {

// How much longer anything may take in this build: sanitizers make programs slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlowdown = 10;
#else
constexpr double kSlowdown = 1;
#endif

}  // namespace refit::test
