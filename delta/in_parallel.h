#pragma once

#include <cstddef>
#include <functional>

namespace refit {

// Calls work(i) for every i below `count` from `threads` threads, the smaller i first. Threads and
// not processes: the work's results are megabytes in memory that all share. The exception of the
// smallest failing i is thrown here, after all threads have stopped.
void in_parallel(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace refit
