#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace refit {

namespace detail {
struct FreeHashState {
  void operator()(void* state) const;
};
}  // namespace detail

// 16 bytes that name something: a model, a plan, the weights of a version.
struct Hash128 {
  std::array<std::byte, 16> bytes{};

  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

std::string to_hex(const Hash128& hash);
std::string to_hex(std::uint64_t hash);

// XXH3. Against accidents, not against attackers: whoever can write the storage can also write
// hashes.
std::uint64_t hash64(std::span<const std::byte> bytes);

// The same over what is added, piece by piece. Copies go on apart.
class Hasher64 {
 public:
  Hasher64();
  Hasher64(const Hasher64& other);
  Hasher64& operator=(const Hasher64& other);
  Hasher64& add(std::span<const std::byte> bytes);
  std::uint64_t digest() const;

 private:
  std::unique_ptr<void, detail::FreeHashState> state_;
};

// XXH3 with 128 bits over what is added, in canonical byte order.
class Hasher128 {
 public:
  Hasher128();
  Hasher128& add(std::span<const std::byte> bytes);
  Hasher128& add(std::uint64_t number);  // eight bytes, least first
  Hasher128& add(const std::string& text);
  Hash128 digest() const;

 private:
  std::unique_ptr<void, detail::FreeHashState> state_;
};

}  // namespace refit
