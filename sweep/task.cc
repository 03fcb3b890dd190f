#include "sweep/task.h"

#include <charconv>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

constexpr int kMostTasks = 1'000'000;

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

// An array may begin anywhere and count in steps, but who does not know all its numbers can't say
// which part is whose.
SweepTask array_task(const GetVariable& get) {
  const char* id = get("SLURM_ARRAY_TASK_ID");
  if (id == nullptr) return {};
  const auto number = [&](const char* name, int otherwise, int least) {
    const char* value = get(name);
    return value == nullptr ? otherwise
                            : variable_number(name, value, least, std::numeric_limits<int>::max());
  };
  const int task = number("SLURM_ARRAY_TASK_ID", 0, 0);
  const int count = number("SLURM_ARRAY_TASK_COUNT", 0, 1);
  const int first = number("SLURM_ARRAY_TASK_MIN", 0, 0);
  const int last = number("SLURM_ARRAY_TASK_MAX", first + count - 1, first);
  const int step = number("SLURM_ARRAY_TASK_STEP", 1, 1);
  const bool fits = count >= 1 && count <= kMostTasks && task >= first && task <= last &&
                    (task - first) % step == 0 && (last - first) / step + 1 == count;
  if (!fits) {
    bad(
        fmt::format("environment: SLURM_ARRAY_TASK_ID={} is not one of {} numbers without gaps; "
                    "submit --array=1-N, or say --task K/N",
                    task, count));
  }
  return {(task - first) / step, count, "Slurm array"};
}

}  // namespace

SweepTask parse_task(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number = [&](std::size_t begin, std::size_t end) {
    int value = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    return error == std::errc() && stop == text.data() + end ? value : 0;
  };
  if (slash != std::string::npos) {
    const int task = number(0, slash), count = number(slash + 1, text.size());
    if (task >= 1 && task <= count && count <= kMostTasks) return {task - 1, count, "--task"};
  }
  bad(fmt::format("--task: '{}' is no part of a whole; write 1/8 to 8/8", text));
}

SweepTask environment_task(const GetVariable& get) {
  const SweepTask array = array_task(get);
  const std::optional<Launched> process = launched(get);
  if (!process || process->ranks == 1) return array;
  const std::string_view name = process->launcher->name;
  return {
      array.index * process->ranks + process->rank, array.count * process->ranks,
      array.said_by.empty() ? std::string(name) : fmt::format("{} and {}", array.said_by, name)};
}

std::string part_path(const std::string& path, const SweepTask& task) {
  if (task.count == 1) return path;
  const std::filesystem::path whole(path);
  const std::string name = fmt::format("{}.{}-of-{}{}", whole.stem().string(), task.index + 1,
                                       task.count, whole.extension().string());
  return (whole.parent_path() / name).string();
}

}  // namespace refit
