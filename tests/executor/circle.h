#pragma once

#include <cstdint>
#include <utility>

#include <catch2/catch.hpp>

#include "schedule/schedule.h"

namespace refit::test {

// Two transfers in opposite directions between ranks of one domain, each after the other.
inline void close_circle(Schedule& schedule) {
  for (std::size_t a = 0; a < schedule.ops.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      Op &one = schedule.ops[a], &other = schedule.ops[b];
      if (one.kind != OpKind::transfer || one.src != other.dst || one.dst != other.src) continue;
      for (const auto& [op, earlier] : {std::pair(&one, b), std::pair(&other, a)}) {
        op->after_begin = static_cast<std::uint32_t>(schedule.after.size());
        schedule.after.push_back(OpId(static_cast<std::int64_t>(earlier)));
        op->after_end = static_cast<std::uint32_t>(schedule.after.size());
      }
      return;
    }
  }
  FAIL("no two transfers in opposite directions");
}

}  // namespace refit::test
