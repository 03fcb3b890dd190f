#include "report/html.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/embedded.h"
#include "base/units.h"

namespace refit {

std::span<const EmbeddedFile> page_files();

namespace {

std::string_view file(std::string_view name) {
  const auto files = page_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const EmbeddedFile& f) { return f.name == name; });
  REFIT_CHECK(found != files.end());
  return found->text;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at = 0;;) {
    const std::size_t next = std::min(text.find(from, at), text.size());
    result += text.substr(at, next - at);
    if (next == text.size()) return result;
    result += to;
    at = next + from.size();
  }
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += file(name);
  return text;
}

// The page with its placeholders filled. What is filled in is not looked at again, so a scenario
// that is called like a placeholder stays what it is.
std::string filled(const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string_view rest = file("page");
  std::string result;
  while (true) {
    const std::size_t begin = rest.find("@@");
    if (begin == std::string_view::npos) return result.append(rest);
    const std::size_t end = rest.find("@@", begin + 2);
    REFIT_CHECK(end != std::string_view::npos);
    result += rest.substr(0, begin);
    const std::string_view name = rest.substr(begin + 2, end - begin - 2);
    const auto value = std::find_if(values.begin(), values.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    REFIT_CHECK(value != values.end());
    result += value->second;
    rest.remove_prefix(end + 2);
  }
}

}  // namespace

std::string html_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string script_escaped(const std::string& json) {
  // Outside of its texts JSON has none of these, and in a text the escape means the same.
  return replaced(json, "<", "\\u003c");
}

std::string answer_words(const StrategyResult& row) {
  std::string words = fmt::format("{}: {}", row.strategy, format_seconds(row.predicted_s));
  if (row.low_s && row.high_s)
    words += fmt::format(" ({} to {}, 80 % band)", format_seconds(*row.low_s),
                         format_seconds(*row.high_s));
  const double bound_s = row.certificate.bound_s;
  if (bound_s <= 0) return words;
  words +=
      fmt::format(", {:.2f} x its bound of {}", row.predicted_s / bound_s, format_seconds(bound_s));
  if (!row.certificate.bound_by.empty())
    words += fmt::format("; the bound is set by {}", row.certificate.bound_by);
  const auto most =
      std::max_element(row.seconds_by_constant.begin(), row.seconds_by_constant.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != row.seconds_by_constant.end())
    words +=
        fmt::format(", the prediction most by {} ({})", most->first, format_seconds(most->second));
  return words;
}

std::string html_page(const HtmlReport& report, const Refit& refit, const Cluster& cluster) {
  REFIT_CHECK(report.shown < report.simulation.strategies.size());
  return framed({report.simulation.scenario,
                 report.question,
                 answer_words(report.simulation.strategies[report.shown]),
                 report.version,
                 "sections",
                 html_data(report, refit, cluster),
                 {"words", "chart", "contents", "map", "timeline_rows", "timeline", "boxes",
                  "transfers", "strategies", "loads", "memory", "facts", "start", "ready"}});
}

std::string framed(const HtmlFrame& frame) {
  return filled({{"title", html_escaped(frame.title)},
                 {"answer", html_escaped(frame.answer)},
                 {"question", html_escaped(frame.question)},
                 {"version", html_escaped(frame.version)},
                 {"sections", std::string(file(frame.sections))},
                 {"style", std::string(file("style"))},
                 {"data", script_escaped(frame.data)},
                 {"licence", std::string(file("d3_licence"))},
                 {"library", std::string(file("d3.min"))},
                 {"scripts", joined(frame.scripts)}});
}

}  // namespace refit
