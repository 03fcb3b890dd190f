#include "tests/fakes/kernel_accesses.h"

#include <link.h>

#include "tests/fakes/emulated_grid.h"
#include "tests/fakes/fake_cuda_nccl.h"

namespace refit::fake {
namespace {

// The thread-local variables of the program, shared memory of kernels among them.
ByteRange thread_locals() {
  ByteRange range;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* result) {
        for (int i = 0; i < program->dlpi_phnum; ++i) {
          if (program->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<ByteRange*>(result) =
                range_of(program->dlpi_tls_data, program->dlpi_phdr[i].p_memsz);
        }
        return 1;  // the program itself comes first
      },
      &range);
  return range;
}

}  // namespace

KernelAccesses::KernelAccesses(ByteRange arguments, ByteRange stacks, bool watches_races)
    : familiar_{stacks, arguments, {}, {}},
      thread_locals_(thread_locals()),
      indices_(range_of(&thread_indices, sizeof thread_indices)),
      watches_races_(watches_races) {
  if (!watches_races) familiar_.thread_locals = thread_locals_;
}

std::optional<std::string_view> KernelAccesses::refusal(const void* address, std::size_t bytes,
                                                        AccessKind kind, std::size_t alignment) {
  if (familiar_.hold(address, bytes, kind, alignment)) return {};
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (indices_.holds(at, bytes)) return {};
  if (thread_locals_.holds(at, bytes)) {
    watch(shared_races_, at, bytes, kind, true);
    return {};
  }
  const auto allocation = allocation_of(address);
  const ByteRange range = range_of(allocation.data(), allocation.size());
  if (!range.holds(at, bytes)) return "touches memory outside every allocation";
  if (at % alignment != 0) return "has a misaligned access";
  if (watches_races_) {
    watch(races_, at, bytes, kind, false);
  } else {
    // It stays: nothing is freed while a kernel of its device runs.
    familiar_.allocations[next_familiar_++ % familiar_.allocations.size()] = range;
  }
  return {};
}

void KernelAccesses::watch(RaceWatch& races, std::uintptr_t at, std::size_t bytes, AccessKind kind,
                           bool is_shared) {
  for (std::uintptr_t byte = at; byte < at + bytes; ++byte) {
    const char* words = nullptr;
    if (is_shared && kind == AccessKind::read && !races.is_written(byte))
      words = "a kernel reads shared memory that its block has not written";
    if (races.touch(byte, kind, place_))
      words = "two threads of a kernel touch a byte with no barrier and no atomic between them";
    if (words == nullptr || has_told_) continue;
    note_fault(words);
    has_told_ = true;
  }
}

}  // namespace refit::fake
