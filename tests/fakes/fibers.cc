// A jump from one stack to another is what glibc's fortified longjmp takes for a mistake.
#undef _FORTIFY_SOURCE

#include "tests/fakes/fibers.h"

#include <cstdint>
#include <new>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define REFIT_TELL_SANITIZER(...) __VA_ARGS__
#else
#define REFIT_TELL_SANITIZER(...)
#endif

namespace refit::fake {

Fibers::Fibers() : fibers_(kMost) {
  void* memory = mmap(nullptr, kMost * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<std::byte*>(memory);
}

Fibers::~Fibers() { munmap(stacks_, kMost * kStackBytes); }

void Fibers::begin(Work work, const void* context) {
  work_ = work;
  context_ = context;
  for (Fiber& fiber : fibers_) {
    if (fiber.has_paused) fiber = {};
  }
}

// swapcontext would do, but asks the kernel for the signal mask each time; so it is used once per
// stack, and a jump afterwards.
bool Fibers::run(int i) {
  running_ = i;
  Fiber& fiber = fibers_[static_cast<std::size_t>(i)];
  fiber.has_paused = false;
  REFIT_TELL_SANITIZER(void* own_stack = nullptr;
                       __sanitizer_start_switch_fiber(&own_stack, stack_of(i), kStackBytes));
  if (_setjmp(caller_) == 0) {
    if (fiber.is_made) std::longjmp(fiber.at, 1);
    fiber.is_made = true;
    start(i);
  }
  REFIT_TELL_SANITIZER(__sanitizer_finish_switch_fiber(own_stack, nullptr, nullptr));
  return !fibers_[static_cast<std::size_t>(running_)].has_paused;
}

void Fibers::start(int i) {
  REFIT_TELL_SANITIZER(__asan_unpoison_memory_region(stack_of(i), kStackBytes));
  ucontext_t& context = beginning_;
  getcontext(&context);
  context.uc_stack.ss_sp = stack_of(i);
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);  // arguments are ints
  makecontext(&context, reinterpret_cast<void (*)()>(&Fibers::main), 2,
              static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
  setcontext(&context);
  __builtin_unreachable();
}

void Fibers::main(unsigned high, unsigned low) {
  auto* self =
      reinterpret_cast<Fibers*>(static_cast<std::uintptr_t>(high) << 32 | std::uintptr_t{low});
  self->arrived_in_fiber();
  while (true) {
    self->work_(self->context_);
    self->leave();
  }
}

void Fibers::pause() {
  fibers_[static_cast<std::size_t>(running_)].has_paused = true;
  leave();
}

void Fibers::leave() {
  Fiber& fiber = fibers_[static_cast<std::size_t>(running_)];
  REFIT_TELL_SANITIZER(
      __sanitizer_start_switch_fiber(&fiber.sanitizer_stack, caller_stack_, caller_stack_bytes_));
  if (_setjmp(fiber.at) == 0) std::longjmp(caller_, 1);
  arrived_in_fiber();
}

void Fibers::arrived_in_fiber() {
  REFIT_TELL_SANITIZER(
      __sanitizer_finish_switch_fiber(fibers_[static_cast<std::size_t>(running_)].sanitizer_stack,
                                      &caller_stack_, &caller_stack_bytes_));
}

}  // namespace refit::fake
