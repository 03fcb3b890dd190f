#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/measured_series.h"

namespace refit {

// What `refit calibrate` was given: published refits, or measurements.
struct MeasuredFiles {
  std::optional<std::string> published_rows;  // path
  std::vector<MeasuredSeries> series;
};

// Tells each file by its content. `cluster`: the name of a catalog's cluster, or a YAML file with
// the nodes of all logs; needed for those, since a share of a line rate needs the line rate.
MeasuredFiles read_measured_files(const std::vector<std::string>& paths,
                                  const std::optional<std::string>& cluster);

}  // namespace refit
