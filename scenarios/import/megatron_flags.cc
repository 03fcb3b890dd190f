#include "scenarios/import/megatron_flags.h"

#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

constexpr std::int64_t kMost = 1'000'000;

}  // namespace

std::optional<std::string> MegatronFlags::text(const char* flag, const std::string& key) {
  const ShellFlags::Flag* found = flags_.find(flag);
  if (found == nullptr) return std::nullopt;
  if (found->values.empty() || found->values.front().empty())
    fail(*found, "expected a value behind it");
  if (const auto variable = open_variable(found->values.front())) {
    if (key == kMegatronModelKey) {
      out_.left_out.push_back(fmt::format(
          "{} is {}, which the file does not set; not compared with the model", flag, *variable));
    } else {
      out_.asked.push_back(
          fmt::format("{}: {} is {}, which the file does not set", key, flag, *variable));
    }
    return std::nullopt;
  }
  return found->values.front();
}

std::optional<std::int64_t> MegatronFlags::integer(const char* flag, const std::string& key,
                                                   std::int64_t least) {
  const auto word = text(flag, key);
  if (!word || *word == "None") return std::nullopt;
  std::int64_t value = 0;
  const char* end = word->data() + word->size();
  const auto [stop, error] = std::from_chars(word->data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > kMost)
    fail(*flags_.find(flag),
         fmt::format("expected an integer from {} to {}, got '{}'", least, kMost, shown(*word)));
  return value;
}

std::string MegatronFlags::last_part(const char* flag) {
  const ShellFlags::Flag* found = flags_.find(flag);
  if (found == nullptr || found->values.empty()) return {};
  const std::string& path = found->values.front();
  const std::string whole = path.substr(0, path.find_last_not_of('/') + 1);
  const std::string last = whole.substr(whole.rfind('/') + 1);
  return open_variable(last) ? std::string() : last;
}

std::int64_t MegatronFlags::copy(const char* flag, const char* side, ImportedPart& part,
                                 const char* key) {
  const auto value = integer(flag, fmt::format("{}.{}", side, key));
  if (value) set_key(part, key, fmt::format("{}", *value), flag);
  return value.value_or(1);
}

void MegatronFlags::fail(const ShellFlags::Flag& flag, const std::string& message) const {
  throw Error(ErrorCode::bad_input,
              fmt::format("{}:{}: {}: {}", file_, flag.line, flag.name, message));
}

void MegatronFlags::fail(const char* flag, const std::string& message) {
  fail(*flags_.find(flag), message);
}

}  // namespace refit
