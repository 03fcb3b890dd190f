#include "sweep/sweep_csv.h"

#include <algorithm>

#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

SweepRow predicted(std::int64_t point) {
  SweepRow row;
  row.point = point;
  row.values = {"[1, \"2\"]", " x "};
  row.strategy = "reshard";
  row.outcome = PointOutcome::predicted;
  row.bound_s = 0.1;
  row.bound_by = "egress, of all";
  row.prediction_s = 1.0 / 3;
  row.low_s = 0.25;
  row.high_s = 0.5;
  row.waits_for = "nic_efficiency";
  row.waits_s = 0.3;
  row.network_bytes = 12345678901234;
  row.copies = 1.5;
  row.busiest_link = "node 1 nic 0 in";
  row.busiest_used = 0.75;
  row.memory_peak_bytes = 1e9;
  row.gpu_memory_bytes = 8e10;
  return row;
}

SweepTable three() {
  SweepTable table{"00ff", 3, {"a", "b.c"}, {predicted(2), predicted(0), predicted(1)}};
  table.rows[1].low_s = table.rows[1].high_s = std::nullopt;
  table.rows[2].outcome = PointOutcome::infeasible;
  table.rows[2].reason = "f.yaml:1:2: \"x\", no";
  return table;
}

TEST_CASE("sweep csv: rows come back to the last bit, in the order of the points", "[sweep]") {
  SweepTable table = three();
  const SweepTable back = parse_sweep_csv(sweep_csv(table), "f.csv");
  CHECK(back.hash == "00ff");
  CHECK(back.points == 3);
  CHECK(back.columns == table.columns);
  REQUIRE(back.rows.size() == 3);
  CHECK(back.rows[0] == table.rows[1]);
  CHECK(back.rows[2] == table.rows[0]);
  CHECK(back.rows[1].reason == table.rows[2].reason);
  // Bytes do not depend on the order in which rows came.
  std::reverse(table.rows.begin(), table.rows.end());
  CHECK(sweep_csv(table) == sweep_csv(three()));
}

TEST_CASE("sweep csv: a row is one line, whatever its reason says", "[sweep]") {
  SweepRow row = three().rows[2];
  row.reason = "one\ntwo";
  CHECK(csv_line(row).find('\n') == std::string::npos);
}

TEST_CASE("sweep csv: what is no result is refused by file and line", "[sweep]") {
  const auto of = [](const std::string& text) {
    return error_of([&] { parse_sweep_csv(text, "f.csv"); });
  };
  CHECK(of("a,b\n1,2\n") ==
        "f.csv:1: is no result of refit sweep; its first column is headed 'point of ... in ...'");
  const std::string header = csv_header(three()) + "\n";
  CHECK(of(header + "0,1\n") == "f.csv:2: 2 cells, but a row has 20");
  std::string line = csv_line(predicted(0));
  CHECK(of(header + line.replace(0, 1, "3") + "\n") == "f.csv:2: point 3 of 3");
  line = csv_line(predicted(0));
  const std::size_t outcome = line.find("predicted");
  CHECK(of(header + line.replace(outcome, 9, "guessed") + "\n") ==
        "f.csv:2: outcome: expected predicted, infeasible or failed, got 'guessed'");
  line = csv_line(predicted(0));
  CHECK(of(header + line.replace(line.find("0.25"), 4, "low") + "\n") ==
        "f.csv:2: low_s: expected a number, got 'low'");
}

TEST_CASE("sweep csv: parts of one sweep merge, others do not", "[sweep]") {
  SweepTable whole = three();
  SweepTable a = whole, b = whole;
  a.rows = {whole.rows[0]};
  b.rows = {whole.rows[1], whole.rows[2], whole.rows[0]};
  // A point that failed in one part may have ended well in another.
  a.rows[0].outcome = PointOutcome::failed;
  merge_into(a, b, "b.csv");
  CHECK(sweep_csv(a) == sweep_csv(whole));
  SweepTable other = whole;
  other.hash = "00fe";
  CHECK(error_of([&] { merge_into(whole, other, "o.csv"); }) ==
        "o.csv: is of another sweep (point of 3 in 00fe, not point of 3 in 00ff), or of one that "
        "was changed since");
  other = whole;
  other.rows[0].prediction_s = 2;
  CHECK(error_of([&] { merge_into(whole, other, "o.csv"); }) ==
        "o.csv: says something else of point 2 than the files before; they are not of one program "
        "and its inputs");
}

}  // namespace
}  // namespace refit::test
