#include "executor/job.h"

#include <chrono>
#include <thread>

#include "executor/detail/socket.h"
#include "executor/launch.h"
#include "executor/rank_control.h"

namespace refit {
namespace {

// Rank 0 may have started later or read its files more slowly; or it has met the same and is gone.
constexpr double kMostSkewSeconds = 5;
constexpr std::chrono::milliseconds kTimeToSpeak{300};

}  // namespace

bool tell_rank_zero(const RankEnvironment& place, const Error& error) {
  try {
    detail::Descriptor socket =
        detail::connect_to(place.master_host, place.master_port, {0, ""}, kMostSkewSeconds);
    RankControl control(place.rank, place.ranks, std::move(socket), {}, place.job);
    run_guarded(control, [&](RankControl&) { throw error; });
  } catch (const RankFailure& agreed) {
    if (agreed.failure().alone) return false;
    let_rank_zero_speak();
    return true;
  } catch (const Error&) {
  }
  return false;
}

void let_rank_zero_speak() { std::this_thread::sleep_for(kTimeToSpeak); }

}  // namespace refit
