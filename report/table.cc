#include "report/table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/csv_table.h"
#include "base/units.h"

namespace refit {
namespace {

// Columns of a terminal: continuation bytes of UTF-8 take none.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

struct Place {
  Align align = Align::right;
  std::size_t width = 0;
  bool shown = false;
};

std::string line_of(const std::vector<Cell>& cells, const std::vector<Place>& places, Paint paint) {
  std::string line;
  std::string blanks;  // not written before something follows, so that no line ends with them
  bool first = true;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const Place& place = places[c];
    if (!place.shown) continue;
    if (!std::exchange(first, false)) blanks += "  ";
    const std::string fill(place.width - width_of(cells[c].text), ' ');
    if (place.align == Align::right) blanks += fill;
    if (!cells[c].text.empty()) {
      line += blanks + painted(cells[c].text, cells[c].mark, paint);
      blanks.clear();
    }
    if (place.align == Align::left) blanks += fill;
  }
  return line + "\n";
}

// `words` are those of the number without its sign.
std::string with_sign(double number, const std::string& words, const std::string& nothing) {
  if (words.find_first_of("123456789") == words.npos) return nothing;
  return (number < 0 ? "-" : "+") + words;
}

}  // namespace

Cell bytes_cell(double bytes) { return {format_bytes(bytes), bytes}; }
Cell seconds_cell(double seconds) { return {format_seconds(seconds), seconds}; }
Cell bandwidth_cell(double bytes_per_s) { return {format_bandwidth(bytes_per_s), bytes_per_s}; }
Cell count_cell(std::int64_t count) { return {format_count(count), static_cast<double>(count)}; }
Cell percent_cell(double share, int digits) {
  return {fmt::format("{:.{}f} %", 100 * share, digits), share};
}
Cell more_seconds_cell(double seconds) {
  return {with_sign(seconds, format_seconds(std::abs(seconds)), format_seconds(0)), seconds};
}
Cell more_percent_cell(double share, int digits) {
  const auto words = [digits](double value) {
    return fmt::format("{:.{}f} %", 100 * value, digits);
  };
  return {with_sign(share, words(std::abs(share)), words(0)), share};
}
Cell number_cell(std::optional<double> number) { return {"", number}; }

void Table::add_row(std::vector<Cell> cells) {
  REFIT_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(Paint paint) const {
  std::vector<Place> places;
  std::vector<Cell> headings, rules;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Place place{columns_[c].align, width_of(columns_[c].heading), rows_.empty()};
    for (const std::vector<Cell>& row : rows_) {
      place.width = std::max(place.width, width_of(row[c].text));
      place.shown = place.shown || !row[c].text.empty();
    }
    place.shown = place.shown && place.align != Align::unseen;
    places.push_back(place);
    headings.emplace_back(columns_[c].heading, std::nullopt, Mark::heading);
    rules.emplace_back(std::string(place.width, '-'));
  }
  std::string text = line_of(headings, places, paint) + line_of(rules, places, paint);
  for (const std::vector<Cell>& row : rows_) text += line_of(row, places, paint);
  return text;
}

std::string Table::markdown() const {
  const auto line = [&](const auto& cell_of) {
    std::string text = "|";
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].align != Align::unseen) text += fmt::format(" {} |", cell_of(c));
    }
    return text + "\n";
  };
  std::string text = line([&](std::size_t c) { return columns_[c].heading; });
  text += line([&](std::size_t c) { return columns_[c].align == Align::left ? "---" : "---:"; });
  for (const std::vector<Cell>& row : rows_) {
    text += line([&](std::size_t c) {
      std::string cell = row[c].text;
      for (std::size_t at = 0; (at = cell.find('|', at)) != cell.npos; at += 2)
        cell.insert(at, "\\");
      return cell;
    });
  }
  return text;
}

std::string Table::csv() const {
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (!columns_[c].for_people) text += (text.empty() ? "" : ",") + csv_cell(cell_of(c));
    return text + "\n";
  };
  std::string text = line([&](std::size_t c) {
    return columns_[c].field.empty() ? columns_[c].heading : columns_[c].field;
  });
  for (const std::vector<Cell>& row : rows_) {
    text += line([&](std::size_t c) {
      return row[c].number ? fmt::format("{}", *row[c].number) : row[c].text;
    });
  }
  return text;
}

}  // namespace refit
