#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refit::detail {

// A run of letters in lower case, a whole number, or one other character.
struct Word {
  std::string text;
  std::optional<int> number;
  bool adjacent = false;  // no blank stands before it
};

// "TP=4, 8xTP2" is tp = 4 , 8 x tp 2; the multiplication sign is an x, "_" a blank, and blanks
// themselves are left out. Numbers beyond an int are 0.
std::vector<Word> split_words(std::string_view text);

// Letters, digits and dots together, in lower case: "Qwen3-30B-A3B (by size)" is qwen3 30b a3b by
// size.
std::vector<std::string> split_names(std::string_view text);

// Whether `text`, in lower case, holds one of the words.
bool has_any(std::string_view text, std::initializer_list<std::string_view> words);

}  // namespace refit::detail
