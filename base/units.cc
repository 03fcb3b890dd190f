#include "base/units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"

namespace refit {

namespace {

// One unit's size is 10^power * scale. The power of ten is appended to the number's own digits
// before they are read and the scale is a power of two, so "1.8 TB/s" is the double nearest
// to 1.8e12.
struct Unit {
  std::string_view name;
  int power;
  double scale;
};

constexpr double kBit = 0.125;
constexpr double kKi = 1024.0, kMi = kKi * kKi, kGi = kMi * kKi, kTi = kGi * kKi;

constexpr Unit kBandwidthUnits[] = {
    {"B/s", 0, 1},       {"kB/s", 3, 1},       {"MB/s", 6, 1},      {"GB/s", 9, 1},
    {"TB/s", 12, 1},     {"KiB/s", 0, kKi},    {"MiB/s", 0, kMi},   {"GiB/s", 0, kGi},
    {"TiB/s", 0, kTi},   {"bit/s", 0, kBit},   {"kbit/s", 3, kBit}, {"Mbit/s", 6, kBit},
    {"Gbit/s", 9, kBit}, {"Tbit/s", 12, kBit}, {"b/s", 0, kBit},    {"kb/s", 3, kBit},
    {"Mb/s", 6, kBit},   {"Gb/s", 9, kBit},    {"Tb/s", 12, kBit}};
constexpr Unit kByteUnits[] = {{"B", 0, 1},     {"kB", 3, 1},   {"MB", 6, 1},    {"GB", 9, 1},
                               {"TB", 12, 1},   {"PB", 15, 1},  {"KiB", 0, kKi}, {"MiB", 0, kMi},
                               {"GiB", 0, kGi}, {"TiB", 0, kTi}};
constexpr Unit kSecondUnits[] = {{"ns", -9, 1}, {"us", -6, 1}, {"ms", -3, 1}, {"s", 0, 1}};

struct Quantity {
  std::span<const Unit> units;
  std::string_view example;
};

constexpr Quantity kBandwidth{kBandwidthUnits, "400 Gbit/s"};
constexpr Quantity kBytes{kByteUnits, "64 MiB"};
constexpr Quantity kSeconds{kSecondUnits, "5 us"};

[[noreturn]] void refuse(std::string_view text, std::string_view what, std::string_view right) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}; write it like {}",
                                                text.empty() ? "''" : shown(text), what, right));
}

[[noreturn]] void refuse(std::string_view text, std::string_view what, const Quantity& quantity) {
  refuse(text, what, fmt::format("'{}'", quantity.example));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - begin;
}

// "1.5e3 GB": digits "1.5", exponent 3, unit "GB".
struct Parts {
  std::string_view digits;
  std::string_view exponent;  // without the e; empty if there is none
  std::string_view unit;
};

std::optional<Parts> split(std::string_view text) {
  std::size_t end = digits_at(text, 0);
  if (end == 0) return std::nullopt;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = digits_at(text, end + 1);
    if (fraction == 0) return std::nullopt;
    end += 1 + fraction;
  }
  Parts parts{.digits = text.substr(0, end), .exponent = {}, .unit = {}};
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const bool is_signed = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+');
    const std::size_t begin = end + 1 + (is_signed ? 1 : 0);
    const std::size_t length = digits_at(text, begin);
    if (length > 0) {
      // from_chars reads no plus sign.
      const std::size_t first = is_signed && text[end + 1] == '-' ? begin - 1 : begin;
      parts.exponent = text.substr(first, begin + length - first);
      end = begin + length;
    }
  }
  while (end < text.size() && text[end] == ' ') ++end;
  parts.unit = text.substr(end);
  return parts;
}

std::string lower(std::string_view text) {
  std::string word(text);
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

// What `unit` may have meant: "gb/s" is Gb/s or GB/s, "Gbps" is Gbit/s, "mib" is MiB.
std::vector<std::string_view> meant(std::string unit, const Quantity& quantity) {
  if (unit.ends_with("bps")) unit.replace(unit.size() - 3, 3, "bit/s");
  if (unit.ends_with("Bps")) unit.replace(unit.size() - 3, 3, "B/s");
  std::vector<std::string_view> names;
  for (const Unit& known : quantity.units) {
    if (known.name == unit) return {known.name};
    const std::string name = lower(known.name);
    if (name == lower(unit) || name == lower(unit) + "/s") names.push_back(known.name);
  }
  return names;
}

[[noreturn]] void refuse_unit(std::string_view text, const Parts& parts, const Quantity& quantity) {
  std::string right;
  for (const std::string_view name : meant(std::string(parts.unit.substr(0, 16)), quantity)) {
    if (!right.empty()) right += " or ";
    right += fmt::format("'{} {}'", shown(parts.digits), name);
  }
  if (right.empty()) right = fmt::format("'{}'", quantity.example);
  refuse(text, fmt::format("unknown unit '{}'", shown(parts.unit)), right);
}

// The number in the unit's base: bytes, seconds or bytes per second; finite and >= 0.
template <class Float>
Float parse(std::string_view text, const Quantity& quantity) {
  if (text.starts_with('-')) refuse(text, "a negative number", quantity);
  const std::optional<Parts> parts = split(text);
  if (!parts) refuse(text, "not a number with a unit", quantity);
  if (parts->unit.empty()) refuse(text, "a number without a unit", quantity);
  const auto unit = std::find_if(quantity.units.begin(), quantity.units.end(),
                                 [&](const Unit& known) { return known.name == parts->unit; });
  if (unit == quantity.units.end()) refuse_unit(text, *parts, quantity);

  constexpr int kMostExponent = 1000;
  int exponent = 0;
  if (!parts->exponent.empty()) {
    const char* end = parts->exponent.data() + parts->exponent.size();
    const auto [stop, error] = std::from_chars(parts->exponent.data(), end, exponent);
    if (error != std::errc() || std::abs(exponent) > kMostExponent) {
      refuse(text, "out of range", quantity);
    }
  }
  const std::string number = fmt::format("{}e{}", parts->digits, exponent + unit->power);
  Float value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc()) refuse(text, "out of range", quantity);
  value *= static_cast<Float>(unit->scale);
  if (!std::isfinite(value)) refuse(text, "out of range", quantity);
  return value;
}

}  // namespace

double parse_bandwidth(std::string_view text) {
  const auto bytes_per_s = parse<double>(text, kBandwidth);
  if (bytes_per_s == 0) refuse(text, "no bandwidth at all", kBandwidth);
  return bytes_per_s;
}

std::int64_t parse_bytes(std::string_view text) {
  // A double would lose the last bytes of a size past 2^53.
  const long double bytes = std::round(parse<long double>(text, kBytes));
  if (bytes >= 9223372036854775808.0L) refuse(text, "more than 2^63 bytes", kBytes);
  return static_cast<std::int64_t>(bytes);
}

double parse_seconds(std::string_view text) { return parse<double>(text, kSeconds); }

}  // namespace refit
