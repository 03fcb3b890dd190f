#pragma once

#include <string_view>
#include <vector>

#include "base/id.h"
#include "topology/cluster.h"

namespace refit {

// What the survivors do when ranks are lost in the middle of a refit.
enum class FaultPolicy {
  fail,     // all stop; destinations keep their old weights
  shrink,   // go on without them: only what is missing is sent, by ranks that live
  rebuild,  // all connections are torn down and made again, and the whole refit is sent anew
};

enum class FaultKind {
  killed,   // the process ends: the kernel closes its connections
  stalled,  // it lives, and does nothing any more
  dark,     // packets vanish in both directions, and nobody says so
};

enum class FaultPlace { rank, nic, nvlink };

// A fault that is simulated, or caused on purpose in a run. Whoever can't be reached on a link that
// it needs is lost as a whole, even if another link of it still works.
struct FaultSpec {
  FaultKind kind = FaultKind::killed;
  FaultPlace place = FaultPlace::rank;  // links only go dark
  Rank rank;                            // the rank, or one at the NIC or NVLink port
  // When: seconds from the start, or, if negative, this part of the undisturbed refit's time.
  double at_s = -1;
  double fraction = 0.5;
  // From the fault until all survivors know.
  double detection_s = 0;
  // To make all connections anew (policy rebuild only).
  double rebuild_s = 0;
  FaultPolicy policy = FaultPolicy::shrink;
};

std::string_view to_string(FaultPolicy policy);
std::string_view to_string(FaultKind kind);

// A death is heard as soon as the process' connections close: 21 to 42 ms were measured
// (docs/run.md). Silence counts as loss after the executor's time-out.
double usual_detection_s(FaultKind kind);

// All ranks that are lost: a NIC takes all its GPUs along.
std::vector<Rank> lost_ranks(const FaultSpec& fault, const Cluster& cluster);

}  // namespace refit
