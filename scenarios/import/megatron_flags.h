#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/import/imported.h"
#include "scenarios/import/shell_flags.h"

namespace refit {

inline constexpr const char* kMegatronModelKey = "model.name";

// Flags of Megatron, read with the line in front of each complaint. What the script leaves open
// goes to `out`.
class MegatronFlags {
 public:
  MegatronFlags(ShellFlags flags, std::string file, Imported& out)
      : flags_(std::move(flags)), file_(std::move(file)), out_(out) {}

  bool has(const char* flag) { return flags_.has(flag); }
  const std::vector<ShellFlags::Flag>& all() const { return flags_.all(); }

  // Nothing if it is not there, or if the script leaves its variable open: then `key` is asked for,
  // but of a model, which has a name besides, only noted.
  std::optional<std::string> text(const char* flag, const std::string& key);
  std::optional<std::int64_t> integer(const char* flag, const std::string& key,
                                      std::int64_t least = 1);
  // The end of a path, whatever its folder is; nothing if the script leaves it open.
  std::string last_part(const char* flag);
  // Copies a number to a key of a side; 1 if it is not there.
  std::int64_t copy(const char* flag, const char* side, ImportedPart& part, const char* key);

  [[noreturn]] void fail(const ShellFlags::Flag& flag, const std::string& message) const;
  [[noreturn]] void fail(const char* flag, const std::string& message);

 private:
  ShellFlags flags_;
  std::string file_;
  Imported& out_;
};

}  // namespace refit
