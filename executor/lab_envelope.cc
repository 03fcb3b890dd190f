#include "executor/lab_envelope.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace refit {
namespace {

constexpr double kTrustedBytesPerSecond = 8e9 / 8;
constexpr double kTrustedCpuShare = 0.8;

double op_bytes(const Moves& moves, std::size_t op) {
  double bytes = 0;
  for (std::uint32_t m = moves.first_of_op[op]; m < moves.first_of_op[op + 1]; ++m)
    bytes += static_cast<double>(moves.moves[m].bytes());
  return bytes;
}

// Bytes per second in the busiest tenth of the last iteration, each op's spread evenly over its
// time. A shorter window would see socket buffers fill up and call that a rate.
double busiest_bytes_per_s(const Timeline& timeline, const Moves& moves) {
  constexpr int kWindows = 10;
  double end_s = 0;
  for (const Span& time : timeline) end_s = std::max(end_s, time.end_s);
  const double width_s = end_s / kWindows;
  std::array<double, kWindows> bytes{};
  for (std::size_t op = 0; op < timeline.size(); ++op) {
    const Span& time = timeline[op];
    const double duration_s = time.end_s - time.start_s;
    if (duration_s <= 0) continue;
    const double rate = op_bytes(moves, op) / duration_s;
    for (std::size_t w = 0; w < kWindows; ++w) {
      const double from = std::max(time.start_s, width_s * static_cast<double>(w));
      const double to = std::min(time.end_s, width_s * static_cast<double>(w + 1));
      bytes[w] += rate * std::max(0.0, to - from);
    }
  }
  return width_s > 0 ? *std::max_element(bytes.begin(), bytes.end()) / width_s : 0;
}

}  // namespace

std::string envelope_fault(const Measurement& measurement, const Moves& moves, int cores) {
  const double delivered = busiest_bytes_per_s(measurement.timeline, moves);
  if (delivered > kTrustedBytesPerSecond) {
    return fmt::format(
        "{:.1f} Gbit/s were delivered at once, more than the {:.0f} Gbit/s up to which a lab is "
        "exact; scale the rates down",
        delivered * 8e-9, kTrustedBytesPerSecond * 8e-9);
  }
  double wall_s = 0;
  for (const Iteration& iteration : measurement.iterations) wall_s += iteration.seconds;
  if (wall_s > 0 && measurement.cpu_s / wall_s > kTrustedCpuShare * cores) {
    return fmt::format(
        "{:.2f} CPU seconds per second were used, more than {:.2f} of {} cores; scale the rates "
        "down or use a machine with more cores",
        measurement.cpu_s / wall_s, kTrustedCpuShare * cores, cores);
  }
  return {};
}

}  // namespace refit
