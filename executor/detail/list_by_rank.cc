#include "executor/detail/list_by_rank.h"

#include <algorithm>

namespace refit::detail {
namespace {

template <class Put>
void put_ranks(const Schedule& schedule, OpId id, const Put& put) {
  const Op& op = schedule.ops[id.index()];
  if (op.kind == OpKind::compute) return;  // costs time in a prediction; there is nothing to move
  if (op.kind == OpKind::transfer) {
    put(op.src, id);
    put(op.dst, id);
    return;
  }
  const std::vector<Rank>& ranks = schedule.groups[op.group.index()].ranks;
  for (const Rank rank : ranks) put(rank, id);
  // A root need not be in the group that it sends to.
  if (op.kind == OpKind::broadcast && std::ranges::find(ranks, op.src) == ranks.end())
    put(op.src, id);
}

}  // namespace

void list_by_rank(const Schedule& schedule, Moves& moves) {
  moves.of_rank = {schedule.ranks, [&](const auto& put) {
                     for (std::uint32_t m = 0; m < moves.moves.size(); ++m) {
                       put(moves.moves[m].src, m);
                       put(moves.moves[m].dst, m);
                     }
                   }};
  moves.ops_of_rank = {schedule.ranks, [&](const auto& put) {
                         for (std::size_t id = 0; id < schedule.ops.size(); ++id)
                           put_ranks(schedule, OpId(static_cast<std::int64_t>(id)), put);
                       }};
}

}  // namespace refit::detail
