#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refit {

// Numbers with units, as people write them. A number without a unit is refused, and so is a wrong,
// negative or overflowing one: Error(bad_input), with an example of what would be right.

// "400 Gbit/s", "400 Gb/s" (b is a bit), "50 GB/s" (B is a byte), "1.8 TB/s": bytes per second, >
// 0.
double parse_bandwidth(std::string_view text);

// "64 MiB", "1.5 GB", "512 B": bytes, rounded to the nearest integer, >= 0.
std::int64_t parse_bytes(std::string_view text);

// "5 us", "0.2 ms", "1 s", "300 ns": seconds, >= 0.
double parse_seconds(std::string_view text);

// For tables: "470.19 GB", "1.18 s", "400.0 Gbit/s". Decimal prefixes (GB = 1e9 bytes).
std::string format_bytes(double bytes);
std::string format_seconds(double seconds);
std::string format_bandwidth(double bytes_per_s);
std::string format_count(std::int64_t value);  // 249,756

}  // namespace refit
