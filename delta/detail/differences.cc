#include "delta/detail/differences.h"

#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "delta/detail/gaps.h"

namespace refit::detail {
namespace {

constexpr int kOrderBits = 5;
constexpr int kMostOrder = 31;
constexpr int kExceptionCountOrder = 3;
constexpr double kMostExceptions = 0.35;  // a share; beyond, places cost more than magnitudes save
constexpr std::uint64_t kMostCodeBits = 65;

// zeros, one, then as many low bits as there were zeros, and `order` more.
void put_golomb(BitCursor& cursor, std::uint32_t value, int order) {
  const std::uint64_t shifted = value + (std::uint64_t{1} << order);
  const int bits = static_cast<int>(std::bit_width(shifted)) - 1;
  const int zeros = bits - order;
  const std::uint64_t low = low_bits(shifted, bits);
  const std::uint64_t one = std::uint64_t{1} << zeros;
  if (zeros + 1 + bits <= 56) [[likely]] {
    cursor.put((low << (zeros + 1)) | one, zeros + 1 + bits);
  } else {
    cursor.put(one, zeros + 1);
    cursor.put(low, bits);
  }
}

std::uint32_t get_golomb(BitReader& in, int order) {
  const std::uint64_t zeros = in.zeros();
  const std::uint64_t bits = zeros + static_cast<std::uint64_t>(order);
  if (bits > 32) bad_payload(fmt::format("a number of {} bits; at most 32 is possible", bits));
  const std::uint64_t value =
      ((std::uint64_t{1} << bits) | in.get(static_cast<int>(bits))) - (std::uint64_t{1} << order);
  if (value > 0xffffffffu) bad_payload("a number of more than 32 bits");
  return static_cast<std::uint32_t>(value);
}

std::uint32_t magnitude(std::int32_t difference) {
  const auto bits = static_cast<std::uint32_t>(difference);
  return difference < 0 ? 0u - bits : bits;
}

std::int32_t negated(std::int32_t difference) {
  return static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(difference));
}

void put_signs(BitWriter& out, std::span<const std::int32_t> differences) {
  BitCursor cursor = out.open(differences.size() + 32);
  for (std::size_t i = 0; i < differences.size(); i += 32) {
    const int count = static_cast<int>(std::min<std::size_t>(32, differences.size() - i));
    std::uint64_t bits = 0;
    for (int j = 0; j < count; ++j)
      bits |= static_cast<std::uint64_t>(differences[i + static_cast<std::size_t>(j)] < 0) << j;
    cursor.put(bits, count);
  }
  out.close(cursor);
}

void get_signs(BitReader& in, std::span<std::int32_t> differences) {
  for (std::size_t i = 0; i < differences.size(); i += 32) {
    const int count = static_cast<int>(std::min<std::size_t>(32, differences.size() - i));
    const std::uint64_t bits = in.get(count);
    for (int j = 0; j < count; ++j)
      differences[i + static_cast<std::size_t>(j)] = 1 - 2 * static_cast<int>((bits >> j) & 1);
  }
}

std::uint64_t golomb_bits(std::uint32_t value, int order) {
  return 2 * static_cast<std::uint64_t>(std::bit_width(value + (std::uint64_t{1} << order))) - 1 -
         static_cast<std::uint64_t>(order);
}

// The first order that another one more would not better.
int best_order(std::span<const std::int32_t> differences) {
  const auto bits_with = [&](int order) {
    std::uint64_t bits = 0;
    for (const std::int32_t d : differences) bits += golomb_bits(magnitude(d) - 1, order);
    return bits;
  };
  int order = 0;
  for (std::uint64_t bits = bits_with(0); order < kMostOrder; ++order) {
    const std::uint64_t more = bits_with(order + 1);
    if (more >= bits) break;
    bits = more;
  }
  return order;
}

void put_all(BitWriter& out, std::span<const std::int32_t> differences) {
  const int order = best_order(differences);
  BitCursor cursor = out.open(kOrderBits + kMostCodeBits * differences.size());
  cursor.put(static_cast<std::uint64_t>(order), kOrderBits);
  for (const std::int32_t d : differences) put_golomb(cursor, magnitude(d) - 1, order);
  out.close(cursor);
}

void get_all(BitReader& in, std::span<std::int32_t> differences) {
  const int order = static_cast<int>(in.get(kOrderBits));
  for (std::int32_t& d : differences)
    d = static_cast<std::int32_t>(static_cast<std::uint32_t>(d) * (get_golomb(in, order) + 1));
}

void put_exceptions(BitWriter& out, std::span<const std::int32_t> differences,
                    std::span<const std::uint32_t> places) {
  put_count(out, static_cast<std::uint32_t>(places.size()), kExceptionCountOrder);
  put_gaps(out, places);
  BitCursor cursor = out.open(kMostCodeBits * places.size());
  for (const std::uint32_t place : places) put_golomb(cursor, magnitude(differences[place]) - 2, 0);
  out.close(cursor);
}

void get_exceptions(BitReader& in, std::span<std::int32_t> differences) {
  const std::uint32_t count = get_count(in, kExceptionCountOrder);
  if (count > differences.size())
    bad_payload(fmt::format("{} exceptions among {} changes", count, differences.size()));
  thread_local std::vector<std::uint32_t> places;
  places.resize(count);
  get_gaps(in, places, differences.size());
  for (const std::uint32_t place : places) {
    std::int32_t& d = differences[place];
    const auto size = static_cast<std::int32_t>(get_golomb(in, 0) + 2);
    d = d < 0 ? negated(size) : size;
  }
}

}  // namespace

void put_differences(BitWriter& out, std::span<const std::int32_t> differences) {
  if (differences.empty()) return;
  put_signs(out, differences);
  thread_local std::vector<std::uint32_t> places;
  places.resize(differences.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    places[count] = static_cast<std::uint32_t>(i);
    count += magnitude(differences[i]) != 1 ? 1 : 0;
  }
  const bool all =
      static_cast<double>(count) > kMostExceptions * static_cast<double>(differences.size());
  out.put(all ? 1 : 0, 1);
  if (all) {
    put_all(out, differences);
  } else {
    put_exceptions(out, differences, std::span(places).first(count));
  }
}

void get_differences(BitReader& in, std::span<std::int32_t> differences) {
  if (differences.empty()) return;
  get_signs(in, differences);
  if (in.get(1) != 0) {
    get_all(in, differences);
  } else {
    get_exceptions(in, differences);
  }
}

void put_count(BitWriter& out, std::uint32_t count, int order) {
  BitCursor cursor = out.open(kMostCodeBits);
  put_golomb(cursor, count, order);
  out.close(cursor);
}

std::uint32_t get_count(BitReader& in, int order) { return get_golomb(in, order); }

}  // namespace refit::detail
