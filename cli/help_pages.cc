#include "cli/help_pages.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "base/embedded.h"

namespace refit {

std::span<const EmbeddedFile> help_files();

namespace {

constexpr std::size_t kColumns = 80;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// [words](page) is its words; marks of code and emphasis go.
std::string plain(const std::string& markdown) {
  std::string text;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const char c = markdown[i];
    if (c == '`' || markdown.compare(i, 2, "**") == 0) {
      i += c == '`' ? 0 : 1;
    } else if (c == ']' && i + 1 < markdown.size() && markdown[i + 1] == '(') {
      i = std::min(markdown.find(')', i), markdown.size());
    } else if (c == '\\' && i + 1 < markdown.size()) {
      text += markdown[++i];
    } else if (c != '[') {
      text += c;
    }
  }
  return text;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '|' && line[i - 1] != '\\') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  cells.pop_back();  // behind the last bar
  for (std::string& cell : cells) {
    cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cell = plain(cell);
  }
  return cells;
}

HelpEntry entry_of(const std::vector<std::string>& headings,
                   const std::vector<std::string>& cells) {
  HelpEntry entry{cells.front(), {}};
  for (std::size_t c = 1; c < cells.size(); ++c) {
    if (cells[c].empty()) continue;
    entry.meaning += c == 1 ? cells[c] : fmt::format("; {}: {}", headings[c], cells[c]);
  }
  return entry;
}

// Calls `on_line` for lines outside tables and `on_entry` for rows of tables.
template <class OnLine, class OnEntry>
void read_page(std::string_view text, const OnLine& on_line, const OnEntry& on_entry) {
  std::vector<std::string> headings;
  bool in_code = false;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("```")) {
      in_code = !in_code;
    } else if (in_code || !line.starts_with('|')) {
      headings.clear();
      on_line(in_code ? "    " + line : plain(line));
    } else if (headings.empty()) {
      headings = cells_of(line);
    } else if (!line.starts_with("| ---")) {
      on_entry(entry_of(headings, cells_of(line)));
    }
  }
}

std::string wrapped(const std::string& text, std::size_t indent) {
  std::string result, line;
  const auto end_line = [&] {
    if (!line.empty()) result += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    if (!line.empty() && indent + line.size() + 1 + end - i > kColumns) end_line();
    if (end > i) line += (line.empty() ? "" : " ") + text.substr(i, end - i);
    i = end + 1;
  }
  end_line();
  return result;
}

// "exit_codes" is asked for as "exit codes" or "exit-codes".
std::string spoken(std::string_view name) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '_' || c == '-'; }, ' ');
  return text;
}

std::string_view file_of(const std::string& name) {
  for (const EmbeddedFile& file : help_files())
    if (spoken(file.name) == name) return file.text;
  REFIT_CHECK(false);
  return {};
}

}  // namespace

std::vector<std::string> help_pages() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : help_files()) names.push_back(spoken(file.name));
  return names;
}

std::string help_page(const std::string& name, Paint paint) {
  std::string text, paragraph;
  const auto end_paragraph = [&] {
    text += wrapped(paragraph, 0);
    paragraph.clear();
  };
  read_page(
      file_of(name),
      [&](const std::string& line) {
        if (line.starts_with('#')) {
          end_paragraph();
          const std::string title = line.substr(line.find_first_not_of("# "));
          text += painted(title, Mark::heading, paint) + "\n";
        } else if (line.empty() || line.starts_with("    ") || line.starts_with("- ")) {
          end_paragraph();
          if (line.starts_with("- ")) {
            paragraph = line;
          } else {
            text += line + "\n";
          }
        } else {
          paragraph += " " + line;
        }
      },
      [&](const HelpEntry& entry) { text += entry_text(entry, paint); });
  end_paragraph();
  return text;
}

std::vector<HelpEntry> help_entries(const std::string& name) {
  std::vector<HelpEntry> entries;
  read_page(
      file_of(name), [](const std::string&) {},
      [&](const HelpEntry& entry) { entries.push_back(entry); });
  return entries;
}

std::string entry_text(const HelpEntry& entry, Paint paint) {
  return fmt::format("  {}\n{}", painted(entry.word, Mark::heading, paint),
                     wrapped(entry.meaning, 6));
}

}  // namespace refit
