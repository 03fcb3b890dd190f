#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "models/layout.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

IntervalSet even_piece(std::int64_t length, int n, int i, const char* what) {
  if (length % n != 0) {
    refuse(
        fmt::format("{} of {} rows does not divide evenly into {}; use a divisor of {}, or split: "
                    "chunk or balanced",
                    what, length, n, length));
  }
  const std::int64_t each = length / n;
  return Interval{i * each, (i + 1) * each};
}

}  // namespace

Split Split::chunk(std::int64_t unit) {
  REFIT_CHECK(unit >= 1);
  Split split;
  split.number_ = unit;
  return split;
}

Split Split::balanced() {
  Split split;
  split.kind_ = Kind::balanced;
  return split;
}

Split Split::even() {
  Split split;
  split.kind_ = Kind::even;
  return split;
}

Split Split::padded(std::int64_t total) {
  REFIT_CHECK(total >= 1);
  Split split;
  split.kind_ = Kind::padded;
  split.number_ = total;
  return split;
}

Split Split::blocks(std::vector<std::int64_t> lengths) {
  REFIT_CHECK(std::none_of(lengths.begin(), lengths.end(), [](std::int64_t l) { return l < 0; }));
  Split split;
  split.kind_ = Kind::blocks;
  split.lengths_ = std::move(lengths);
  return split;
}

Split Split::shared(int owners) {
  REFIT_CHECK(owners >= 1);
  Split split;
  split.kind_ = Kind::shared;
  split.number_ = owners;
  return split;
}

Split Split::table(std::vector<IntervalSet> pieces) {
  Split split;
  split.kind_ = Kind::table;
  split.table_ = std::move(pieces);
  return split;
}

IntervalSet Split::piece(std::int64_t length, int n, int i) const {
  REFIT_CHECK(0 <= i && i < n);
  switch (kind_) {
    case Kind::chunk: {
      const std::int64_t units = (length + number_ - 1) / number_;
      const std::int64_t each = (units + n - 1) / n * number_;
      return Interval{std::min(length, i * each), std::min(length, (i + 1) * each)};
    }
    case Kind::balanced: {
      const std::int64_t each = length / n;
      const std::int64_t more = length % n;
      const std::int64_t begin = i * each + std::min<std::int64_t>(i, more);
      return Interval{begin, begin + each + (i < more ? 1 : 0)};
    }
    case Kind::even:
      return even_piece(length, n, i, "a dim");
    case Kind::padded: {
      if (number_ < length) {
        refuse(fmt::format("{} rows do not fit in {} padded rows; pad to {} or more", length,
                           number_, length));
      }
      if (number_ % n != 0) {
        refuse(fmt::format(
            "{} rows padded to {} do not divide evenly into {}; pad to a multiple of {}", length,
            number_, n, n));
      }
      const std::int64_t each = number_ / n;
      return Interval{std::min(length, i * each), std::min(length, (i + 1) * each)};
    }
    case Kind::blocks: {
      std::vector<IntervalSet> parts;
      std::int64_t sum = 0;
      for (const std::int64_t block : lengths_) {
        parts.push_back(even_piece(block, n, i, "a block"));
        sum += block;
      }
      if (sum != length) {
        refuse(
            fmt::format("blocks sum to {} rows but the dim has {}; make them equal", sum, length));
      }
      return stack(parts, lengths_);
    }
    case Kind::shared: {
      if (n % number_ != 0) {
        refuse(fmt::format("{} owners can't be shared evenly by {} ranks; use a multiple of {}",
                           number_, n, number_));
      }
      const int owners = static_cast<int>(number_);
      return even_piece(length, owners, i / (n / owners), "a dim");
    }
    case Kind::table:
      if (table_.size() != static_cast<std::size_t>(n)) {
        refuse(fmt::format("{} pieces are written out for {} coordinates; make them equal",
                           table_.size(), n));
      }
      for (const Interval& part : table_[static_cast<std::size_t>(i)].intervals()) {
        if (part.begin < 0 || part.end > length) {
          refuse(fmt::format("piece [{}, {}) lies outside a dim of {} rows", part.begin, part.end,
                             length));
        }
      }
      return table_[static_cast<std::size_t>(i)];
  }
  REFIT_CHECK(false);
}

}  // namespace refit
