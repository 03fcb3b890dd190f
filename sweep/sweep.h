#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/yaml_tree.h"

namespace refit {

// One thing that varies, or several that vary together: value i of each path belongs to value i of
// the others.
struct SweepAxis {
  std::vector<std::string> paths;             // "cluster.nic_bandwidth"
  std::vector<std::vector<YamlTree>> values;  // by value, then by path
};

// A whole number that follows from others: "cluster.nodes * 8 - training.gpus".
struct DerivedField {
  std::string path;
  std::string formula;
  std::string where;
};

// Many scenarios that differ in a few fields (docs/sweep.md). Points are numbered through the axes,
// the last one fastest. The key `strategy` stands beside those of a scenario.
struct Sweep {
  std::string name;
  std::string path;       // of the sweep's file
  std::string base_path;  // what paths inside the scenario are relative to, and messages begin with
  YamlTree base;
  std::vector<SweepAxis> axes;
  std::vector<std::pair<std::string, YamlTree>> fixed;
  std::vector<DerivedField> derived;
  // Of everything above but names: equal sweeps have equal ones. In hexadecimal.
  std::string hash;

  std::int64_t points() const;
  // The paths that vary or follow from them, without `strategy`: columns of the result.
  std::vector<std::string> columns() const;
};

// One of the scenarios.
struct SweepPoint {
  std::int64_t number = 0;
  std::vector<std::string> values;  // of Sweep::columns(), as written
  std::string strategy;
  std::optional<WrittenTree> scenario;
  std::string reason = {};  // why there is none: a path that leads nowhere, a part of a node
};

// Error(bad_input) names file, line, column and key. `salt` goes into the hash: results that two
// versions of the program computed are not one table.
Sweep load_sweep(const std::string& path, const std::string& salt = "");
Sweep parse_sweep(const std::string& text, const std::string& name, const std::string& salt = "");

// `number` < points().
SweepPoint point_of(const Sweep& sweep, std::int64_t number);

inline constexpr std::int64_t kMostPoints = 1'000'000;

}  // namespace refit
