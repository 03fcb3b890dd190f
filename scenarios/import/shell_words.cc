#include "scenarios/import/shell_words.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/import/shell_arithmetic.h"

namespace refit {
namespace {

// Substituted values can be substituted again; no command line is longer.
constexpr std::size_t kMostWord = std::size_t{1} << 16;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // that all words take

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  if (std::isdigit(static_cast<unsigned char>(word.front()))) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_name);
}

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& file, const SourcedText& source)
      : text_(text), file_(file), source_(source) {}

  std::vector<ShellWord> words() {
    scan();
    return std::move(words_);
  }

 private:
  void scan() {
    while (at_ < text_.size()) step();
    end_word();
  }

  void step() {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (quote_ != 0) return step_quoted(c);
    if (c == '\\') {
      if (next() == '\r') ++at_;
      if (next() == '\n') {
        ++line_;
      } else if (at_ + 1 < text_.size()) {
        put(next());
      }
      at_ += 2;
    } else if (c == '\'' || c == '"') {
      quote_ = c;
      in_word_ = true;
      ++at_;
    } else if (c == '$') {
      substitute();
    } else if (c == '#' && !in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (std::isspace(static_cast<unsigned char>(c)) || c == ';' || c == '&') {
      end_word();
      ++at_;
    } else if (c == '(' && in_word_ && word_.size() > 1 && word_.back() == '=' &&
               is_assignment(word_)) {
      word_.clear();  // an array: its words follow
      in_word_ = false;
      ++arrays_;
      ++at_;
    } else if (c == ')' && arrays_ > 0 && open_brackets() == 0) {
      end_word();
      --arrays_;
      ++at_;
    } else {
      put(c);
      ++at_;
    }
  }

  void step_quoted(char c) {
    if (c == quote_) {
      quote_ = 0;
      ++at_;
    } else if (quote_ == '"' && c == '$') {
      substitute();
    } else if (quote_ == '"' && c == '\\' && at_ + 1 < text_.size()) {
      if (next() == '\n') {
        ++line_;
      } else {
        put(next());
      }
      at_ += 2;
    } else {
      put(c);
      ++at_;
    }
  }

  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  std::ptrdiff_t open_brackets() const {
    return std::count(word_.begin(), word_.end(), '(') -
           std::count(word_.begin(), word_.end(), ')');
  }

  void put(char c) {
    if (!in_word_) word_line_ = line_;
    in_word_ = true;
    if (word_.size() < kMostWord) word_ += c;
  }

  void put(std::string_view text) {
    if (text.empty()) return;
    put(text.front());
    word_.append(text.substr(1, kMostWord - word_.size()));
  }

  // At a '$'.
  void substitute() {
    const std::size_t begin = at_;
    if (next() == '(' || next() == '{') {
      const char open = next(), close = open == '(' ? ')' : '}';
      int depth = 0;
      for (++at_; at_ < text_.size(); ++at_) {
        if (text_[at_] == open) ++depth;
        if (text_[at_] == close && --depth == 0) break;
      }
      at_ = std::min(at_ + 1, text_.size());
      const std::string_view whole = text_.substr(begin, at_ - begin);
      line_ += static_cast<int>(std::count(whole.begin(), whole.end(), '\n'));
      if (whole.size() >= 5 && whole.starts_with("$((") && whole.ends_with("))"))
        return put_arithmetic(whole);
      if (open == '(' || whole.size() < 4) return put(whole);
      return put_variable(whole.substr(2, whole.size() - 3), whole);
    }
    ++at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    put_variable(text_.substr(begin + 1, at_ - begin - 1), text_.substr(begin, at_ - begin));
  }

  void put_arithmetic(std::string_view whole) {
    const auto value = shell_arithmetic(whole.substr(3, whole.size() - 5),
                                        [&](std::string_view name) -> std::optional<std::string> {
                                          const auto found = variables_.find(std::string(name));
                                          if (found == variables_.end()) return std::nullopt;
                                          return found->second;
                                        });
    put(value ? std::to_string(*value) : std::string(whole));
  }

  void put_variable(std::string_view inside, std::string_view whole) {
    if (inside.ends_with("[@]") || inside.ends_with("[*]"))
      return;  // its words were written already
    const std::size_t end =
        std::min(static_cast<std::size_t>(std::find_if_not(inside.begin(), inside.end(), is_name) -
                                          inside.begin()),
                 inside.size());
    const auto found = variables_.find(std::string(inside.substr(0, end)));
    const std::string_view rest = inside.substr(end);
    const bool or_empty = rest.starts_with(":-") || rest.starts_with(":=");
    if (found != variables_.end() && !(or_empty && found->second.empty()))
      return put_value(found->second);
    if (or_empty) return put_default(rest.substr(2));
    if (rest.starts_with("-") || rest.starts_with("=")) return put_default(rest.substr(1));
    put(whole);
  }

  // What stands for a variable that is not set has quotes and variables of its own.
  void put_default(std::string_view text) {
    if (depth_ >= kDeepest) return put(text);
    static const SourcedText kNone;
    Scanner inner(text, file_, kNone);
    inner.bytes_ = bytes_;
    inner.variables_ = std::move(variables_);
    inner.depth_ = depth_ + 1;
    inner.scan();
    variables_ = std::move(inner.variables_);
    for (std::size_t i = 0; i < inner.words_.size(); ++i)
      put_value((i == 0 ? "" : " ") + inner.words_[i].text);
  }

  // Blanks in it part words, but not between quotes, nor where it is given to another variable.
  void put_value(std::string_view text) {
    if (quote_ != 0 || (in_word_ && is_assignment(word_))) return put(text);
    for (const char c : text) {
      if (std::isspace(static_cast<unsigned char>(c)))
        end_word();
      else
        put(c);
    }
  }

  void end_word() {
    if (in_word_) {
      bytes_ += word_.size() + sizeof(ShellWord);
      if (bytes_ > kMostBytes)
        throw Error(
            ErrorCode::bad_input,
            fmt::format("{}:{}: with variables the words take more than {} MiB; take out what "
                        "is no command",
                        file_, word_line_, kMostBytes >> 20));
      if (is_assignment(word_)) {
        const std::size_t equals = word_.find('=');
        variables_[word_.substr(0, equals)] = word_.substr(equals + 1);
      }
      words_.push_back({std::move(word_), word_line_});
    }
    const bool is_new = in_word_;
    word_.clear();
    in_word_ = false;
    if (is_new) follow_source();
  }

  // "." is a command only where a line begins.
  void follow_source() {
    if (!source_ || words_.size() < 2 || depth_ >= kDeepest) return;
    const ShellWord& command = words_[words_.size() - 2];
    const bool begins = words_.size() == 2 || words_[words_.size() - 3].line < command.line;
    if (command.text != "source" && !(command.text == "." && begins)) return;
    if (command.line != words_.back().line) return;
    const std::optional<std::string> text = source_(words_.back().text);
    if (!text) return;
    Scanner inner(*text, file_, source_);
    inner.bytes_ = bytes_;
    inner.variables_ = std::move(variables_);
    inner.depth_ = depth_ + 1;
    inner.scan();
    variables_ = std::move(inner.variables_);
    bytes_ = inner.bytes_;
    for (ShellWord& word : inner.words_) words_.push_back({std::move(word.text), word_line_});
  }

  static constexpr int kDeepest = 8;  // scripts that read scripts

  std::string_view text_;
  const std::string& file_;
  const SourcedText& source_;
  std::size_t at_ = 0, bytes_ = 0;
  int depth_ = 0;
  int line_ = 1, word_line_ = 1, arrays_ = 0;
  char quote_ = 0;
  bool in_word_ = false;
  std::string word_;
  std::vector<ShellWord> words_;
  std::map<std::string, std::string> variables_;
};

}  // namespace

std::vector<ShellWord> shell_words(std::string_view text, const std::string& file,
                                   const SourcedText& source) {
  return Scanner(text, file, source).words();
}

std::optional<std::string> open_variable(std::string_view word) {
  const std::size_t at = word.find('$');
  if (at == std::string_view::npos) return std::nullopt;
  return std::string(word.substr(at));
}

}  // namespace refit
