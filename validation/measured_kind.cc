#include "validation/measured_kind.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "validation/detail/log_lines.h"
#include "validation/nccl_tests_log.h"

namespace refit {
namespace {

[[noreturn]] void fail(const std::string& name, std::string_view what) {
  throw Error(
      ErrorCode::bad_input,
      fmt::format("{}: {}; expected the output of nccl-tests, the output of NCCL M2N's "
                  "reshard_model_bench, the JSON of refit run, or a CSV of published refits",
                  name, what));
}

std::string_view json_kind(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("\"refit.schedule/")) return "this is a plan of refit";
  if (has("\"refit.prediction/")) return "this is a prediction of refit, not a measurement";
  if (has("nccl_m2n.benchmark.metrics"))
    return "this is the metrics JSON of NCCL M2N, which has times but no bytes";
  return "this is JSON of another kind";
}

std::string_view xml_kind(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("<graphs")) return "this is an NCCL graph file";
  if (has("<system")) return "this is an NCCL topology file";
  return "this is XML";
}

}  // namespace

MeasuredKind measured_kind(std::string_view text, const std::string& name) {
  if (text.size() > kMostMeasuredBytes)
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: larger than 64 MiB; of a log the header and the tables are enough", name));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) fail(name, "the file is empty");
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    fail(fmt::format("{}:{}", name, line), "this is no text but binary");
  }
  if (text[first] == '{') {
    if (text.find("\"refit.measurement/") != std::string_view::npos)
      return MeasuredKind::refit_measurement;
    fail(name, json_kind(text));
  }
  if (text[first] == '<') fail(name, xml_kind(text));

  bool has_matrix = false, has_scenario = false;
  detail::LineReader lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.find("Parameter Pattern") != std::string_view::npos) return MeasuredKind::m2n_bench;
    const bool is_header = line.find('#') != std::string_view::npos &&
                           (line.find("# nThread") != std::string_view::npos ||
                            (line.find("busbw") != std::string_view::npos &&
                             line.find("algbw") != std::string_view::npos));
    if (is_header || is_nccl_tests_row(line)) return MeasuredKind::nccl_tests_log;
    const bool is_csv =
        line.find(',') != std::string_view::npos && line.find("time_s") != std::string_view::npos;
    if (is_csv) return MeasuredKind::published_rows;
    has_matrix |=
        line.find("GPU0") != std::string_view::npos && line.find("GPU1") != std::string_view::npos;
    has_scenario |= line.starts_with("scenario:") || line.starts_with("cluster:");
  }
  if (has_matrix) fail(name, "this is a matrix of nvidia-smi topo");
  if (has_scenario) fail(name, "this is a scenario or a cluster in YAML");
  fail(name, "this is none of the files that constants are fitted to");
}

}  // namespace refit
