#include "sweep/run_sweep.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/workers.h"
#include "sweep/detail/row_file.h"
#include "sweep/evaluate.h"
#include "sweep/sweep_csv.h"

namespace refit {
namespace {

// A row of a point whose process was lost, or that met an error which is not the point's.
SweepRow failed_row(const Sweep& sweep, std::int64_t number, const std::string& reason) {
  const SweepPoint point = point_of(sweep, number);
  SweepRow row;
  row.point = number;
  row.values = point.values;
  row.strategy = point.strategy;
  row.outcome = PointOutcome::failed;
  row.reason = reason;
  return row;
}

}  // namespace

SweepTable run_sweep(const Sweep& sweep, const SweepRun& run,
                     const std::function<void(const SweepProgress&)>& say) {
  SweepTable table = table_of(sweep);
  std::optional<detail::RowFile> file;
  std::map<std::int64_t, SweepRow> rows;
  if (!run.file.empty()) {
    file.emplace(run.file, csv_header(table), run.resume);
    SweepTable before = table_of(sweep);
    merge_into(before, parse_sweep_csv(file->text(), run.file), run.file);
    for (SweepRow& row : before.rows) {
      if (row.outcome != PointOutcome::failed) rows.emplace(row.point, std::move(row));
    }
  }
  SweepProgress progress;
  std::vector<Job> jobs;
  std::vector<std::int64_t> numbers;  // by job
  for (std::int64_t number = run.task.index; number < sweep.points(); number += run.task.count) {
    ++progress.points;
    if (rows.contains(number)) {
      ++progress.known;
      continue;
    }
    numbers.push_back(number);
    jobs.push_back({fmt::format("point {}", number),
                    [&sweep, number] { return csv_line(evaluate_point(sweep, number)); }});
  }
  if (say) say(progress);
  for_each_outcome(jobs, run.workers, [&](std::size_t job, JobOutcome outcome) {
    const std::int64_t number = numbers[job];
    const std::string line =
        outcome.error ? csv_line(failed_row(sweep, number, outcome.error->what())) : outcome.text;
    if (file) file->append(line);
    // As it is read back, so that it is all the same where a row comes from.
    rows.insert_or_assign(number, parse_csv_line(line, table));
    ++progress.done;
    if (say) say(progress);
  });
  for (auto& [number, row] : rows) table.rows.push_back(std::move(row));
  return table;
}

}  // namespace refit
