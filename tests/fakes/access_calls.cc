#include <cstring>

#include "tests/fakes/kernel_accesses.h"

// What the compiler calls, under -fsanitize=thread, before every access of what it compiles.
// Nothing else of that sanitizer is here: its own library is not linked.
using refit::fake::AccessKind;

namespace {

inline void before_access(const void* at, std::size_t bytes, AccessKind kind,
                          std::size_t alignment) {
  const refit::fake::FamiliarRanges* const familiar = refit::fake::familiar_ranges;
  if (familiar != nullptr && !familiar->hold(at, bytes, kind, alignment))
    refit::fake::kernel_access(at, bytes, kind, alignment);
}

}  // namespace

#define REFIT_ACCESSES_OF(bytes)                                                                 \
  void __tsan_read##bytes(void* at) { before_access(at, bytes, AccessKind::read, bytes); }       \
  void __tsan_write##bytes(void* at) { before_access(at, bytes, AccessKind::write, bytes); }     \
  void __tsan_unaligned_read##bytes(void* at) { before_access(at, bytes, AccessKind::read, 1); } \
  void __tsan_unaligned_write##bytes(void* at) { before_access(at, bytes, AccessKind::write, 1); }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
REFIT_ACCESSES_OF(1)
REFIT_ACCESSES_OF(2)
REFIT_ACCESSES_OF(4)
REFIT_ACCESSES_OF(8)
REFIT_ACCESSES_OF(16)
void __tsan_read_range(void* at, std::size_t bytes) {
  before_access(at, bytes, AccessKind::read, 1);
}
void __tsan_write_range(void* at, std::size_t bytes) {
  before_access(at, bytes, AccessKind::write, 1);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  before_access(from, bytes, AccessKind::read, 1);
  before_access(to, bytes, AccessKind::write, 1);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  before_access(to, bytes, AccessKind::write, 1);
  return std::memset(to, value, bytes);
}
}
