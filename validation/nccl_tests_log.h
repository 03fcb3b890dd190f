#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "validation/nccl_operation.h"

namespace refit {

// One table of times in a log. A log may have several, one below the other.
struct NcclSweep {
  struct Point {
    double bytes = 0;  // as the column "size" counts them
    double seconds = 0;
  };

  std::string file;  // base name
  NcclOperation operation = NcclOperation::all_reduce;
  bool told = true;  // the operation stands in the log; otherwise the columns suggest it
  int ranks = 0;
  int hosts = 0;              // 0: lines of some ranks are missing, so hosts can't be counted
  std::vector<Point> points;  // sizes increase
};

// Reads the output of all_reduce_perf and its siblings, old and new columns, with or without the
// tags of mpirun and srun. The time is that of the out-of-place run, or the other one if there is
// none. Rows without bytes or time are left out. Error(bad_input) names file and line.
//
//   a.log:31: size 4096 comes after 8192; sizes of one table increase
std::vector<NcclSweep> read_nccl_tests_log(std::string_view text, const std::string& name);

// Whether a line is a row of such a table.
bool is_nccl_tests_row(std::string_view line);

}  // namespace refit
