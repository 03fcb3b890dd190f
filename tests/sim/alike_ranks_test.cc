#include <catch2/catch.hpp>

#include "sim/detail/alike_ranks.h"

using namespace refit;
using detail::AlikeRanks;

namespace {

std::vector<Rank> ranks(std::initializer_list<int> numbers) {
  std::vector<Rank> list;
  for (const int number : numbers) list.emplace_back(number);
  return list;
}

std::vector<Rank> of(const AlikeRanks& alike, int group) {
  const auto list = alike.of(GroupId(group));
  return {list.begin(), list.end()};
}

Op op_between(OpKind kind, int src, int dst) {
  Op op;
  op.kind = kind;
  op.src = Rank(src);
  op.dst = Rank(dst);
  return op;
}

}  // namespace

TEST_CASE("alike ranks: those in the same groups, no end of a transfer, no root", "[sim][lanes]") {
  Schedule schedule;
  schedule.ranks = 8;
  schedule.groups = {{ranks({0, 1, 2, 3, 4, 5, 6, 7}), 8}, {ranks({3, 2, 7}), 3}};
  schedule.ops = {op_between(OpKind::transfer, 0, 1)};
  SECTION("a transfer") {
    // 0 and 1 send and receive; 2, 3 and 7 are in both groups, 4, 5 and 6 in the first.
    const AlikeRanks alike(schedule);
    CHECK(of(alike, 0) == ranks({0, 1, 2, 4}));
    CHECK(of(alike, 1) == ranks({2}));
    CHECK(alike.first_like(Rank(7)) == Rank(2));
    CHECK(alike.first_like(Rank(6)) == Rank(4));
    CHECK(alike.first_like(Rank(1)) == Rank(1));
  }
  SECTION("and a broadcast from 6") {
    Op broadcast = op_between(OpKind::broadcast, 6, 0);
    broadcast.group = GroupId(0);
    schedule.ops.push_back(broadcast);
    const AlikeRanks alike(schedule);
    CHECK(of(alike, 0) == ranks({0, 1, 2, 4, 6}));
    CHECK(of(alike, 1) == ranks({2}));
    CHECK(alike.first_like(Rank(5)) == Rank(4));
  }
}
