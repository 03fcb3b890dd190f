#include "validation/nccl_tests_log.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "validation/detail/log_lines.h"
#include "validation/measured_series.h"

namespace refit {
namespace {

using detail::number_in;
using enum NcclOperation;
using Words = std::vector<std::string_view>;

constexpr int kMostRanks = 1 << 20;

bool is_type(std::string_view word) {
  static const std::set<std::string_view> types{
      "int8", "char",     "uint8",    "int32",    "int",    "uint32",      "int64",      "uint64",
      "half", "float",    "double",   "bfloat16", "fp16",   "float16",     "float32",    "float64",
      "bf16", "fp8_e4m3", "fp8_e5m2", "f8e4m3",   "f8e5m2", "float8_e4m3", "float8_e5m2"};
  return types.contains(word);
}

bool is_row(const Words& words) {
  return words.size() >= 3 && number_in(words[0]) && number_in(words[1]) && is_type(words[2]);
}

class LogReader {
 public:
  LogReader(std::string_view text, const std::string& name)
      : lines_(text), name_(name), file_(base_name(name)) {}

  std::vector<NcclSweep> read();

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, lines_.number(), message));
  }
  void read_comment(const std::string& line, const Words& words);
  void read_rank(const Words& words);
  void read_row(const Words& words);
  std::optional<double> microseconds(const Words& quad) const;
  void finish_sweep();
  NcclOperation operation_of(double factor);

  detail::LineReader lines_;
  std::string name_, file_;
  std::vector<NcclSweep> sweeps_;

  std::map<int, std::string> host_of_rank_;
  bool ranks_done_ = false;  // the next rank line begins another run
  std::optional<NcclOperation> operation_;
  int root_ = -1;
  double factor_ = 0;  // bus over algorithm bandwidth, of the fastest row
  double best_busbw_ = 0;
  NcclSweep sweep_;
  std::string redop_text_;
};

void LogReader::read_rank(const Words& words) {
  // "#  Rank  0 Group  0 Pid 10000 on  node-a device  0 [0x31] NVIDIA A40"; Group came later.
  const auto rank_at = std::find(words.begin(), words.end(), "Rank");
  const auto on = std::find(words.begin(), words.end(), "on");
  if (rank_at == words.end() || rank_at + 1 >= on || words.end() - on < 3 || on[2] != "device")
    return;
  const std::optional<double> rank = number_in(rank_at[1]);
  if (!rank || *rank < 0 || *rank >= kMostRanks || *rank != std::floor(*rank))
    fail(fmt::format("expected a rank from 0 to {}, got '{}'", kMostRanks - 1, shown(rank_at[1])));
  if (ranks_done_) {
    finish_sweep();
    host_of_rank_.clear();
    ranks_done_ = false;
  }
  if (!host_of_rank_.emplace(static_cast<int>(*rank), std::string(on[1])).second) {
    fail(
        fmt::format("rank {} stands here twice; a build without MPI runs each process on its own, "
                    "so build nccl-tests with MPI=1",
                    *rank));
  }
}

void LogReader::read_comment(const std::string& line, const Words& words) {
  if (words.size() > 1 && words[1] == "Rank") return read_rank(words);
  if (words.size() > 1 && words[1] == "size") finish_sweep();
  if (line.find("Avg bus bandwidth") != std::string::npos) finish_sweep();
}

// Of a quad "time algbw busbw error": nothing if this run was left out.
std::optional<double> LogReader::microseconds(const Words& quad) const {
  if (quad[0] == "N/A") return std::nullopt;
  const std::optional<double> time = number_in(quad[0]);
  if (!time || *time < 0)
    fail(fmt::format("expected a time in microseconds, got '{}'", shown(quad[0])));
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
    if (!number_in(quad[i]))
      fail(fmt::format("expected a bandwidth in GB/s, got '{}'", shown(quad[i])));
  const std::optional<double> wrong = number_in(quad[3]);
  if (!wrong && quad[3] != "N/A")
    fail(fmt::format("expected the number of wrong values or N/A, got '{}'", shown(quad[3])));
  if (wrong && *wrong >= 1)
    fail(fmt::format("{} values are wrong in this run; its times mean nothing", shown(quad[3])));
  return time;
}

void LogReader::read_row(const Words& words) {
  // size count type [redop] [root], then both runs with four columns each.
  constexpr std::size_t kRuns = 8;
  if (words.size() < 3 + kRuns || words.size() > 5 + kRuns) {
    fail(
        fmt::format("a row of {} columns; expected size, count, type, perhaps redop and root, and "
                    "time, algbw, busbw and error twice",
                    words.size()));
  }
  const double bytes = *number_in(words[0]);
  if (bytes < 0 || bytes > 1e18 || bytes != std::floor(bytes))
    fail(fmt::format("expected a size in bytes, got '{}'", shown(words[0])));
  ranks_done_ = true;
  if (bytes == 0) return;
  root_ = -1;
  redop_text_ = "none";
  for (std::size_t i = 3; i + kRuns < words.size(); ++i) {
    const std::optional<double> number = number_in(words[i]);
    if (number && std::abs(*number) < kMostRanks) root_ = static_cast<int>(*number);
    if (!number) redop_text_ = std::string(words[i]);
  }
  const auto first = words.end() - kRuns;
  const Words outside(first, first + 4), inside(first + 4, words.end());
  const std::optional<double> outside_us = microseconds(outside), inside_us = microseconds(inside);
  const bool use_outside = outside_us.has_value();
  const std::optional<double> time_us = use_outside ? outside_us : inside_us;
  if (!time_us) return;
  if (*time_us == 0) fail(fmt::format("{} bytes in no time; expected a time above 0", bytes));
  if (!sweep_.points.empty() && bytes <= sweep_.points.back().bytes) {
    fail(fmt::format("size {} comes after {}; sizes of one table increase", bytes,
                     sweep_.points.back().bytes));
  }
  const Words& used = use_outside ? outside : inside;
  const double algbw = *number_in(used[1]), busbw = *number_in(used[2]);
  if (algbw > 0 && busbw > best_busbw_) {
    best_busbw_ = busbw;
    factor_ = busbw / algbw;
  }
  sweep_.points.push_back({bytes, *time_us * 1e-6});
}

// The program's name in the log, else in the file's name, else what the columns leave.
NcclOperation LogReader::operation_of(double factor) {
  if (operation_) return *operation_;
  if (const auto named = operation_of_file(file_)) return *named;
  sweep_.told = false;
  const bool reduces = redop_text_ != "none";
  const bool whole = factor > 0.99;  // 1 - 1/n otherwise, or 2 - 2/n
  const int ranks = sweep_.ranks;
  if (root_ >= 0) {
    if (whole || factor == 0) return reduces ? reduce : broadcast;
  } else if (reduces) {
    // Two ranks: a send and an all-reduce both put every byte on the link once.
    if (factor == 0 || (whole && (ranks == 2 || factor > 1.01))) return all_reduce;
    if (!whole) return reduce_scatter;
    return sendrecv;
  } else if (whole) {
    return sendrecv;
  } else if (sweep_.hosts == 1) {
    return all_gather;  // as many bytes on NVLink as an alltoall's
  }
  fail(
      "the log does not say which program wrote it, and its columns fit several; keep the line "
      "with "
      "its name (all_gather_perf, alltoall_perf), or put the name into the file's");
}

void LogReader::finish_sweep() {
  if (sweep_.points.empty()) return;
  if (host_of_rank_.empty()) {
    fail(
        "rows without the header's lines '#  Rank  0 ... on HOST device 0', so ranks and hosts are "
        "not known; keep the whole output");
  }
  sweep_.file = file_;
  sweep_.ranks = host_of_rank_.rbegin()->first + 1;
  if (sweep_.ranks < 2) fail("one rank sends nothing to others; run it on two GPUs or more");
  if (host_of_rank_.size() == static_cast<std::size_t>(sweep_.ranks)) {
    std::set<std::string_view> hosts;
    for (const auto& [rank, host] : host_of_rank_) hosts.insert(host);
    sweep_.hosts = static_cast<int>(hosts.size());
  }
  sweep_.operation = operation_of(factor_);
  sweeps_.push_back(std::move(sweep_));
  sweep_ = {};
  factor_ = best_busbw_ = 0;
}

std::vector<NcclSweep> LogReader::read() {
  std::string_view raw;
  while (lines_.next(raw)) {
    const std::string line = detail::without_tags(raw);
    const Words words = detail::words_of(line);
    if (words.empty()) continue;
    if (const auto unused = unused_program(line)) {
      fail(
          fmt::format("{} can't be fitted; use sendrecv_perf, alltoall_perf, all_gather_perf, "
                      "reduce_scatter_perf, broadcast_perf, reduce_perf or all_reduce_perf",
                      *unused));
    }
    if (const auto named = operation_of_program(line)) {
      finish_sweep();
      operation_ = named;
    }
    if (words[0].starts_with('#')) {
      read_comment(line, words);
    } else if (is_row(words)) {
      read_row(words);
    }
  }
  finish_sweep();
  if (sweeps_.empty()) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no row with a size and a time; expected the table that nccl-tests "
                            "prints",
                            name_));
  }
  return std::move(sweeps_);
}

}  // namespace

bool is_nccl_tests_row(std::string_view line) {
  const std::string text = detail::without_tags(line);
  const Words words = detail::words_of(text);
  return words.size() >= 11 && is_row(words);
}

std::vector<NcclSweep> read_nccl_tests_log(std::string_view text, const std::string& name) {
  return LogReader(text, name).read();
}

}  // namespace refit
