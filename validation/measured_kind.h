#pragma once

#include <string>
#include <string_view>

namespace refit {

enum class MeasuredKind { published_rows, nccl_tests_log, m2n_bench, refit_measurement };

// What a file is, by its content. Error(bad_input) if it is empty, larger than 64 MiB, no text, or
// something that no constant can be fitted to; what it is is named where we know it.
//
//   graph.xml: this is an NCCL graph file; expected ...
MeasuredKind measured_kind(std::string_view text, const std::string& name);

// No more is read of a file.
inline constexpr std::size_t kMostMeasuredBytes = std::size_t{64} << 20;

}  // namespace refit
