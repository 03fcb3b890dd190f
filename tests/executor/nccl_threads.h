#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/cuda/nccl_rank.h"
#include "executor/launch.h"
#include "executor/rendezvous.h"
#include "tests/executor/slowdown.h"

namespace refit::test {

// Machines that run tests are busy: a rank that waits half a second for a core is not lost.
inline FailureOptions patient_failure() {
  FailureOptions failure;
  failure.timeout_s = 5 * kSlowdown;
  failure.stall_timeout_s = 30 * kSlowdown;
  return failure;
}

struct ThreadedOutcome {
  std::optional<Failure> failure;
  std::vector<std::string> errors;  // per rank, empty if it has finished
};

// Runs `work` for every rank in a thread of this process, with real control connections.
inline ThreadedOutcome run_rank_threads(
    int ranks, const std::function<void(RankControl&)>& work,
    const std::function<void(Rank, std::string_view)>& result = [](Rank, std::string_view) {}) {
  ThreadedOutcome outcome;
  outcome.errors.resize(static_cast<std::size_t>(ranks));
  Rendezvous rendezvous(ranks, patient_failure());
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    auto [mine, its] = detail::socket_pair();
    rendezvous.adopt(Rank(r), std::move(mine));
    threads.emplace_back([&, r, socket = std::move(its)]() mutable {
      try {
        RankControl control(Rank(r), ranks, std::move(socket), patient_failure());
        run_guarded(control, work);
      } catch (const std::exception& error) {
        outcome.errors[static_cast<std::size_t>(r)] = error.what();
      }
    });
  }
  Rendezvous::Hooks hooks;
  hooks.result = result;
  hooks.drop = [](Rank) {};  // its thread ends by itself when its connection closes
  outcome.failure = rendezvous.serve(hooks);
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

// Every rank of a run over NCCL a thread with a GPU of its own. Throws what ended it.
inline Measurement run_nccl_threads(const Schedule& schedule, const Refit& refit,
                                    const Cluster& cluster, const CudaOptions& options) {
  const Moves moves = write_out(schedule, refit, cluster, options.run.moves);
  const RunContext context{schedule, refit, cluster, moves};
  NcclResults results(context, options);
  const ThreadedOutcome outcome = run_rank_threads(
      schedule.ranks,
      [&](RankControl& control) {
        run_nccl_rank(context, options, {control.rank().value, true}, control);
      },
      [&](Rank rank, std::string_view submitted) { results.add(rank, submitted); });
  if (outcome.failure) throw RankFailure(*outcome.failure);
  return results.finish();
}

}  // namespace refit::test
