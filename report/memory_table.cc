#include "report/memory_table.h"

#include <vector>

#include <fmt/format.h>

#include "base/units.h"
#include "report/table.h"

namespace refit {
namespace {

constexpr std::size_t kMostRuns = 3;  // of ranks, in a cell

// "0-7, 16-23", or the first few of such runs with "…".
std::string rank_words(const std::vector<Rank>& ranks) {
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end].value == ranks[end - 1].value + 1) ++end;
    if (++runs > kMostRuns) return text + ", …";
    text += fmt::format("{}{}", text.empty() ? "" : ", ", ranks[i].value);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1].value);
    i = end;
  }
  return text;
}

std::string cell(double bytes) { return bytes > 0 ? format_bytes(bytes) : std::string(); }

std::string table_of(const MemoryByClass& memory) {
  std::vector<Table::Column> columns = {
      {"ranks", Align::left},   {"count"}, {"fullest"}, {"peak"}, {"of its GPU"}, {"when"},
      {"dominant", Align::left}};
  for (const std::string_view term : kMemoryTermWords) columns.push_back({std::string(term)});
  Table table(std::move(columns));
  for (const MemoryClass& c : memory.classes) {
    const double total = c.peak.total();
    std::vector<Cell> cells = {
        rank_words(c.ranks),
        std::to_string(c.ranks.size()),
        std::to_string(c.fullest.value),
        format_bytes(total),
        c.gpu_memory_bytes > 0 ? fmt::format("{:.1f} %", 100 * total / c.gpu_memory_bytes) : "",
        format_seconds(c.peak.when_s),
        std::string(to_string(c.peak.dominant()))};
    for (const double bytes : c.peak.bytes) cells.push_back(cell(bytes));
    table.add_row(std::move(cells));
  }
  std::string text = table.text();
  if (memory.left_out > 0)
    text += fmt::format("and {} classes of ranks with lower peaks\n", memory.left_out);
  return text;
}

}  // namespace

std::string memory_table(const SimulationReport& report) {
  std::string text;
  for (const StrategyResult& row : report.strategies) {
    if (!row.memory_by_class) continue;
    text += fmt::format("\nmemory of {}, by ranks that hold as much\n{}", row.strategy,
                        table_of(*row.memory_by_class));
  }
  return text;
}

}  // namespace refit
