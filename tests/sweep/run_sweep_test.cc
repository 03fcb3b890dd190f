#include "sweep/run_sweep.h"

#include "sweep/sweep_csv.h"
#include "tests/cli/program.h"
#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

const std::string kFour =
    "vary:\n  cluster.nic_bandwidth: [80 Gbit/s, 160 Gbit/s]\n  cluster.nodes: [2, 1]\n";

TEST_CASE("run sweep: predictions are those of the wire, and infeasible points say why",
          "[sweep]") {
  const SweepTable table = run_sweep(pair_sweep(kFour), {.workers = 2});
  REQUIRE(table.rows.size() == 4);
  CHECK(table.rows[0].prediction_s == Approx(0.8));  // 8 GB at 10 GB/s
  CHECK(table.rows[0].bound_s == Approx(0.8));
  CHECK(table.rows[0].network_bytes == 8e9);
  CHECK(table.rows[0].copies == Approx(1));
  CHECK(table.rows[0].busiest_used == Approx(1));
  CHECK(table.rows[0].gpu_memory_bytes == 80e9);
  CHECK(table.rows[2].prediction_s == Approx(0.4));
  CHECK_FALSE(table.rows[2].low_s);  // wires alone have no band
  for (const std::size_t one_node : {1u, 3u}) {
    CHECK(table.rows[one_node].outcome == PointOutcome::infeasible);
    CHECK_FALSE(table.rows[one_node].reason.empty());
  }
}

TEST_CASE("run sweep: what does not fit in memory is predicted and said", "[sweep]") {
  const SweepTable table = run_sweep(pair_sweep("vary: {cluster.gpu_memory: [4 GB]}\n"), {});
  CHECK(table.rows[0].outcome == PointOutcome::predicted);
  CHECK(table.rows[0].over.substr(0, 16) == "memory of rank 0");
  CHECK(table.rows[0].over.find(" of 4.00 GB") != std::string::npos);
}

TEST_CASE("run sweep: whatever is there already, the end is the same", "[sweep]") {
  const Sweep sweep = pair_sweep(kFour);
  const std::string whole = sweep_csv(run_sweep(sweep, {.workers = 2}));
  const std::size_t header = whole.find('\n') + 1;
  // As a kill at any byte leaves it: rows, then a torn one.
  for (std::size_t bytes = 0; bytes <= whole.size(); bytes += 97) {
    CAPTURE(bytes);
    const Folder folder;
    const std::string path = folder.write("s.csv", whole.substr(0, bytes));
    std::size_t known = 0;
    const SweepTable table = run_sweep(sweep, {.file = path, .resume = true},
                                       [&](const SweepProgress& now) { known = now.known; });
    CHECK(sweep_csv(table) == whole);
    CHECK(sweep_csv(parse_sweep_csv(text_of(path), path)) == whole);
    CHECK(known <= (bytes > header ? (bytes - header) / 40 : 0));
  }
}

TEST_CASE("run sweep: what failed is tried again, and another sweep's file is refused", "[sweep]") {
  const Sweep sweep = pair_sweep(kFour);
  SweepTable table = run_sweep(sweep, {.workers = 2});
  const std::string whole = sweep_csv(table);
  table.rows[0].outcome = PointOutcome::failed;
  table.rows[0].reason = "out of memory";
  const Folder folder;
  const std::string path = folder.write("s.csv", sweep_csv(table));
  CHECK(sweep_csv(run_sweep(sweep, {.file = path, .resume = true})) == whole);
  const Sweep other = pair_sweep("vary: {cluster.nodes: [2, 3, 4, 5]}\n");
  CHECK(error_of([&] { run_sweep(other, {.file = path, .resume = true}); }) ==
        path + ": is no result of this sweep as it is now; name another file");
  CHECK(text_of(path).starts_with(whole.substr(0, whole.find('\n'))));
}

TEST_CASE("run sweep: a point that breaks leaves the others alone", "[sweep]") {
  // The file of a network model that is a folder: the machine's fault, not the point's.
  const Folder folder;
  const SweepTable table = run_sweep(
      pair_sweep("vary: {network_model: [wire_only, " + (folder / "../") + "]}\n"), {.workers = 2});
  CHECK(table.rows[0].outcome == PointOutcome::predicted);
  CHECK(table.rows[1].outcome == PointOutcome::failed);
  CHECK_FALSE(table.rows[1].reason.empty());
}

TEST_CASE("run sweep: the parts of several tasks make up the whole", "[sweep]") {
  const Sweep sweep = pair_sweep(kFour);
  SweepTable merged = table_of(sweep);
  for (std::int64_t task = 0; task < 3; ++task)
    merge_into(merged, run_sweep(sweep, {.task = {task, 3}}), "part");
  CHECK(sweep_csv(merged) == sweep_csv(run_sweep(sweep, {})));
}

}  // namespace
}  // namespace refit::test
