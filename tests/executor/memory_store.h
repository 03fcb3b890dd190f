#pragma once

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "executor/object_store/object_store.h"

namespace refit::test {

// Objects in memory, for one thread; whoever holds `objects` can do to them what storage does.
class MemoryStore : public ObjectStore {
 public:
  explicit MemoryStore(std::map<std::string, std::string>& objects) : objects_(objects) {}

  void put(const std::string& key, std::string_view bytes) override { objects_[key] = bytes; }

  std::string get(const std::string& key, std::uint64_t first, std::uint64_t bytes) override {
    const std::string& object = of(key);
    if (first + bytes > object.size())
      throw Error(ErrorCode::check_failed,
                  fmt::format("{}: has {} bytes, not {}", key, object.size(), first + bytes));
    return object.substr(first, bytes);
  }

  std::string get_all(const std::string& key, std::uint64_t) override { return of(key); }

 private:
  const std::string& of(const std::string& key) const {
    const auto at = objects_.find(key);
    if (at == objects_.end()) throw Error(ErrorCode::environment, key + ": is not there");
    return at->second;
  }

  std::map<std::string, std::string>& objects_;
};

}  // namespace refit::test
