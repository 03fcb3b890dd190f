#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "topology/import/node_shape.h"

namespace refit::detail {

// Notes of one file, each once. Of a file that is wrong everywhere the first ones are enough.
class NoteList {
 public:
  void add(std::string text) {
    if (is_full() || std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
    notes_.push_back(std::move(text));
  }
  bool is_full() const { return notes_.size() >= kMost; }
  ImportNotes take() { return std::move(notes_); }

 private:
  static constexpr std::size_t kMost = 32;
  ImportNotes notes_;
};

}  // namespace refit::detail
