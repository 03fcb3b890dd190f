#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executor/detail/frame.h"

namespace refit {

// What ranks tell each other of a version: entries of one kind, one behind the other.
template <class T>
std::string blob_of(const std::vector<T>& entries) {
  std::string out;
  for (const T& entry : entries) detail::put(out, entry);
  return out;
}

template <class T>
std::vector<T> entries_of(std::string_view in) {
  std::vector<T> entries;
  while (!in.empty()) entries.push_back(detail::take<T>(in));
  return entries;
}

}  // namespace refit
