#include "sweep/task.h"

#include <map>

#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

using Variables = std::map<std::string, std::string>;

SweepTask task(const Variables& variables) {
  return environment_task([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::pair<std::int64_t, std::int64_t> part(const Variables& variables) {
  const SweepTask t = task(variables);
  return {t.index, t.count};
}

TEST_CASE("task: part K of N takes every N-th point", "[sweep]") {
  const SweepTask second = parse_task("2/3");
  CHECK_FALSE(second.takes(0));
  CHECK(second.takes(1));
  CHECK(second.takes(4));
  CHECK(part_path("out/sweep.csv", second) == "out/sweep.2-of-3.csv");
  CHECK(part_path("out/sweep.csv", {}) == "out/sweep.csv");
  for (const std::string bad : {"", "3", "0/3", "4/3", "1/x", "-1/3", "1/3/5"}) {
    CAPTURE(bad);
    CHECK(error_of([&] { parse_task(bad); }) ==
          "--task: '" + bad + "' is no part of a whole; write 1/8 to 8/8");
  }
}

TEST_CASE("task: launchers and arrays say which part, and both together", "[sweep]") {
  CHECK(part({}) == std::pair<std::int64_t, std::int64_t>{0, 1});
  CHECK(part({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "5"}}) ==
        std::pair<std::int64_t, std::int64_t>{2, 5});
  CHECK(part({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}) ==
        std::pair<std::int64_t, std::int64_t>{1, 2});
  const Variables step{
      {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  CHECK(part(step) == std::pair<std::int64_t, std::int64_t>{3, 4});
  // A batch script runs once, however many tasks the job has.
  CHECK(part({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}) ==
        std::pair<std::int64_t, std::int64_t>{0, 1});
  // --array=10-30:10 has tasks 10, 20 and 30.
  Variables array{{"SLURM_ARRAY_TASK_ID", "20"},
                  {"SLURM_ARRAY_TASK_COUNT", "3"},
                  {"SLURM_ARRAY_TASK_MIN", "10"},
                  {"SLURM_ARRAY_TASK_MAX", "30"},
                  {"SLURM_ARRAY_TASK_STEP", "10"}};
  CHECK(part(array) == std::pair<std::int64_t, std::int64_t>{1, 3});
  array.insert(step.begin(), step.end());
  CHECK(part(array) == std::pair<std::int64_t, std::int64_t>{1 * 4 + 3, 12});
  CHECK(task(array).said_by == "Slurm array and Slurm");
}

TEST_CASE("task: variables that do not fit are refused", "[sweep]") {
  CHECK(error_of([] {
          task({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}});
        }) == "environment: PMI_RANK=2 is no number from 0 to 1");
  CHECK(error_of([] {
          task({{"PMI_RANK", "2"}});
        }) == "environment: PMI_RANK is set and PMI_SIZE is not");
  // --array=1,2,9
  CHECK(error_of([] {
          task({{"SLURM_ARRAY_TASK_ID", "2"},
                {"SLURM_ARRAY_TASK_COUNT", "3"},
                {"SLURM_ARRAY_TASK_MIN", "1"},
                {"SLURM_ARRAY_TASK_MAX", "9"},
                {"SLURM_ARRAY_TASK_STEP", "1"}});
        }) ==
        "environment: SLURM_ARRAY_TASK_ID=2 is not one of 3 numbers without gaps; submit "
        "--array=1-N, or say --task K/N");
}

}  // namespace
}  // namespace refit::test
