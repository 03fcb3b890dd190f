#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/optimal/contents.h"
#include "planner/optimal/network.h"
#include "sim/flow_bound.h"

namespace refit {

constexpr int kNobody = -1;

// One of the equal parts of a content that some island needs from outside.
struct PlanChunk {
  double bytes = 0;
  std::int32_t content = 0;
  std::int32_t index = 0;                            // in its content
  std::uint32_t first = 0, end = 0;                  // its deliveries
  std::int32_t copies = 0;                           // sent or being sent
  std::uint32_t holders_begin = 0, holders_end = 0;  // ranks that have it at the start
  std::int32_t proxied_by = kNobody;  // an owner that first hands it to the first holder by NVLink
  std::uint64_t pods = 0;             // a bit per pod that has it or is being sent it
};

enum class DeliveryState : std::uint8_t { open, chosen, under_way, done };

// A chunk has to enter one island, at one rank's NIC.
struct PlanDelivery {
  std::int32_t entry = 0;  // rank
  std::uint32_t chunk = 0;
  bool alone = false;  // for this rank only: it comes into the island some other way, too
};

// What enters each island where, decided by weight alone; who sends it and when is the swarm's.
struct Assignment {
  std::vector<PlanChunk> chunks;
  std::vector<PlanDelivery> deliveries;
  std::vector<DeliveryState> states;  // by delivery; apart, since the swarm asks for little else
  std::vector<std::int32_t> holders;  // of all chunks; the first of a chunk is meant to send it
  std::vector<double> sent_s;         // by send port: first copies assigned to it, in seconds

  bool any_alone = false;  // some delivery is for one rank only

  void add(const PlanDelivery& delivery) {
    deliveries.push_back(delivery);
    states.push_back(DeliveryState::open);
    any_alone = any_alone || delivery.alone;
  }

  // Whether the rank gets the chunk by a delivery of its own.
  bool enters_alone(const PlanChunk& chunk, Rank rank) const {
    if (!any_alone) return false;
    return std::any_of(deliveries.begin() + chunk.first, deliveries.begin() + chunk.end,
                       [&](const PlanDelivery& d) { return d.alone && d.entry == rank.value; });
  }
  std::span<const std::int32_t> holders_of(const PlanChunk& chunk) const {
    return std::span(holders).subspan(chunk.holders_begin, chunk.holders_end - chunk.holders_begin);
  }
};

// A bit per pod; pods beyond the 64th are not told apart, and then enter more often than needed.
inline std::uint64_t pod_bit(int pod) { return pod < 0 || pod >= 64 ? 0 : std::uint64_t{1} << pod; }

struct AssignmentInput {
  const std::vector<Content>& contents;
  const std::vector<int>& class_of_content;  // of the bound's domain classes
  const DomainClasses& view;
  const FlowBound& bound;
  int most_holders = 2;         // owners of a chunk that may send it; more cost time
  bool proxies = true;          // NICs may work for neighbours in their island
  bool demanders_send = false;  // and those of ranks that want the content do so first
};

Assignment assign(const AssignmentInput& input, const PlanNetwork& network);

}  // namespace refit
