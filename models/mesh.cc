#include "models/mesh.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"

namespace refit {
namespace {

constexpr std::int64_t kMostRanks = 1'000'000;

void check_axes(const std::vector<MeshAxis>& axes) {
  std::int64_t size = 1;
  for (const MeshAxis& axis : axes) {
    if (axis.size < 1) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("mesh axis '{}' has size {}; use 1 or more", axis.name, axis.size));
    }
    const auto same = [&](const MeshAxis& other) { return other.name == axis.name; };
    if (std::count_if(axes.begin(), axes.end(), same) > 1) {
      throw Error(
          ErrorCode::bad_input,
          fmt::format("mesh axis '{}' is named twice; give each axis its own name", axis.name));
    }
    size *= axis.size;
    if (size > kMostRanks) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("mesh has more than {} ranks; use fewer", kMostRanks));
    }
  }
}

void check_distinct(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  if (!ranks.empty() && ranks.front().value < 0) {
    throw Error(ErrorCode::bad_input,
                fmt::format("mesh names rank {}; ranks count from 0", ranks.front().value));
  }
  const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  if (twice != ranks.end()) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("mesh names rank {} twice; each coordinate needs its own rank", twice->value));
  }
}

}  // namespace

Mesh::Mesh(Rank first, std::vector<MeshAxis> axes) : first_(first), axes_(std::move(axes)) {
  check_axes(axes_);
  check_distinct(ranks());
}

Mesh::Mesh(std::vector<Rank> ranks, std::vector<MeshAxis> axes)
    : axes_(std::move(axes)), list_(std::move(ranks)) {
  check_axes(axes_);
  if (static_cast<std::size_t>(size()) != list_.size()) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("mesh axes make {} coordinates but {} ranks are listed; make them equal",
                    size(), list_.size()));
  }
  int stride = 1;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    axis->stride = stride;
    stride *= axis->size;
  }
  check_distinct(list_);
}

Mesh Mesh::row_major(Rank first, std::vector<std::pair<std::string, int>> axes) {
  std::vector<MeshAxis> with_strides;
  std::int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    with_strides.push_back({axis->first, axis->second, static_cast<int>(stride)});
    // Sizes that are too large are refused below; until then the stride must not overflow.
    stride = std::min(stride * std::max(axis->second, 1), kMostRanks);
  }
  std::reverse(with_strides.begin(), with_strides.end());
  return Mesh(first, std::move(with_strides));
}

int Mesh::size() const {
  int product = 1;
  for (const MeshAxis& axis : axes_) product *= axis.size;
  return product;
}

int Mesh::axis_index(std::string_view name) const {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) return static_cast<int>(a);
  }
  return -1;
}

Rank Mesh::rank_at(std::span<const int> coordinate) const {
  REFIT_CHECK(coordinate.size() == axes_.size());
  int offset = 0;
  for (std::size_t a = 0; a < axes_.size(); ++a) offset += coordinate[a] * axes_[a].stride;
  if (!list_.empty()) return list_[static_cast<std::size_t>(first_.value + offset)];
  return Rank(first_.value + offset);
}

std::vector<Rank> Mesh::ranks() const {
  std::vector<Rank> all = {first_};
  for (const MeshAxis& axis : axes_) {
    std::vector<Rank> wider;
    wider.reserve(all.size() * static_cast<std::size_t>(axis.size));
    for (const Rank rank : all) {
      for (int i = 0; i < axis.size; ++i) wider.push_back(Rank(rank.value + i * axis.stride));
    }
    all = std::move(wider);
  }
  if (!list_.empty()) {
    for (Rank& rank : all) rank = list_[rank.index()];
  }
  return all;
}

std::vector<int> Mesh::coordinate_of(int index) const {
  std::vector<int> coordinate(axes_.size(), 0);
  for (std::size_t a = axes_.size(); a-- > 0;) {
    coordinate[a] = index % axes_[a].size;
    index /= axes_[a].size;
  }
  return coordinate;
}

Mesh Mesh::slice(std::string_view axis, int coordinate) const {
  const int a = axis_index(axis);
  REFIT_CHECK(a >= 0);
  const auto at = static_cast<std::size_t>(a);
  REFIT_CHECK(0 <= coordinate && coordinate < axes_[at].size);
  Mesh part = *this;
  part.first_ = Rank(first_.value + coordinate * axes_[at].stride);
  part.axes_.erase(part.axes_.begin() + a);
  return part;
}

}  // namespace refit
