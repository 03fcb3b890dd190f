#include "executor/delta/weight_shard.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/units.h"
#include "delta/fingerprint.h"

namespace refit {
namespace {

// The product of the sides as runs of neighbours, in row-major order.
std::vector<ElementRun> runs_of(const std::vector<IntervalSet>& sides,
                                const std::vector<std::int64_t>& shape) {
  std::vector<ElementRun> runs;
  // Indices of the outer dims' rows, dim by dim; runs of the last.
  std::vector<std::int64_t> rows{0};
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t row : rows) {
      for (const Interval& interval : sides[d].intervals()) {
        for (std::int64_t r = interval.begin; r < interval.end; ++r)
          next.push_back(row * shape[d] + r);
      }
    }
    rows = std::move(next);
  }
  for (const std::int64_t row : rows) {
    for (const Interval& interval : sides.back().intervals()) {
      const std::int64_t first = row * shape.back() + interval.begin;
      if (!runs.empty() && runs.back().first + runs.back().count == first) {
        runs.back().count += interval.size();
      } else {
        runs.push_back({first, interval.size()});
      }
    }
  }
  return runs;
}

}  // namespace

WeightShard::WeightShard(const TensorClass& c, ClassId id, const Layout& layout, Rank rank)
    : id_(id), class_elements_(c.elements()), element_bytes_(bytes_per_element(c.dtype)) {
  const std::vector<Rank> ranks = layout.mesh().ranks();
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  if (at == ranks.end()) return;
  sides_ = layout.shard(static_cast<int>(at - ranks.begin()));
  if (sides_.empty()) return;
  runs_ = runs_of(sides_, c.shape());
  std::int64_t elements = 0;
  for (const ElementRun& run : runs_) elements += run.count;
  try {
    bytes_.resize(static_cast<std::size_t>(elements * element_bytes_));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::environment,
                fmt::format("rank {}: no room for {} of {}; scale the scenario down", rank.value,
                            format_bytes(static_cast<double>(elements * element_bytes_)), c.name));
  }
}

std::int64_t WeightShard::elements() const {
  return static_cast<std::int64_t>(bytes_.size()) / element_bytes_;
}

DeltaBox WeightShard::local_box(const Region& region) const {
  DeltaBox box;
  box.dims = static_cast<int>(region.size());
  for (std::size_t d = 0; d < region.size(); ++d) {
    std::int64_t before = 0;
    bool found = false;
    for (const Interval& rows : sides_[d].intervals()) {
      if (rows.begin <= region[d].begin && region[d].end <= rows.end) {
        before += region[d].begin - rows.begin;
        found = true;
        break;
      }
      before += rows.size();
    }
    REFIT_CHECK(found);
    box.shape[d] = static_cast<std::uint64_t>(sides_[d].size());
    box.offset[d] = static_cast<std::uint64_t>(before);
    box.extent[d] = static_cast<std::uint64_t>(region[d].size());
  }
  return box;
}

RegionMemory WeightShard::place(const Region& region, std::span<std::byte> bytes) const {
  return {bytes, local_box(region), element_bytes_};
}

RegionView WeightShard::view(const Region& region) const {
  return {std::span<const std::byte>(bytes_), local_box(region), element_bytes_};
}

std::uint64_t WeightShard::fingerprint() const {
  const DeltaBox whole = DeltaBox::whole(static_cast<std::uint64_t>(class_elements_));
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (const ElementRun& run : runs_) {
    const auto size = static_cast<std::size_t>(run.count * element_bytes_);
    sum += refit::fingerprint(static_cast<std::uint32_t>(id_.index()), whole,
                              static_cast<std::uint64_t>(run.first),
                              std::span(bytes_).subspan(at, size), element_bytes_);
    at += size;
  }
  return sum;
}

TrainedWeights::TrainedWeights(const UpdateModel& model, ClassId id, const WeightShard& shard)
    : shard_(model, id.value, shard.runs()), element_bytes_(shard.element_bytes()) {}

void TrainedWeights::step_to(std::uint64_t version) {
  REFIT_CHECK(version >= version_);
  for (; version_ < version; ++version_) shard_.step();
}

void TrainedWeights::write(std::span<std::byte> elements) const {
  std::vector<std::uint16_t> bf16(static_cast<std::size_t>(shard_.size()));
  shard_.cast(bf16);
  REFIT_CHECK(elements.size() == bf16.size() * static_cast<std::size_t>(element_bytes_));
  if (element_bytes_ == 2) {
    std::memcpy(elements.data(), bf16.data(), elements.size());
    return;
  }
  for (std::size_t i = 0; i < bf16.size(); ++i) {
    if (element_bytes_ == 1) {
      elements[i] = static_cast<std::byte>(bf16[i] >> 4);
    } else {
      const std::uint32_t wide = static_cast<std::uint32_t>(bf16[i]) << 16;
      std::memcpy(elements.data() + 4 * i, &wide, sizeof wide);
    }
  }
}

}  // namespace refit
