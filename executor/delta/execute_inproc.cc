#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "executor/clock.h"
#include "executor/delta/delta_results.h"
#include "executor/delta/execute_delta.h"
#include "executor/delta/run_versions.h"
#include "executor/inproc_transport.h"

namespace refit {
namespace {

// Where threads meet, until one of them fails.
class Meeting {
 public:
  explicit Meeting(int ranks) : blobs_(static_cast<std::size_t>(ranks)) {}

  std::vector<std::string> all_gather(Rank rank, std::string_view blob) {
    std::unique_lock lock(mutex_);
    refuse_if_ended();
    blobs_[rank.index()] = blob;
    if (++come_ == blobs_.size()) {
      gathered_ = std::make_shared<const std::vector<std::string>>(blobs_);
      come_ = 0;
      ++turn_;
      changed_.notify_all();
    } else {
      const auto turn = turn_;
      changed_.wait(lock, [&] { return turn_ != turn || !ended_.empty(); });
      if (turn_ == turn) refuse_if_ended();
    }
    // The next turn can't end before this rank has come to it.
    const auto gathered = gathered_;
    lock.unlock();
    return *gathered;
  }

  void end(const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (ended_.empty()) ended_ = reason;
    }
    changed_.notify_all();
  }

 private:
  void refuse_if_ended() const {
    if (!ended_.empty()) throw Error(ErrorCode::environment, ended_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> blobs_;
  std::size_t come_ = 0;
  std::uint64_t turn_ = 0;
  std::shared_ptr<const std::vector<std::string>> gathered_;
  std::string ended_;
};

class ThreadSeat : public DeltaSeat {
 public:
  ThreadSeat(Rank rank, InprocHub& hub, Meeting& meeting, std::mutex& mutex,
             detail::DeltaResults& results)
      : rank_(rank),
        hub_(hub),
        transport_(hub.transport(rank)),
        meeting_(meeting),
        mutex_(mutex),
        results_(results) {}

  std::vector<std::string> all_gather(std::string_view blob) override {
    return meeting_.all_gather(rank_, blob);
  }
  Transport& connect(const RunContext&) override {
    hub_.enter();
    moves_ = true;
    return *transport_;
  }
  double start() override {
    // The latest to come says when.
    double latest = 0;
    const double now = steady_clock_s();
    for (const std::string& blob : all_gather({reinterpret_cast<const char*>(&now), sizeof now})) {
      double moment = 0;
      blob.copy(reinterpret_cast<char*>(&moment), sizeof moment);
      latest = std::max(latest, moment);
    }
    return latest;
  }
  void end() override {
    if (std::exchange(moves_, false)) hub_.leave();
    all_gather("");
  }
  void submit(std::string_view result) override {
    const std::lock_guard lock(mutex_);
    results_.add(rank_, result);
  }

 private:
  Rank rank_;
  InprocHub& hub_;
  bool moves_ = false;
  std::unique_ptr<Transport> transport_;
  Meeting& meeting_;
  std::mutex& mutex_;
  detail::DeltaResults& results_;
};

}  // namespace

DeltaMeasurement execute_delta_inproc(const Schedule& schedule, const Refit& refit,
                                      const Cluster& cluster, const DeltaRunOptions& options) {
  mode_of(schedule);  // refuses before anything is made
  const DeltaGeometry geometry(refit, schedule, options.segment_elements);
  const Moves planned = write_out(schedule, refit, cluster, options.moves);
  const RunContext context{schedule, refit, cluster, planned};
  const DeltaPlan plan{schedule, refit, cluster, geometry, options};
  detail::DeltaResults results("inproc", context, options);
  InprocHub hub(schedule.ranks);
  Meeting meeting(schedule.ranks);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&](Rank rank) {
    try {
      ThreadSeat seat(rank, hub, meeting, mutex, results);
      run_versions(plan, rank, seat);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
      hub.abort(error.what());
      meeting.end(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < schedule.ranks; ++r) threads.emplace_back(work, Rank(r));
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return results.put_together();
}

}  // namespace refit
