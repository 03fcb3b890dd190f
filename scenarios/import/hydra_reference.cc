#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "scenarios/import/hydra_config.h"

namespace refit {
namespace {

using Kind = HydraNode::Kind;

// References can double what they stand for at every step; no setting is this long or this deep.
constexpr std::size_t kMostText = std::size_t{1} << 16;
constexpr std::size_t kMostDepth = 32;
constexpr int kMostSteps = 10'000;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// The end of a ${...} that begins at `at`, or npos.
std::size_t end_of_reference(const std::string& text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return std::string::npos;
}

// The commas outside of brackets and quotes.
std::vector<std::string> arguments_of(const std::string& text) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[' || c == '(') {
      ++depth;
    } else if (c == '}' || c == ']' || c == ')') {
      --depth;
    } else if (c == ',' && depth == 0) {
      arguments.emplace_back();
      continue;
    }
    arguments.back() += c;
  }
  for (std::string& argument : arguments) argument = trimmed(argument);
  return arguments;
}

std::string unquoted(const std::string& text) {
  const bool is_quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                         text.back() == text.front();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

// ".a" in x.y.z is x.y.a, "..a" is x.a.
std::string absolute(const std::string& reference, const std::string& from) {
  std::size_t dots = reference.find_first_not_of('.');
  if (dots == std::string::npos) dots = reference.size();
  if (dots == 0) return reference;
  std::string base = from;
  for (std::size_t i = 0; i < dots; ++i) {
    const std::size_t cut = base.rfind('.');
    base = cut == std::string::npos ? "" : base.substr(0, cut);
  }
  return base.empty() ? reference.substr(dots) : base + "." + reference.substr(dots);
}

std::string number_text(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

class Evaluator {
 public:
  explicit Evaluator(const HydraNode& root) : root_(root) {}

  const HydraNode* locate(const std::string& path) {
    const Step step(*this, path, {});
    const HydraNode* node = &root_;
    std::string at;
    for (std::size_t begin = 0; begin <= path.size() && node != nullptr;) {
      const std::size_t end = std::min(path.find_first_of(".[", begin), path.size());
      std::string key = path.substr(begin, end - begin);
      if (!key.empty() && key.back() == ']') key.pop_back();
      begin = end + 1;
      if (key.empty()) continue;
      node = node->child(key);
      at += at.empty() ? key : "." + key;
      if (node != nullptr) node = follow(*node, at);
    }
    return node;
  }

  // Nothing for null.
  std::optional<std::string> evaluate(const std::string& text, const std::string& path,
                                      const std::string& where) {
    const Step step(*this, path, where);
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = text.find("${", at);
      if (begin == std::string::npos) {
        result += text.substr(at);
        break;
      }
      result += text.substr(at, begin - at);
      const std::size_t end = end_of_reference(text, begin);
      if (end == std::string::npos)
        fail(path, where,
             fmt::format("'{}' is not closed; write ${{a.b}}", shown(text.substr(begin))));
      const auto value = reference(text.substr(begin + 2, end - begin - 3), path, where);
      if (begin == 0 && end == text.size()) return value;
      result += value.value_or("null");
      if (result.size() > kMostText) fail(path, where, "grows beyond 64 KiB through references");
      at = end;
    }
    return result;
  }

 private:
  // Counts and names what is being followed, so that cycles end.
  struct Step {
    Step(Evaluator& e, const std::string& path, const std::string& where) : evaluator(e) {
      e.open_.emplace_back(path, where);
      if (--e.left_ < 0) fail(path, e.place(), "needs too many references; write the value out");
      if (e.open_.size() > kMostDepth) e.fail_ring();
    }
    ~Step() { evaluator.open_.pop_back(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    Evaluator& evaluator;
  };

  // Where the innermost text stands that is being followed.
  std::string place() const {
    for (auto step = open_.rbegin(); step != open_.rend(); ++step) {
      if (!step->second.empty()) return step->second;
    }
    return {};
  }

  [[noreturn]] void fail_ring() const {
    std::vector<std::string> names;
    for (const auto& [path, where] : open_) {
      if (names.empty() || names.back() != path) names.push_back(path);
    }
    const std::string last = names.back();
    const auto before = std::find(names.rbegin() + 1, names.rend(), last);
    // One name is followed in a few steps; more of them in a row are its own ring.
    const auto steps = std::count_if(open_.begin(), open_.end(),
                                     [&](const auto& step) { return step.first == last; });
    if (before == names.rend() && steps < 8)
      fail(last, place(), "refers through too many others; write the value out");
    std::string ring = before == names.rend() ? shown(last) + " -> " : "";
    for (auto at = before == names.rend() ? names.end() - 1 : before.base() - 1; at != names.end();
         ++at)
      ring += shown(*at) + (at + 1 == names.end() ? "" : " -> ");
    fail(last, place(), fmt::format("refers to itself: {}; write one of them out", ring));
  }

  [[noreturn]] static void fail(const std::string& path, const std::string& where,
                                const std::string& message) {
    throw Error(ErrorCode::bad_input, fmt::format("{}{}{}: {}", where, where.empty() ? "" : ": ",
                                                  shown(path, 200), message));
  }

  // A node that is only a reference to another is that other.
  const HydraNode* follow(const HydraNode& node, const std::string& path) {
    if (node.kind != Kind::scalar || node.text.rfind("${", 0) != 0 ||
        end_of_reference(node.text, 0) != node.text.size() ||
        node.text.find(':') != std::string::npos || node.text.find("${", 2) != std::string::npos)
      return &node;
    const std::string inner = trimmed(node.text.substr(2, node.text.size() - 3));
    const Step step(*this, path, node.where);
    const HydraNode* target = locate(absolute(inner, path));
    if (target == nullptr)
      fail(path, node.where,
           fmt::format("there is no {} that {} could stand for", shown(inner), shown(node.text)));
    return target;
  }

  std::optional<std::string> reference(const std::string& inner, const std::string& path,
                                       const std::string& where) {
    const std::size_t colon = inner.find(':');
    const std::size_t nested = inner.find("${");
    if (colon != std::string::npos && (nested == std::string::npos || colon < nested))
      return resolver(trimmed(inner.substr(0, colon)), inner.substr(colon + 1), path, where);
    const std::string name = absolute(trimmed(evaluate(inner, path, where).value_or("")), path);
    return value_at(name, path, where);
  }

  std::optional<std::string> value_at(const std::string& name, const std::string& path,
                                      const std::string& where) {
    const HydraNode* node = locate(name);
    if (node == nullptr) fail(path, where, fmt::format("there is no {} to refer to", shown(name)));
    if (node->kind == Kind::nothing) return std::nullopt;
    if (node->kind != Kind::scalar)
      fail(path, where, fmt::format("{} is no single value", shown(name)));
    return evaluate(node->text, name, node->where);
  }

  std::optional<std::string> resolver(const std::string& name, const std::string& text,
                                      const std::string& path, const std::string& where) {
    const std::vector<std::string> raw = arguments_of(text);
    if (name == "oc.env" || name == "oc.select") {
      // The environment of whoever starts the job is not ours: only what stands here counts.
      if (name == "oc.select") {
        const HydraNode* node = locate(absolute(raw.front(), path));
        if (node != nullptr) return value_at(absolute(raw.front(), path), path, where);
      }
      if (raw.size() < 2)
        fail(path, where,
             fmt::format("${{{}:{}}} is not known here; say it by an override", name,
                         shown(raw.front())));
      return evaluate(unquoted(raw[1]), path, where);
    }
    return number_text(arithmetic(name, raw, path, where));
  }

  double arithmetic(const std::string& name, const std::vector<std::string>& raw,
                    const std::string& path, const std::string& where) {
    std::vector<double> numbers;
    for (const std::string& argument : raw) {
      const std::string word = evaluate(argument, path, where).value_or("null");
      double value = 0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || stop != word.data() + word.size() || !std::isfinite(value))
        fail(path, where,
             fmt::format("${{{}:...}} needs numbers, got '{}'", shown(name), shown(word)));
      numbers.push_back(value);
    }
    const auto fold = [&](auto op) {
      double result = numbers.front();
      for (std::size_t i = 1; i < numbers.size(); ++i) result = op(result, numbers[i]);
      return result;
    };
    const bool divides = name == "div" || name == "floordiv" || name == "idiv" || name == "mod";
    if (divides && std::find(numbers.begin() + 1, numbers.end(), 0.0) != numbers.end())
      fail(path, where, fmt::format("${{{}:...}} divides by 0", shown(name)));
    if (name == "mul") return fold([](double a, double b) { return a * b; });
    if (name == "div") return fold([](double a, double b) { return a / b; });
    if (name == "floordiv" || name == "idiv")
      return fold([](double a, double b) { return std::floor(a / b); });
    if (name == "mod") return fold([](double a, double b) { return std::fmod(a, b); });
    if (name == "add" || name == "sum") return fold([](double a, double b) { return a + b; });
    if (name == "sub") return fold([](double a, double b) { return a - b; });
    if (name == "max") return fold([](double a, double b) { return std::max(a, b); });
    if (name == "min") return fold([](double a, double b) { return std::min(a, b); });
    fail(path, where,
         fmt::format("resolver '{}' is not known; known are mul, div, floordiv, mod, add, sub, "
                     "max, min, oc.env and oc.select; say the value by an override",
                     shown(name)));
  }

  const HydraNode& root_;
  std::vector<std::pair<std::string, std::string>> open_;  // path, where
  int left_ = kMostSteps;
};

}  // namespace

std::optional<std::string> hydra_text(const HydraNode& root, const std::string& path,
                                      const HydraNode& node) {
  return Evaluator(root).evaluate(node.text, path, node.where);
}

const HydraNode* hydra_node(const HydraNode& root, const std::string& path) {
  return Evaluator(root).locate(path);
}

}  // namespace refit
