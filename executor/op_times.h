#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "schedule/timeline.h"

namespace refit {

struct OpTime {
  OpId op;
  Span span;

  friend bool operator==(const OpTime&, const OpTime&) = default;
};

// When the ops of one rank began and ended there, in ascending order of ops. What most plans have
// most of is ops between others: a timeline of all ops on every rank would be ranks x ops.
using OpTimes = std::vector<OpTime>;

// Where an op is among a rank's (Moves::ops_of_rank); nothing if it is none of them.
std::optional<std::size_t> place_of(OpId op, std::span<const OpId> ops_of_rank);

// Earliest start and latest end of every op over ranks; {0, 0} says nothing.
void merge(const OpTimes& of_rank, Timeline& merged);

}  // namespace refit
