#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refit {

// Named sequences of bytes that somebody else keeps: written as a whole, read by ranges. An object
// can be read once put() has returned, and then it is all there. Used by one thread.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Replaces an object of the same name. Error(environment) if it can't be written.
  virtual void put(const std::string& key, std::string_view bytes) = 0;

  // `bytes` of the object from `first` on. Error(environment) if they can't be read, also because
  // the object is missing; Error(check_failed) if it is shorter.
  virtual std::string get(const std::string& key, std::uint64_t first, std::uint64_t bytes) = 0;

  // All of it, at most so many bytes.
  virtual std::string get_all(const std::string& key, std::uint64_t most_bytes) = 0;
};

}  // namespace refit
