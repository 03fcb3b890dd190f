#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "models/coding.h"
#include "planner/optimal/contents.h"
#include "schedule/builder.h"

namespace refit {

// The work on changes around an optimal plan's transfers. Each rank works through its own chunks in
// the order of the transfers, some at a time, so that the first are on the wire, or decoded, while
// the next are being worked on.
class CodingWork {
 public:
  CodingWork(const Refit& refit, const std::vector<Content>& contents, const Coding& coding,
             int lane, ScheduleBuilder& builder);

  // Owners, before any transfer: what each sends first hand, in order, then the ops for all of it.
  void will_send(Rank owner, std::int32_t content, std::int32_t chunk);
  void add_encoding();
  // The op after which the owner has the chunk in coded form.
  OpId encoded(Rank owner, std::int32_t content, std::int32_t chunk) const;

  // Receivers: what a transfer brings to who demands it; at the end the ops for all of it.
  void arrives(Rank demander, std::int32_t content, std::int32_t chunk, OpId transfer);
  void add_decoding(GroupId world);

 private:
  using Chunk = std::tuple<Rank, std::int32_t, std::int32_t>;
  struct Step {
    Chunk chunk;
    OpId transfer;  // of arrivals
    std::int64_t bytes = 0;
  };
  using Steps = std::vector<Step>;  // of one rank, in order

  std::int64_t content_bytes(std::int32_t content, std::int32_t chunk);
  // Calls each(rank, steps of its piece, bytes of them) piece by piece.
  template <class Each>
  void for_each_piece(const std::map<Rank, Steps>& steps, const Each& each);

  const Refit& refit_;
  const std::vector<Content>& contents_;
  const Coding coding_;
  const int lane_;
  ScheduleBuilder& builder_;
  std::vector<std::vector<std::int64_t>> bytes_;  // by content and chunk, once asked
  std::map<Rank, Steps> sends_, arrivals_;
  std::map<Chunk, OpId> encoded_;
  std::map<Rank, int> rounds_;  // of the lane: the next one
};

}  // namespace refit
