#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime.h>

// Stand-ins for the CUDA runtime and NCCL's point-to-point calls on host memory, linked instead of
// the libraries so that our own code runs without a GPU: its order of calls, its offsets, its
// events. They say nothing about CUDA, NCCL or any time.
//
// A stream is a thread with a queue, device memory is host memory with guards, an NCCL communicator
// is a TCP connection per pair of ranks, which are threads or processes (fake_club.h). Strict where
// the real ones are lenient or would hang:
//   - a group of a non-blocking communicator enters its stream only when the caller polls;
//   - sends wait for their receive, in order per pair; unequal sizes are faults, and so is a send
//     to oneself without a receive;
//   - a communicator that has met an error shrinks only after it was revoked;
//   - copies must stay inside one allocation; so must a kernel's accesses where they are seen, and
//     be aligned (emulated_grid.h);
//   - new memory holds 0xcd and freed memory 0xdd.
namespace refit::fake {

// 0: no driver. 64 at the start.
void set_devices(int count);

// What was wrong since the last call, in words.
std::vector<std::string> take_faults();
void note_fault(const std::string& words);
// From now on a fault ends the process: for ranks whose faults nobody takes.
void end_with_faults();

// Flips a bit in the middle of the n-th message of two or more bytes from now (0: the next; those
// of one byte may carry nothing), between virtual ranks or over NCCL.
void corrupt_message(int n);

// SIGKILL or SIGSTOP for the process that is this rank of a communicator, once it has received so
// many messages. Counted in each process.
void strike_rank(int rank, int signal, int messages);

// While on, ncclCommShrink fails on every rank, as the real one may after a real loss.
void refuse_shrinks(bool on);

// Allocations of device and pinned memory, streams, events and communicators that are not released.
int live_objects();

// For kernels (emulated_grid.h): runs in the stream's order.
void enqueue(cudaStream_t stream, std::function<void()> work);
// Notes a fault unless [at, at + bytes) lies in one allocation.
bool check_access(const void* at, std::size_t bytes, const char* who);
// The allocation that an address is in, or nothing.
std::span<const std::byte> allocation_of(const void* at);

// Between the two sources of the stand-ins.
void count_object(int change);
void pass_message(void* to, const void* from, std::size_t bytes);
void arrived(void* to, std::size_t bytes);
void count_message(int receiver);

}  // namespace refit::fake
