#include "report/table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace refit {
namespace {

// Columns of a terminal: continuation bytes of UTF-8 take none.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void add_cell(std::string& line, const std::string& cell, Align align, std::size_t width) {
  if (!line.empty()) line += "  ";
  const std::string blanks(width - width_of(cell), ' ');
  line += align == Align::left ? cell + blanks : blanks + cell;
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  REFIT_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  std::vector<bool> used;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = width_of(columns_[c].heading);
    bool any = rows_.empty();
    for (const auto& row : rows_) {
      width = std::max(width, width_of(row[c]));
      any = any || !row[c].empty();
    }
    widths.push_back(width);
    used.push_back(any);
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (used[c]) add_cell(line, cell_of(c), columns_[c].align, widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t c) { return columns_[c].heading; });
  add_line([&](std::size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : rows_) {
    add_line([&](std::size_t c) { return row[c]; });
  }
  return text;
}

std::string Table::markdown() const {
  const auto line = [&](const auto& cell_of) {
    std::string text = "|";
    for (std::size_t c = 0; c < columns_.size(); ++c) text += fmt::format(" {} |", cell_of(c));
    return text + "\n";
  };
  std::string text = line([&](std::size_t c) { return columns_[c].heading; });
  text += line([&](std::size_t c) { return columns_[c].align == Align::left ? "---" : "---:"; });
  for (const auto& row : rows_) {
    text += line([&](std::size_t c) {
      std::string cell = row[c];
      for (std::size_t at = 0; (at = cell.find('|', at)) != cell.npos; at += 2)
        cell.insert(at, "\\");
      return cell;
    });
  }
  return text;
}

}  // namespace refit
