#pragma once

#include <array>
#include <cstdint>
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
  std::int32_t index = 0;                                 // in its content
  std::uint32_t first = 0, end = 0;                       // its deliveries
  std::int32_t copies = 0;                                // sent or being sent
  std::array<std::int32_t, 2> holders{kNobody, kNobody};  // ranks that have it at the start
  std::int32_t proxied_by = kNobody;  // an owner that first hands it to holders[0] by NVLink
  std::uint64_t pods = 0;             // a bit per pod that has it or is being sent it
};

enum class DeliveryState : std::uint8_t { open, chosen, under_way, done };

// A chunk has to enter one island, at one rank's NIC.
struct PlanDelivery {
  std::int32_t entry = 0;  // rank
  std::uint32_t chunk = 0;
  DeliveryState state = DeliveryState::open;
};

// What enters each island where, decided by weight alone; who sends it and when is the swarm's.
struct Assignment {
  std::vector<PlanChunk> chunks;
  std::vector<PlanDelivery> deliveries;
  // Owners that serve demanders of their own island, by NVLink: whole contents.
  struct Local {
    int content;
    Rank src, dst;
  };
  std::vector<Local> locals;
  std::vector<double> sent_s;  // by send port: first copies assigned to it, in seconds
};

struct AssignmentInput {
  const std::vector<Content>& contents;
  const std::vector<int>& class_of_content;  // of the bound's domain classes
  const DomainClasses& view;
  const FlowBound& bound;
};

Assignment assign(const AssignmentInput& input, const PlanNetwork& network);

}  // namespace refit
