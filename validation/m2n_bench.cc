#include "validation/m2n_bench.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "validation/detail/log_lines.h"
#include "validation/measured_series.h"

namespace refit {
namespace {

using detail::number_in;

constexpr double kMebibyte = 1 << 20;
constexpr double kMostRanks = 1 << 20;

class BenchReader {
 public:
  BenchReader(std::string_view text, const std::string& name) : lines_(text), name_(name) {
    bench_.file = base_name(name);
  }

  M2nBench read();

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, lines_.number(), message));
  }
  void read_row(const std::vector<std::string_view>& words);
  int count_after(std::string_view line, std::string_view key) const;

  detail::LineReader lines_;
  std::string name_;
  M2nBench bench_;
};

// name, count, trainer MB least, most, mean, generator MB least, most, mean, ms, GB/s least, most.
void BenchReader::read_row(const std::vector<std::string_view>& words) {
  if (words.size() != 11)
    fail(fmt::format("a row of {} columns; expected 11, from the pattern to BW_max", words.size()));
  const auto number = [&](std::size_t column, std::string_view what) {
    const std::optional<double> value = number_in(words[column]);
    if (!value || *value < 0)
      fail(fmt::format("expected {}, got '{}'", what, shown(words[column])));
    return *value;
  };
  M2nBench::Pattern pattern;
  pattern.name = shown(words[0]);
  pattern.transfers = number(1, "a number of transfers");
  pattern.sender_bytes = number(3, "T_MB_max in MB") * kMebibyte;
  pattern.seconds = number(8, "Lat_max in milliseconds") * 1e-3;
  if (pattern.transfers < 1) fail("a pattern of no transfer; expected at least 1");
  if (pattern.seconds == 0) fail("transfers in no time; expected Lat_max above 0");
  bench_.patterns.push_back(std::move(pattern));
}

// "--- Trainers only (64 ranks) ---" and "Trainer: TP=1, CP=1, EP=16, DP=2, PP=4".
int BenchReader::count_after(std::string_view line, std::string_view key) const {
  std::string_view rest = line.substr(line.find(key) + key.size());
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
  const std::optional<double> count = number_in(rest.substr(0, digits));
  if (!count || *count < 1 || *count > kMostRanks)
    fail(fmt::format("expected a number from 1 to {} after '{}'", kMostRanks, key));
  return static_cast<int>(*count);
}

M2nBench BenchReader::read() {
  bool in_table = false;
  std::string_view raw;
  while (lines_.next(raw)) {
    const std::string line = detail::without_tags(raw);
    const std::vector<std::string_view> words = detail::words_of(line);
    const auto has = [&](std::string_view part) { return line.find(part) != std::string::npos; };
    if (has("FAILED") && (has("[VALIDATE]") || has("VALIDATION")))
      fail("the run's validation failed; its times mean nothing");
    if (has(" NCCL INFO ") || has(" NCCL WARN ")) continue;  // may stand between any two lines
    if (has("Parameter Pattern")) {
      in_table = true;
    } else if (words.empty()) {
      in_table = false;
    } else if (in_table && !words[0].starts_with("---") && !words[0].starts_with("[")) {
      read_row(words);
    } else if (has("Trainer:") && has("PP=")) {
      bench_.training_stages = count_after(line, "PP=");
    } else if (has("Generator:") && has("PP=")) {
      bench_.generation_stages = count_after(line, "PP=");
    } else if (has("Trainers only (")) {
      bench_.training_ranks = count_after(line, "Trainers only (");
    } else if (has("Generators only (")) {
      bench_.generation_ranks = count_after(line, "Generators only (");
    }
  }
  if (bench_.patterns.empty()) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no row of a pattern below 'Parameter Pattern'", name_));
  }
  if (bench_.training_ranks == 0 || bench_.generation_ranks == 0) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: the summary with 'Trainers only (N ranks)' and 'Generators only "
                            "(N ranks)' is missing; keep the whole output",
                            name_));
  }
  return std::move(bench_);
}

}  // namespace

M2nBench read_m2n_bench(std::string_view text, const std::string& name) {
  return BenchReader(text, name).read();
}

}  // namespace refit
