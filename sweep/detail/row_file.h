#pragma once

#include <string>
#include <string_view>

namespace refit::detail {

// A text file that only grows, by whole lines, for one process at a time.
class RowFile {
 public:
  // Makes the file with its first line. With `resume` it may be there, and what it has is text().
  // Error(bad_input) if it is there without `resume` or begins otherwise, Error(environment) if it
  // can't be written or another process has it open so.
  RowFile(const std::string& path, std::string_view header, bool resume);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  // What was there, whole lines only; the header at least.
  const std::string& text() const { return text_; }

  void append(std::string_view line);  // without its end

 private:
  void write(std::string_view text);
  void take_lock();
  void read_all();
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int file_ = -1;
  std::string text_;
};

}  // namespace refit::detail
