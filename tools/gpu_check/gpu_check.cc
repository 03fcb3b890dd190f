// What one GPU can prove about the executor: the kernels' content and speed against a plain device
// copy, every byte of every small scenario on virtual ranks, and NCCL's own life cycle with one
// rank that sends to itself. Exit 0: all bytes right; 1: wrong bytes; 2: wrong arguments; 3: no
// GPU.

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "executor/cuda/box_parts.h"
#include "executor/cuda/device_memory.h"
#include "executor/cuda/execute_cuda.h"
#include "executor/cuda/gpu_environment.h"
#include "executor/cuda/nccl_wire.h"
#include "executor/cuda/pack.h"
#include "executor/run_rank.h"
#include "planner/plan.h"
#include "scenarios/scenario.h"

namespace refit {
namespace {

struct Arguments {
  std::string scenarios;
  std::int64_t bytes = std::int64_t{1} << 30;  // of the kernel rows
  double seconds = 100;                        // after which no further scenario is begun
};

// The largest small scenario with one member of each class needs 63 GB; more would only take
// longer.
constexpr std::int64_t kMostScenarioBytes = std::int64_t{80} << 30;

std::string text(std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// Seconds of one run of `work` in the stream, by events, after one run to warm up.
double device_seconds(const Stream& stream, int runs, const std::function<void()>& work) {
  work();
  Event begin, end;
  begin.record(stream.get());
  for (int i = 0; i < runs; ++i) work();
  end.record(stream.get());
  stream.synchronize();
  return end.seconds_since(begin) / runs;
}

// The left half of the columns of a matrix, packed and unpacked: runs of `run_bytes`.
std::int64_t kernel_row(const Stream& stream, std::int64_t run_bytes, std::int64_t bytes,
                        double copy_bytes_per_s) {
  const std::int64_t elements = run_bytes / 2, rows = bytes / run_bytes;
  const std::vector<std::int64_t> shape{rows, 2 * elements};
  const std::vector<IntervalSet> all{Interval{0, rows}, Interval{0, 2 * elements}};
  const std::vector<IntervalSet> left{Interval{0, rows}, Interval{0, elements}};
  DeviceMemory memory;
  SpaceBuffer matrix(memory, 2 * bytes), dense(memory, bytes);
  memory.fill(matrix.data(), {1, 0, 2, all, shape});
  const StridedBox box = locate(matrix.data(), all, {{0, rows}, {0, elements}}, 2);
  BoxParts parts;
  parts.add({&box, 1}, 0, box.bytes(), dense.data());
  PartTable table;
  table.upload(parts, {}, stream.get());

  const double pack_s = device_seconds(stream, 10, [&] {
    cuda_check(launch_pack(table.first(), 1, parts.tiles, stream.get()), "pack kernel");
  });
  std::int64_t wrong = memory.check(dense.data(), {1, 0, 2, left, shape}).count;

  // Other content, so that what unpacking leaves out shows.
  memory.fill(matrix.data(), {2, 0, 2, all, shape});
  const double unpack_s = device_seconds(stream, 10, [&] {
    cuda_check(launch_unpack(table.first(), 1, parts.tiles, stream.get()), "unpack kernel");
  });
  memory.poison(dense.data(), bytes);
  cuda_check(launch_pack(table.first(), 1, parts.tiles, stream.get()), "pack kernel");
  stream.synchronize();
  wrong += memory.check(dense.data(), {1, 0, 2, left, shape}).count;
  const std::vector<IntervalSet> right{Interval{0, rows}, Interval{elements, 2 * elements}};
  const StridedBox beside = locate(matrix.data(), all, {{0, rows}, {elements, 2 * elements}}, 2);
  const StridedBox whole = contiguous(dense.data(), bytes);
  memory.copy({&beside, 1}, {&whole, 1});
  wrong += memory.check(dense.data(), {2, 0, 2, right, shape}).count;

  const auto rate = [&](double s) { return static_cast<double>(bytes) / s; };
  fmt::print("{:>10} {:>6} {:>12.1f} {:>8.2f} {:>12.1f} {:>8.2f} {:>8}\n", text(run_bytes),
             parts.parts.front().width, rate(pack_s) / 1e9, rate(pack_s) / copy_bytes_per_s,
             rate(unpack_s) / 1e9, rate(unpack_s) / copy_bytes_per_s, wrong);
  return wrong;
}

std::int64_t check_kernels(std::int64_t bytes) {
  Stream stream;
  double copy_s = 0;
  {
    DeviceMemory memory;
    SpaceBuffer from(memory, bytes), to(memory, bytes);
    copy_s = device_seconds(stream, 10, [&] {
      cuda_check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes),
                                 cudaMemcpyDeviceToDevice, stream.get()),
                 "cudaMemcpyAsync");
    });
  }
  const double copy_bytes_per_s = static_cast<double>(bytes) / copy_s;
  fmt::print(
      "\nmeasurement: pack and unpack of {} (GB = 1e9 bytes of content, 10 runs)\n"
      "device copy {:.1f} GB/s\n{:>10} {:>6} {:>12} {:>8} {:>12} {:>8} {:>8}\n",
      text(bytes), copy_bytes_per_s / 1e9, "run", "access", "pack GB/s", "of copy", "unpack GB/s",
      "of copy", "#wrong");
  std::int64_t wrong = 0;
  for (const std::int64_t run : {1 << 20, 16384, 1024, 128, 16, 2})
    wrong += kernel_row(stream, run, bytes, copy_bytes_per_s);
  return wrong;
}

// All shards of all ranks, and as much again of the larger side for what is handed on.
std::int64_t bytes_needed(const Refit& refit) {
  std::int64_t source = 0, destination = 0;
  for (const TensorClass& c : refit.classes) {
    source += c.source.held_elements() * bytes_per_element(c.dtype);
    destination += c.destination.held_elements() * bytes_per_element(c.dtype);
  }
  return source + destination + std::max(source, destination);
}

Layout with_members(const Layout& layout, std::int64_t members) {
  std::vector<std::int64_t> shape = layout.shape();
  shape.front() = members;
  return Layout(std::move(shape), layout.mesh(), layout.placements());
}

// The same refit of a shallower model, 1 / `divisor` of every class's members and at least one:
// every shard shape, rank and message stays, there are fewer of them.
Refit shallower(Refit refit, std::size_t divisor) {
  for (TensorClass& c : refit.classes) {
    c.members.resize(std::max<std::size_t>(1, c.members.size() / divisor));
    const auto members = static_cast<std::int64_t>(c.members.size());
    c.source = with_members(c.source, members);
    c.destination = with_members(c.destination, members);
  }
  return refit;
}

std::int64_t check_scenario(const std::string& path, double end_s) {
  const Scenario scenario = load_scenario(path);
  const std::string name = std::filesystem::path(path).stem().string();
  std::size_t free = 0, total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const std::int64_t room = std::min(static_cast<std::int64_t>(free / 2), kMostScenarioBytes);
  std::size_t divisor = 1;
  Refit refit = scenario.refit;
  while (bytes_needed(refit) > room && divisor < 1024)
    refit = shallower(scenario.refit, divisor *= 2);
  if (bytes_needed(refit) > room) {
    fmt::print("{:<28} not run: one member of each class needs about {}, there is room for {}\n",
               name, text(bytes_needed(refit)), text(room));
    return 0;
  }
  std::vector<Policy> policies;
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"})
    policies.push_back(named_policy(strategy));
  if (scenario.policy) policies.push_back(*scenario.policy);
  std::int64_t wrong = 0;
  for (const Policy& policy : policies) {
    if (steady_clock_s() > end_s) {
      fmt::print("{:<28} {:<18} not run: the time is up\n", name, policy.name);
      continue;
    }
    const Schedule schedule = plan(refit, scenario.cluster, policy, scenario.plan);
    CudaOptions options;
    options.run.iterations = 2;
    options.run.warmup = 0;
    options.run.moves.piece_bytes = 16 << 20;
    const Measurement m = execute_cuda_local(schedule, refit, scenario.cluster, options);
    fmt::print("{:<28} {:<18} {:>5} {:>8} {:>10} {:>11.3f} {:>7}\n", name, policy.name, m.ranks,
               divisor == 1 ? "all" : fmt::format("1/{}", divisor), text(refit.payload_bytes()),
               m.median_s() * 1e3, m.wrong_bytes);
    for (const WrongByte& example : m.wrong_examples) {
      fmt::print("  wrong: rank {}, {}, element {}\n", example.rank.value, example.tensor,
                 example.element);
    }
    wrong += m.wrong_bytes;
  }
  return wrong;
}

std::int64_t check_scenarios(const Arguments& arguments) {
  const double end_s = steady_clock_s() + arguments.seconds;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(arguments.scenarios)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  fmt::print(
      "\nmeasurement: virtual ranks on one GPU, device copies instead of a network\n"
      "{:<28} {:<18} {:>5} {:>8} {:>10} {:>11} {:>7}\n",
      "scenario", "strategy", "ranks", "tensors", "payload", "median ms", "#wrong");
  std::int64_t wrong = 0;
  for (const std::string& path : paths) wrong += check_scenario(path, end_s);
  return wrong;
}

std::int64_t check_nccl(std::int64_t bytes) {
  const double begin_s = steady_clock_s();
  NcclWire wire(Rank(0), {Rank(0)}, 2, NcclWire::make_id());
  const double init_s = steady_clock_s() - begin_s;
  DeviceMemory memory;
  Stream stream;
  SpaceBuffer from(memory, bytes), to(memory, bytes);
  const std::vector<IntervalSet> sides{Interval{0, bytes}};
  const std::vector<std::int64_t> shape{bytes};
  const ShardContent content{3, 0, 1, sides, shape};
  memory.fill(from.data(), content);
  memory.poison(to.data(), bytes);
  const WirePart out{Rank(0), from.data(), bytes}, in{Rank(0), to.data(), bytes};
  const double s = device_seconds(stream, 10, [&] {
    wire.exchange(0, {&out, 1}, {&in, 1}, stream.get());
  });
  wire.exchange(1, {&out, 1}, {&in, 1}, stream.get());
  stream.synchronize();
  const std::int64_t wrong = memory.check(to.data(), content).count;
  fmt::print(
      "\nmeasurement: NCCL {}, 1 rank, 2 lanes, send to itself of {}\n"
      "set-up {:.1f} ms, {:.1f} GB/s, #wrong {}\n",
      nccl_version(), text(bytes), init_s * 1e3, static_cast<double>(bytes) / s / 1e9, wrong);
  return wrong;
}

std::int64_t number(const std::string& value) {
  std::int64_t result = 0;
  const auto end = value.data() + value.size();
  if (std::from_chars(value.data(), end, result).ptr != end || result < (1 << 20)) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: not a number of bytes; write at least 1048576", value));
  }
  return result / (1 << 20) * (1 << 20);
}

int run(const std::vector<std::string>& words) {
  if (words.empty() || words.size() > 2) {
    throw Error(ErrorCode::bad_input, "usage: refit_gpu_check FOLDER_OF_SCENARIOS [BYTES]");
  }
  Arguments arguments;
  arguments.scenarios = words[0];
  if (words.size() > 1) arguments.bytes = number(words[1]);
  count_gpus();
  if (!std::filesystem::is_directory(arguments.scenarios)) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no such folder; give scenarios/small", arguments.scenarios));
  }
  for (const auto& [key, value] : gpu_facts(0)) fmt::print("{}: {}\n", key, value);
  std::int64_t wrong = check_kernels(arguments.bytes);
  wrong += check_nccl(arguments.bytes);
  wrong += check_scenarios(arguments);
  fmt::print("\n#wrong in all: {}\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace refit

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a run that is cut off shows how far it came
  try {
    return refit::run({argv + 1, argv + argc});
  } catch (const refit::Error& error) {
    fmt::print(stderr, "refit_gpu_check: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "refit_gpu_check: {}\n", error.what());
    return 3;
  }
}
