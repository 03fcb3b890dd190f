#pragma once

#include <stdexcept>
#include <string>

namespace refit {

// Why work can't go on. The values are the exit codes of the command.
enum class ErrorCode {
  check_failed = 1,  // a plan or a comparison did not hold
  bad_input = 2,     // a file, an option or a layout is wrong; the message says what would be right
  environment = 3,   // the machine lacks something: a file, memory, a tool
};

// The one exception type we throw. Messages say where, what, and what would be right.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace refit
