#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"

namespace refit {

// How many bytes a link carries per byte of the flow that crosses it.
struct PathLink {
  LinkId link;
  double weight = 0;
};

using PathId = std::uint32_t;

// Ways over links, each with a number, and what each link carries. Flat, since there may be
// millions. Path 0 has no links: nothing to wait for.
struct LinkPaths {
  std::vector<double> capacity_bytes_per_s;  // by link
  std::vector<std::uint32_t> begin{0, 0};    // size() + 1 entries
  std::vector<PathLink> links;

  std::size_t size() const { return begin.size() - 1; }
  std::span<const PathLink> of(PathId id) const {
    return std::span(links).subspan(begin[id], begin[id + 1] - begin[id]);
  }
  PathId add(std::span<const PathLink> path) {
    links.insert(links.end(), path.begin(), path.end());
    begin.push_back(static_cast<std::uint32_t>(links.size()));
    return static_cast<PathId>(size() - 1);
  }
};

}  // namespace refit
