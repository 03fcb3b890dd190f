#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refit::detail {

// A line of a job's output without what launchers put in front or in between: "3: " of srun -l,
// "node-a: " of pdsh, a time or "[pod/x/y] " of kubectl logs, "[0]" and "[1,0]<stdout>:" of mpirun,
// which may stand inside of a row, between two numbers.
std::string without_tags(std::string_view line);

std::vector<std::string_view> words_of(std::string_view line);

// A text's lines one after the other, with their number from 1.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  // False at the end.
  bool next(std::string_view& line);
  int number() const { return number_; }

 private:
  std::string_view rest_;
  int number_ = 0;
};

// The whole word as a number; nothing if it is none, or not finite.
std::optional<double> number_in(std::string_view word);

}  // namespace refit::detail
