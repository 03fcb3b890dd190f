#include "schedule/fault.h"

namespace refit {

std::string_view to_string(FaultPolicy policy) {
  switch (policy) {
    case FaultPolicy::fail:
      return "fail";
    case FaultPolicy::shrink:
      return "shrink";
    case FaultPolicy::rebuild:
      return "rebuild";
  }
  return "?";
}

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::killed:
      return "killed";
    case FaultKind::stalled:
      return "stalled";
    case FaultKind::dark:
      return "dark";
  }
  return "?";
}

double usual_detection_s(FaultKind kind) { return kind == FaultKind::killed ? 0.025 : 0.5; }

std::vector<Rank> lost_ranks(const FaultSpec& fault, const Cluster& cluster) {
  if (fault.place != FaultPlace::nic) return {fault.rank};
  std::vector<Rank> lost;
  for (int r = 0; r < cluster.gpus(); ++r) {
    if (cluster.nic_out(Rank(r)) == cluster.nic_out(fault.rank)) lost.push_back(Rank(r));
  }
  return lost;
}

}  // namespace refit
