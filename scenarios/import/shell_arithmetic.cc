#include "scenarios/import/shell_arithmetic.h"

#include <cctype>
#include <charconv>

namespace refit {
namespace {

constexpr int kDeepest = 64;        // brackets, and variables that stand for variables
constexpr int kMostUnits = 10'000;  // numbers and names, counted anew in each variable's value

using Value = std::optional<std::int64_t>;

class Reader {
 public:
  Reader(std::string_view text, const ShellVariable& variable, int depth, int& units)
      : text_(text), variable_(variable), depth_(depth), units_(units) {}

  Value whole() {
    const Value value = sum();
    return at_end() ? value : std::nullopt;
  }

 private:
  Value sum() {
    Value left = product();
    while (left) {
      const char sign = peek();
      if (sign != '+' && sign != '-') break;
      ++at_;
      left = combine(*left, sign, product());
    }
    return left;
  }

  Value product() {
    Value left = unit();
    while (left) {
      const char sign = peek();
      if (sign != '*' && sign != '/' && sign != '%') break;
      ++at_;
      left = combine(*left, sign, unit());
    }
    return left;
  }

  Value unit() {
    if (++units_ > kMostUnits) return std::nullopt;
    const char c = peek();
    if (c == '-') {
      ++at_;
      return combine(0, '-', deeper([&] { return unit(); }));
    }
    if (c == '(') {
      ++at_;
      const Value inside = deeper([&] { return sum(); });
      if (peek() != ')') return std::nullopt;
      ++at_;
      return inside;
    }
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    return named();
  }

  Value number() {
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || (*begin == '0' && stop != begin + 1)) return std::nullopt;  // octal
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  // N, $N or ${N}. Its value is an expression, too.
  Value named() {
    const bool has_dollar = peek() == '$';
    if (has_dollar) ++at_;
    const bool is_braced = has_dollar && at_ < text_.size() && text_[at_] == '{';
    if (is_braced) ++at_;
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (is_braced && (at_ == text_.size() || text_[at_++] != '}')) return std::nullopt;
    if (name.empty()) return std::nullopt;
    const std::optional<std::string> value = variable_(name);
    if (!value) return std::nullopt;
    return deeper([&] { return Reader(*value, variable_, depth_, units_).whole(); });
  }

  static Value combine(std::int64_t left, char sign, Value right) {
    if (!right) return std::nullopt;
    std::int64_t result = 0;
    if (sign == '+' && !__builtin_add_overflow(left, *right, &result)) return result;
    if (sign == '-' && !__builtin_sub_overflow(left, *right, &result)) return result;
    if (sign == '*' && !__builtin_mul_overflow(left, *right, &result)) return result;
    if (*right == 0 || *right == -1) return std::nullopt;  // -1 could leave 64 bits
    if (sign == '/') return left / *right;
    if (sign == '%') return left % *right;
    return std::nullopt;
  }

  template <typename Read>
  Value deeper(Read read) {
    if (depth_ >= kDeepest) return std::nullopt;
    ++depth_;
    const Value value = read();
    --depth_;
    return value;
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool at_end() { return peek() == '\0' && at_ == text_.size(); }

  std::string_view text_;
  const ShellVariable& variable_;
  std::size_t at_ = 0;
  int depth_;
  int& units_;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellVariable& variable) {
  int units = 0;
  return Reader(text, variable, 0, units).whole();
}

}  // namespace refit
