#include "topology/import/smi_matrix.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "topology/import/detail/disjoint_sets.h"
#include "topology/import/detail/text_lines.h"

namespace refit {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr std::size_t kMostColumns = 1024;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool begins_gpu(std::string_view word) {
  return word.starts_with("GPU") && word.size() > 3 && is_digit(word[3]);
}

// One cell: X, a distance, or a count of NVLinks.
struct Cell {
  bool is_self = false;
  int nvlinks = 0;
  std::optional<Distance> distance;
};

// The cell at the front of a word, which may be glued to the next; its letters are taken off.
std::optional<Cell> take_cell(std::string_view& word) {
  constexpr std::pair<std::string_view, Distance> kWords[] = {
      {"PIX", Distance::pix},   {"PXB", Distance::pxb}, {"PHB", Distance::phb},
      {"NODE", Distance::node}, {"SYS", Distance::sys}, {"SOC", Distance::sys}};
  for (const auto& [text, distance] : kWords) {
    if (!word.starts_with(text)) continue;
    word.remove_prefix(text.size());
    return Cell{false, 0, distance};
  }
  if (word.starts_with("NV") && word.size() > 2 && is_digit(word[2])) {
    std::size_t end = 2;
    while (end < word.size() && is_digit(word[end])) ++end;
    int count = 0;
    std::from_chars(word.data() + 2, word.data() + end, count);
    word.remove_prefix(end);
    return Cell{false, std::clamp(count, 0, 1024), std::nullopt};
  }
  if (word.starts_with("X")) {
    word.remove_prefix(1);
    return Cell{true, 0, std::nullopt};
  }
  return std::nullopt;
}

// All cells of a word, or none if it is something else.
std::vector<Cell> cells_of(std::string_view word) {
  std::vector<Cell> cells;
  while (!word.empty()) {
    const auto cell = take_cell(word);
    if (!cell) return {};
    cells.push_back(*cell);
  }
  return cells;
}

// The next name of a header, cut off where another begins.
std::string_view take_name(std::string_view& word) {
  std::size_t end = word.size();
  for (const std::string_view next : {"GPU", "NIC", "mlx", "CPU", "NUMA"}) {
    end = std::min(end, word.find(next, 1));
  }
  const std::string_view name = word.substr(0, end);
  word.remove_prefix(end);
  return name;
}

// What is right of the devices: "CPU Affinity", "NUMA Affinity", "GPU NUMA ID".
bool ends_header(std::string_view name) {
  return name == "CPU" || name == "NUMA" || name == "GPU" || name == "Affinity" || name == "ID";
}

bool is_device(std::string_view name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= 32 && std::isalpha(static_cast<unsigned char>(name[0])) &&
         is_digit(name.back()) && std::all_of(name.begin(), name.end(), plain);
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name)
      : lines_(detail::clean_lines(text)), name_(name) {}

  SmiMatrix read() {
    find_header();
    read_rows();
    return matrix();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name_, what));
  }

  // "GPU0 X NV18": a name of a column, then a cell.
  std::optional<std::size_t> row_of(const std::vector<std::string_view>& words) const {
    if (words.size() < 2 || cells_of(words[1]).empty()) return std::nullopt;
    const auto found = std::find(columns_.begin(), columns_.end(), words[0]);
    if (found == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
  }

  static bool is_header(const std::vector<std::string_view>& words) {
    if (words.empty() || !begins_gpu(words[0])) return false;
    return words.size() == 1 ? words[0].find("GPU", 1) != std::string_view::npos ||
                                   words[0].find("CPU") != std::string_view::npos
                             : cells_of(words[1]).empty() && is_name_or_end(words[1]);
  }

  static bool is_name_or_end(std::string_view word) {
    const std::string_view name = take_name(word);
    return is_device(name) || ends_header(name);
  }

  // Adds the names of a line; false once the columns of devices are over.
  bool add_names(const std::vector<std::string_view>& words) {
    for (std::string_view word : words) {
      while (!word.empty()) {
        const std::string_view name = take_name(word);
        if (ends_header(name)) return false;
        if (!is_device(name)) return false;
        if (columns_.size() == kMostColumns)
          fail(fmt::format("more than {} columns", kMostColumns));
        columns_.emplace_back(name);
      }
    }
    return true;
  }

  void find_header() {
    for (; at_ < lines_.size(); ++at_) {
      const std::vector<std::string_view> words = detail::line_words(lines_[at_]);
      if (!is_header(words)) continue;
      bool open = add_names(words);
      // A terminal may have wrapped it.
      for (++at_; at_ < lines_.size(); ++at_) {
        const std::vector<std::string_view> more = detail::line_words(lines_[at_]);
        if (more.empty()) continue;
        if (row_of(more)) break;
        if (open) open = add_names(more);
      }
      check_columns();
      return;
    }
    fail("no line of columns GPU0 GPU1 ... is in it; expected the output of nvidia-smi topo -m");
  }

  void check_columns() {
    std::map<std::string, int> seen;
    for (const std::string& column : columns_) {
      if (++seen[column] > 1) fail(fmt::format("two columns are called {}", column));
    }
    gpus_ = 0;
    while (gpus_ < columns_.size() && begins_gpu(columns_[gpus_])) ++gpus_;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool is_gpu = begins_gpu(columns_[c]);
      if (is_gpu != (c < gpus_)) fail("GPUs stand right of NICs in the header");
      if (is_gpu && columns_[c] != fmt::format("GPU{}", c))
        fail(fmt::format("expected column GPU{}, got {}", c, columns_[c]));
    }
  }

  void read_rows() {
    rows_.resize(columns_.size());
    std::optional<std::size_t> row;
    for (; at_ < lines_.size(); ++at_) {
      std::vector<std::string_view> words = detail::line_words(lines_[at_]);
      if (words.empty() || lines_[at_].find('=') != std::string_view::npos) continue;
      if (is_header(words) && !row_of(words)) {
        note("a second matrix follows, which was not read");
        return;
      }
      if (const auto next = row_of(words)) {
        row = next;
        if (!rows_[*row].empty()) fail(fmt::format("row {} stands twice", columns_[*row]));
        words.erase(words.begin());
      } else if (!row || rows_[*row].size() >= columns_.size()) {
        continue;  // text around the matrix
      }
      for (const std::string_view word : words) {
        if (rows_[*row].size() >= columns_.size()) break;
        const std::vector<Cell> cells = cells_of(word);
        if (cells.empty() && word == "N/A") {
          note("some cells are N/A; they count as SYS");
          rows_[*row].push_back({false, 0, Distance::sys});
          continue;
        }
        if (cells.empty()) break;
        rows_[*row].insert(rows_[*row].end(), cells.begin(), cells.end());
      }
    }
  }

  void note(const std::string& text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
  }

  SmiMatrix matrix() {
    SmiMatrix result;
    NodeShape& node = result.node;
    detail::DisjointSets sets(gpus_);
    bool any_nvlink = false;
    for (std::size_t g = 0; g < gpus_; ++g) {
      const std::vector<Cell>& row = rows_[g];
      if (row.empty()) fail(fmt::format("row GPU{} is missing", g));
      if (row.size() != columns_.size()) {
        fail(fmt::format("row GPU{} has {} cells for {} columns; a part of it is missing", g,
                         row.size(), columns_.size()));
      }
      node.gpus.emplace_back();
      node.paths.emplace_back();
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (row[c].is_self != (c == g))
          fail(fmt::format("row GPU{}, column {}: X stands where a device meets itself", g,
                           columns_[c]));
        if (c >= gpus_) {
          if (!row[c].distance)
            fail(fmt::format("row GPU{}, column {}: a NIC has no NVLink", g, columns_[c]));
          node.paths[g].push_back({*row[c].distance, 0});
        } else if (row[c].nvlinks > 0) {
          any_nvlink = true;
          sets.join(g, c);
          // Through a switch every neighbour is told all links; side by side each has its own.
          node.gpus[g].nvlinks = std::max(node.gpus[g].nvlinks, row[c].nvlinks);
        }
      }
    }
    check_symmetry();
    for (std::size_t c = gpus_; c < columns_.size(); ++c) node.nics.push_back({columns_[c], 0, {}});
    if (any_nvlink || gpus_ == 1) node.nvlink_domain = sets.numbers();
    result.is_pcie_view = !any_nvlink && gpus_ > 1;
    result.notes = std::move(notes_);
    return result;
  }

  void check_symmetry() {
    const auto same = [](const Cell& a, const Cell& b) {
      return a.nvlinks == b.nvlinks && a.distance == b.distance;
    };
    for (std::size_t g = 0; g < gpus_; ++g) {
      for (std::size_t c = 0; c < rows_.size(); ++c) {
        if (rows_[c].size() != columns_.size() || same(rows_[g][c], rows_[c][g])) continue;
        note(fmt::format("row {} and column {} differ; rows of GPUs were taken",
                         c < gpus_ ? columns_[c] : fmt::format("of NIC {}", c - gpus_),
                         c < gpus_ ? columns_[c] : fmt::format("of NIC {}", c - gpus_)));
        return;
      }
    }
  }

  std::vector<std::string> lines_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::vector<std::string> columns_;
  std::size_t gpus_ = 0;
  std::vector<std::vector<Cell>> rows_;
  ImportNotes notes_;
};

}  // namespace

SmiMatrix read_smi_matrix(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: larger than 4 MiB; a matrix has a few KiB", name));
  }
  return Reader(text, name).read();
}

}  // namespace refit
