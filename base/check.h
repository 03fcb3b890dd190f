#pragma once

namespace refit::detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

// An invariant of ours that does not hold is a bug: say which and stop. On in every build type.
#define REFIT_CHECK(condition) \
  ((condition) ? void(0) : ::refit::detail::check_failed(#condition, __FILE_NAME__, __LINE__))
