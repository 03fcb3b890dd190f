#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace refit::detail {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "refit: internal error in %s:%d: '%s' does not hold; please report it\n",
               file, line, condition);
  std::abort();
}

}  // namespace refit::detail
