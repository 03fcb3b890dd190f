#include "cli/bar.h"

#include <fmt/format.h>

#include "base/units.h"

namespace refit {
namespace {

constexpr std::size_t kWidth = 20;
constexpr double kLongestInSeconds = 90;

std::string count(std::size_t number) { return format_count(static_cast<std::int64_t>(number)); }

}  // namespace

void Bar::show(const SweepProgress& now) {
  if (now.points == 0) return;
  const std::size_t ended = now.known + now.done;
  const std::size_t full = kWidth * ended / now.points;
  std::string text = fmt::format("{} [{}{}] {} of {} points", doing_, std::string(full, '#'),
                                 std::string(kWidth - full, '-'), count(ended), count(now.points));
  if (now.done > 0 && ended < now.points) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    const double left_s =
        passed.count() / static_cast<double>(now.done) * static_cast<double>(now.points - ended);
    text += left_s < kLongestInSeconds ? fmt::format(", about {:.0f} s left", left_s)
                                       : fmt::format(", about {:.0f} min left", left_s / 60);
  }
  progress_.say(text);
}

}  // namespace refit
