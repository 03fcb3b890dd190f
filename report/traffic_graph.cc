#include "report/traffic_graph.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "report/drawing.h"

namespace refit {
namespace {

// From nearly white to a blue on which black text still stands out (contrast above 7:1).
constexpr const char* kFills[] = {"#f3f8fd", "#dbe9f6", "#c2dbef", "#a6cbe8", "#86b8df"};
constexpr std::size_t kShades = std::size(kFills);
constexpr int kBarPoints = 56;

struct Axes {
  std::vector<std::size_t> rows, columns;  // groups that send, and that receive
};

Axes axes_of(const GroupTraffic& traffic) {
  Axes axes;
  const std::size_t count = traffic.groups.size();
  for (std::size_t g = 0; g < count; ++g) {
    double out = 0, in = 0;
    for (std::size_t other = 0; other < count; ++other) {
      out += traffic.at(g, other);
      in += traffic.at(other, g);
    }
    if (out > 0 || traffic.nvlink[g] > 0) axes.rows.push_back(g);
    if (in > 0) axes.columns.push_back(g);
  }
  return axes;
}

std::string head(const DomainGroup& group) {
  std::string words = "<B>" + in_table(group.name()) + "</B>";
  if (group.side.store == nullptr)
    words += fmt::format("<BR/>{}<BR/>{} GPU{}", group.side.words(), group.gpus,
                         group.gpus == 1 ? "" : "s");
  return fmt::format("<TD BGCOLOR=\"{}\">{}</TD>", group.side.colour(), words);
}

std::string cell(double bytes, double largest) {
  if (bytes <= 0) return "<TD></TD>";
  const double share = bytes / largest;
  const auto shade = std::min(kShades - 1, static_cast<std::size_t>(share * kShades));
  return fmt::format(
      "<TD BGCOLOR=\"{}\"><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">"
      "<TR><TD>{}</TD></TR><TR><TD CELLPADDING=\"0\">{}</TD></TR></TABLE></TD>",
      kFills[shade], format_bytes(bytes), strip(0, share, kBarPoints));
}

std::string sum_cell(double bytes) {
  return fmt::format("<TD>{}</TD>", bytes > 0 ? format_bytes(bytes) : "");
}

std::string legend(double largest) {
  std::string cells;
  for (std::size_t shade = 0; shade < kShades; ++shade) {
    cells += fmt::format("<TD BGCOLOR=\"{}\">up to {}</TD>", kFills[shade],
                         format_bytes(largest * static_cast<double>(shade + 1) / kShades));
  }
  return "<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"4\" "
         "COLOR=\"#808080\"><TR><TD BORDER=\"0\">bytes of a cell, also as its bar:</TD>" +
         cells + "</TR></TABLE>";
}

std::string table_of(const GroupTraffic& traffic, const Axes& axes) {
  const double largest = traffic.largest();
  std::string text =
      "<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"4\" "
      "COLOR=\"#808080\"><TR><TD>from (down)<BR/>to (across)</TD>";
  for (const std::size_t column : axes.columns) text += head(traffic.groups[column]);
  text +=
      "<TD><B>sends</B><BR/>to "
      "other<BR/>domains</TD><TD><B>inside</B><BR/>its<BR/>domains</TD></TR>";
  for (const std::size_t row : axes.rows) {
    text += "<TR>" + head(traffic.groups[row]);
    double sum = 0;
    for (const std::size_t column : axes.columns) {
      text += cell(traffic.at(row, column), largest);
      sum += traffic.at(row, column);
    }
    text += sum_cell(sum) + sum_cell(traffic.nvlink[row]) + "</TR>";
  }
  text += "<TR><TD><B>receives</B></TD>";
  for (const std::size_t column : axes.columns) {
    double sum = 0;
    for (const std::size_t row : axes.rows) sum += traffic.at(row, column);
    text += sum_cell(sum);
  }
  return text + sum_cell(std::accumulate(traffic.bytes.begin(), traffic.bytes.end(), 0.0)) +
         sum_cell(std::accumulate(traffic.nvlink.begin(), traffic.nvlink.end(), 0.0)) +
         "</TR></TABLE>";
}

}  // namespace

bool fits_table(const GroupTraffic& traffic) {
  const Axes axes = axes_of(traffic);
  return axes.rows.size() <= kMostTrafficRows && axes.columns.size() <= kMostTrafficRows;
}

std::string traffic_graph(const std::string& strategy, const GroupTraffic& traffic) {
  const std::string groups = group_words(traffic);
  Drawing drawing(
      fmt::format("Traffic: {}\\l{}", plain(strategy), groups.empty() ? "" : groups + "\\l"),
      {{"shape", "plain"}}, {});
  Drawing::Node table = drawing.node(drawing.root(), "traffic", {});
  const double largest = traffic.largest();
  drawing.set_table(
      table,
      "<TABLE BORDER=\"0\" CELLSPACING=\"6\"><TR><TD ALIGN=\"LEFT\">" +
          table_of(traffic, axes_of(traffic)) + "</TD></TR>" +
          (largest > 0 ? "<TR><TD ALIGN=\"LEFT\">" + legend(largest) + "</TD></TR>"
                       : "<TR><TD ALIGN=\"LEFT\">Nothing leaves its NVLink domain.</TD></TR>") +
          "</TABLE>");
  return drawing.text();
}

}  // namespace refit
