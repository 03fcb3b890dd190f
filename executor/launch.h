#pragma once

#include <functional>
#include <string_view>

#include "executor/failure.h"
#include "executor/rank_control.h"
#include "executor/rank_network.h"

namespace refit {

// Runs `work` in `ranks` processes of this machine and waits for them. Each enters its place in the
// network before it opens a socket. What ranks submit() goes to `result`, in this process.
//
// If a rank dies, stalls or throws, the others are stopped within about twice the time-out and
// RankFailure says which and why, unless all can go on without it (RankReport::resumable). No
// process outlives the call, however it ends; if this process dies, the kernel kills them. Call it
// from a process with one thread.
void launch(int ranks, RankNetwork& network, const FailureOptions& options,
            const std::function<void(RankControl&)>& work,
            const std::function<void(Rank, std::string_view)>& result);

// Runs one rank's work with its control connection: finishes, or agrees with the others on what
// went wrong and throws it as RankFailure.
void run_guarded(RankControl& control, const std::function<void(RankControl&)>& work);

// Lets this process have as many open files as it may: a rank has a socket per peer and lane.
void raise_open_file_limit();

}  // namespace refit
