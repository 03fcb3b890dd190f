#include "sweep/detail/formula.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"

namespace refit::detail {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;  // a product of two fits in 64 bits

constexpr std::string_view kBetween = " +-*/";  // words

class Formula {
 public:
  Formula(const std::string& text, const YamlTree& tree, const std::string& where)
      : text_(text), rest_(text), tree_(tree), where_(where) {}

  std::int64_t value() {
    std::int64_t sum = product();
    while (const auto sign = one_of("+-")) {
      const std::int64_t term = product();
      sum = checked(*sign == '+' ? sum + term : sum - term);
    }
    if (!rest_.empty())
      fail(fmt::format("can't read '{}'; write whole numbers and paths, as in cluster.nodes * 8",
                       rest_));
    return sum;
  }

 private:
  std::int64_t product() {
    std::int64_t result = operand();
    while (const auto sign = one_of("*/")) {
      const std::int64_t factor = operand();
      if (*sign == '*') {
        result = checked(result * factor);
        continue;
      }
      if (factor == 0 || result % factor != 0)
        fail(fmt::format("{} does not divide {}", factor, result));
      result /= factor;
    }
    return result;
  }

  std::int64_t operand() {
    skip_blanks();
    const std::size_t end = std::min(rest_.find_first_of(kBetween), rest_.size());
    const std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    if (word.empty()) fail("a number or a path is missing");
    if (const auto number = whole(word)) return *number;
    const YamlTree* found = find_in(tree_, split_path(word, where_));
    if (found == nullptr) fail(fmt::format("there is nothing at {}", word));
    const auto number = whole(found->text);
    if (!number) fail(fmt::format("{} is '{}', no whole number", word, one_line(*found)));
    return *number;
  }

  std::optional<char> one_of(std::string_view signs) {
    skip_blanks();
    if (rest_.empty() || signs.find(rest_.front()) == signs.npos) return std::nullopt;
    const char sign = rest_.front();
    rest_.remove_prefix(1);
    return sign;
  }

  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  std::optional<std::int64_t> whole(const std::string& word) const {
    std::int64_t number = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
    return checked(number);
  }

  std::int64_t checked(std::int64_t number) const {
    if (number > kMost || number < -kMost) fail(fmt::format("is larger than {}", kMost));
    return number;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}: '{}': {}", where_, text_, what));
  }

  const std::string& text_;
  std::string_view rest_;
  const YamlTree& tree_;
  const std::string& where_;
};

}  // namespace

std::vector<std::string> paths_in(const std::string& formula) {
  std::vector<std::string> paths;
  std::string word;
  for (const char c : formula + " ") {
    if (kBetween.find(c) == kBetween.npos) {
      word += c;
      continue;
    }
    if (word.find_first_not_of("0123456789") != word.npos) paths.push_back(word);
    word.clear();
  }
  return paths;
}

std::int64_t formula_value(const std::string& formula, const YamlTree& tree,
                           const std::string& where) {
  return Formula(formula, tree, where).value();
}

}  // namespace refit::detail
