#include "delta/hash.h"

#include <xxhash.h>

#include <new>
#include <string>

#include <fmt/format.h>

#include "delta/detail/little_endian.h"

namespace refit {
namespace {

XXH3_state_t* state_of(void* state) { return static_cast<XXH3_state_t*>(state); }

}  // namespace

std::string to_hex(const Hash128& hash) {
  std::string text;
  for (const std::byte byte : hash.bytes) text += fmt::format("{:02x}", static_cast<int>(byte));
  return text;
}

std::string to_hex(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

std::uint64_t hash64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Hasher64::Hasher64() : state_(XXH3_createState()) {
  if (!state_ || XXH3_64bits_reset(state_of(state_.get())) != XXH_OK) throw std::bad_alloc();
}

Hasher64::Hasher64(const Hasher64& other) : Hasher64() { *this = other; }

Hasher64& Hasher64::operator=(const Hasher64& other) {
  if (this != &other) XXH3_copyState(state_of(state_.get()), state_of(other.state_.get()));
  return *this;
}

Hasher64& Hasher64::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(state_of(state_.get()), bytes.data(), bytes.size());
  return *this;
}

std::uint64_t Hasher64::digest() const { return XXH3_64bits_digest(state_of(state_.get())); }

Hasher128::Hasher128() : state_(XXH3_createState()) {
  if (!state_ || XXH3_128bits_reset(state_of(state_.get())) != XXH_OK) throw std::bad_alloc();
}

void detail::FreeHashState::operator()(void* state) const { XXH3_freeState(state_of(state)); }

Hasher128& Hasher128::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_of(state_.get()), bytes.data(), bytes.size());
  return *this;
}

Hasher128& Hasher128::add(std::uint64_t number) {
  std::byte bytes[8];
  detail::store_little(bytes, number);
  return add(bytes);
}

Hasher128& Hasher128::add(const std::string& text) {
  add(std::uint64_t{text.size()});  // so that "ab" "c" is not "a" "bc"
  return add(std::as_bytes(std::span(text)));
}

Hash128 Hasher128::digest() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_of(state_.get())));
  Hash128 hash;
  for (std::size_t i = 0; i < hash.bytes.size(); ++i) {
    hash.bytes[i] = static_cast<std::byte>(canonical.digest[i]);
  }
  return hash;
}

}  // namespace refit
