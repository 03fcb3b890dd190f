#include "base/detail/utf8.h"

namespace refit::detail {

namespace {

struct Sequence {
  std::size_t bytes;           // 0: no sequence starts with this byte
  unsigned char second_least;  // the second byte's range keeps out overlong forms,
  unsigned char second_most;   // surrogates and code points above U+10FFFF
};

Sequence sequence_of(unsigned char lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

bool is_control(unsigned char byte) {
  return byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
}

}  // namespace

std::optional<std::size_t> first_unprintable(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const Sequence sequence = sequence_of(byte(i));
    if (sequence.bytes == 0 || is_control(byte(i)) || i + sequence.bytes > text.size()) return i;
    for (std::size_t k = 1; k < sequence.bytes; ++k) {
      const unsigned char least = k == 1 ? sequence.second_least : 0x80;
      const unsigned char most = k == 1 ? sequence.second_most : 0xBF;
      if (byte(i + k) < least || byte(i + k) > most) return i;
    }
    i += sequence.bytes;
  }
  return std::nullopt;
}

}  // namespace refit::detail
