#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedule/detail/schedule_json_values.h"

namespace refit::detail {

// One value out of the parser's events. A list keeps its room until the next value, so that a
// million rows of numbers take no memory each.
class ValueBuilder {
 public:
  template <class Value>
  Json& add(Value&& value) {
    if (open_.empty()) return value_ = std::forward<Value>(value);
    Json& inside = *open_.back();
    if (auto* list = inside.get_ptr<Json::array_t*>())
      return list->emplace_back(std::forward<Value>(value));
    return inside[key_] = std::forward<Value>(value);
  }

  // What is added until close() stands inside this empty list or object.
  void open(Json::value_t container) {
    if (open_.empty() && container == Json::value_t::array && value_.is_array()) {
      value_.clear();
      open_.push_back(&value_);
    } else {
      open_.push_back(&add(container));
    }
  }
  void close() { open_.pop_back(); }

  // The key of what is added next; false if the object has such a member already.
  bool name_next(const std::string& key) {
    key_ = key;
    return !open_.back()->contains(key_);
  }

  bool is_complete() const { return open_.empty(); }
  Json& value() { return value_; }

 private:
  Json value_;
  std::vector<Json*> open_;  // the containers around what comes next, outermost first
  std::string key_;
};

}  // namespace refit::detail
