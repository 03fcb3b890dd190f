#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace refit::detail {

// Bits are written from the lowest of each byte; words are loaded and stored whole.
static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t low_bits(std::uint64_t value, int bits) {
  return value & ((std::uint64_t{1} << bits) - 1);
}

// The place in a buffer where bits go next. A value, so that a loop keeps it in registers.
struct BitCursor {
  std::byte* at = nullptr;
  std::uint64_t held = 0;
  int held_bits = 0;  // below 8 between two puts

  // At most 56 bits; those of `value` above are zero. No branch, and 8 bytes are written whatever
  // is used of them.
  void put(std::uint64_t value, int bits) {
    held |= value << held_bits;
    held_bits += bits;
    std::memcpy(at, &held, sizeof held);
    const int whole = held_bits >> 3;
    at += whole;
    held >>= whole * 8;
    held_bits &= 7;
  }
};

// Appends bits to bytes. `open` makes room for so many, and the cursor doesn't look.
class BitWriter {
 public:
  explicit BitWriter(std::vector<std::byte>& bytes) : bytes_(bytes), used_(bytes.size()) {}

  BitCursor open(std::uint64_t most_bits) {
    bytes_.resize(used_ + most_bits / 8 + 16);
    return {bytes_.data() + used_, held_, held_bits_};
  }

  void close(const BitCursor& cursor) {
    used_ = static_cast<std::size_t>(cursor.at - bytes_.data());
    held_ = cursor.held;
    held_bits_ = cursor.held_bits;
  }

  void put(std::uint64_t value, int bits) {
    BitCursor cursor = open(64);
    cursor.put(value, bits);
    close(cursor);
  }

  // Fills the last byte with zeros. Every stream ends so.
  void finish() {
    bytes_.resize(used_ + (held_bits_ > 0 ? 1 : 0));
    if (held_bits_ > 0) bytes_[used_] = static_cast<std::byte>(held_);
    used_ = bytes_.size();
    held_ = 0;
    held_bits_ = 0;
  }

 private:
  std::vector<std::byte>& bytes_;
  std::size_t used_ = 0;
  std::uint64_t held_ = 0;
  int held_bits_ = 0;
};

[[noreturn]] inline void bad_payload(const std::string& what) {
  throw Error(ErrorCode::bad_input, "segment payload: " + what);
}

// Reads what BitWriter wrote, or anything at all: past the end come zeros, and `finish` or the
// first code without an end says so.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes)
      : bytes_(bytes), whole_words_(bytes.size() < 8 ? 0 : bytes.size() - 7) {}

  // The next bits, at least 57 of them, without passing them.
  std::uint64_t peek() const {
    const std::uint64_t byte = bit_ >> 3;
    std::uint64_t word = 0;
    if (byte < whole_words_) [[likely]] {
      std::memcpy(&word, bytes_.data() + byte, sizeof word);
    } else if (byte < bytes_.size()) {
      std::memcpy(&word, bytes_.data() + byte, bytes_.size() - byte);
    }
    return word >> (bit_ & 7);
  }

  void skip(int bits) { bit_ += static_cast<std::uint64_t>(bits); }

  // At most 56 bits.
  std::uint64_t get(int bits) {
    const std::uint64_t value = low_bits(peek(), bits);
    skip(bits);
    return value;
  }

  // Zeros up to the next one, which is passed too.
  std::uint64_t zeros() {
    std::uint64_t count = 0;
    for (;;) {
      const std::uint64_t word = low_bits(peek(), 56);
      if (word != 0) {
        const int here = std::countr_zero(word);
        skip(here + 1);
        return count + static_cast<std::uint64_t>(here);
      }
      if (bit_ >= 8 * bytes_.size()) bad_payload("ends in the middle of a code");
      skip(56);
      count += 56;
    }
  }

  // Passes the zeros that fill a byte.
  void align() {
    const int rest = static_cast<int>(-bit_ & 7);
    if (get(rest) != 0) bad_payload("bits that fill a byte are not zero");
  }

  // The bytes not read yet, after `align`.
  std::span<const std::byte> rest() const {
    return bytes_.subspan(std::min<std::size_t>(bit_ >> 3, bytes_.size()));
  }

  void finish() {
    align();
    if (bit_ > 8 * bytes_.size()) bad_payload("ends too early");
    if (bit_ < 8 * bytes_.size())
      bad_payload(std::to_string(bytes_.size() - bit_ / 8) + " bytes are left over");
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t whole_words_;  // a word that begins before here is inside
  std::uint64_t bit_ = 0;
};

}  // namespace refit::detail
