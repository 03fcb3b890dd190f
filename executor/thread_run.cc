#include "executor/thread_run.h"

#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "executor/run_rank.h"

namespace refit {
namespace {

// All ranks of one process, iteration by iteration.
class ThreadRun {
 public:
  ThreadRun(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
            const ExecuteOptions& options, const ThreadRunParts& parts)
      : schedule_(schedule),
        refit_(refit),
        options_(options),
        parts_(parts),
        moves_(write_out(schedule, refit, cluster, options.moves)),
        context_{schedule, refit, cluster, moves_},
        meet_(schedule.ranks) {
    result_.transport = parts.transport;
    result_.ranks = schedule.ranks;
    result_.largest_rank_bytes = largest_rank_bytes(moves_, schedule.ranks);
    result_.environment = machine_environment();
  }

  Measurement run() {
    std::vector<std::thread> threads;
    for (int r = 0; r < schedule_.ranks; ++r)
      threads.emplace_back([this, r] { run_thread(Rank(r)); });
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(result_);
  }

 private:
  void run_thread(Rank rank) {
    try {
      const auto seat = parts_.seat(rank, moves_);
      RankMemory memory(refit_, schedule_, rank, seat->memory());
      const RankProgram program = rank_program(schedule_, moves_, rank);
      for (int i = 0; i < options_.warmup + options_.iterations; ++i)
        run_once(i, program, memory, *seat);
    } catch (...) {
      fail();
      // Nobody must wait for this rank at a meeting any more.
      meet_.arrive_and_drop();
    }
  }

  void run_once(int i, const RankProgram& program, RankMemory& memory, RankSeat& seat) {
    const std::uint64_t seed = options_.seed_of(i);
    memory.prepare(seed);
    seat.begin_iteration();
    meet_.arrive_and_wait();
    if (memory.rank() == Rank(0)) begin_iteration();
    meet_.arrive_and_wait();
    if (failed()) return;
    const double begin = zero_s_;
    memory.copy_owned();
    OpTimes times = run_rank(context_, program, memory, seat.transport(), begin);
    const double seconds = steady_clock_s() - begin;
    seat.end_iteration(schedule_, begin, times);
    std::vector<WrongByte> examples;
    const std::int64_t wrong = options_.check ? memory.count_wrong(seed, examples) : 0;
    note(memory.rank(), seconds, times, wrong, examples);
    meet_.arrive_and_wait();
    if (memory.rank() == Rank(0) && !failed()) end_iteration(i);
  }

  void begin_iteration() {
    now_ = {};
    timeline_.assign(schedule_.ops.size(), {});
    cpu_begin_s_ = process_cpu_s();
    zero_s_ = steady_clock_s();
  }

  void note(Rank rank, double seconds, const OpTimes& times, std::int64_t wrong,
            const std::vector<WrongByte>& examples) {
    const std::lock_guard lock(mutex_);
    if (seconds > now_.seconds) {
      now_.seconds = seconds;
      now_.slowest = rank;
      cpu_end_s_ = process_cpu_s();
    }
    now_.wrong_bytes += wrong;
    for (const WrongByte& example : examples) {
      if (result_.wrong_examples.size() < kMostExamples) result_.wrong_examples.push_back(example);
    }
    merge(times, timeline_);
  }

  void end_iteration(int i) {
    result_.wrong_bytes += now_.wrong_bytes;
    if (i < options_.warmup) return;
    result_.iterations.push_back(now_);
    result_.timeline = timeline_;
    result_.cpu_s += cpu_end_s_ - cpu_begin_s_;
  }

  bool failed() {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }

  void fail() {
    std::string reason = "a rank failed";
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    try {
      throw;
    } catch (const std::exception& error) {
      reason = error.what();
    }
    parts_.abort(reason);
  }

  const Schedule& schedule_;
  const Refit& refit_;
  const ExecuteOptions& options_;
  const ThreadRunParts& parts_;
  Moves moves_;
  RunContext context_;
  std::barrier<> meet_;
  std::mutex mutex_;
  std::exception_ptr failure_;
  Measurement result_;
  Iteration now_;
  Timeline timeline_;
  double zero_s_ = 0, cpu_begin_s_ = 0, cpu_end_s_ = 0;
};

}  // namespace

Measurement run_on_threads(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                           const ExecuteOptions& options, const ThreadRunParts& parts) {
  return ThreadRun(schedule, refit, cluster, options, parts).run();
}

}  // namespace refit
