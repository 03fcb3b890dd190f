#include <cmath>
#include <cstddef>
#include <span>

#include <fmt/format.h>

#include "base/units.h"

namespace refit {

namespace {

// The largest prefix that leaves at least 1, also after rounding: 999.996 GB prints as 1.00 TB.
std::string format_scaled(double value, std::span<const std::string_view> units, int decimals) {
  std::size_t i = 0;
  std::string number = fmt::format("{:.{}f}", value, decimals);
  const double rounds_up = 1000 - 0.5 * std::pow(10.0, -decimals);
  while (i + 1 < units.size() && std::abs(value) >= rounds_up) {
    value /= 1000;
    ++i;
    number = fmt::format("{:.{}f}", value, decimals);
  }
  return fmt::format("{} {}", number, units[i]);
}

}  // namespace

std::string format_bytes(double bytes) {
  static constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes == std::trunc(bytes) && std::abs(bytes) < 1000) return fmt::format("{:.0f} B", bytes);
  return format_scaled(bytes, kUnits, 2);
}

std::string format_seconds(double seconds) {
  static constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s"};
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) >= 1) return fmt::format("{:.2f} s", seconds);
  return format_scaled(seconds * 1e9, kUnits, 2);
}

std::string format_bandwidth(double bytes_per_s) {
  static constexpr std::string_view kUnits[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
  return format_scaled(bytes_per_s * 8, kUnits, 1);
}

std::string format_count(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

}  // namespace refit
