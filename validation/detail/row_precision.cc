#include "validation/detail/row_precision.h"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "validation/detail/cell.h"
#include "validation/detail/words.h"

namespace refit::detail {
namespace {

// The format that a text names first, as a scenario spells it; "" for the model's own BF16.
std::optional<std::string> format_in(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
      {"mxfp8", "mxfp8"},
      {"mxfp4", "mxfp4"},
      {"nvfp4", "?"},
      {"int4", "?"},
      {"int8", "?"},
      {"w4a16", "?"},
      {"w8a8", "?"},
      {"fp4", "?"},
      {"fp8", "fp8_blockwise"},
      {"e4m3", "fp8_blockwise"},
      {"f8", "fp8_blockwise"},
      {"bf16", ""},
      {"bfloat16", ""},
      {"fp16", "fp16"},
      {"float16", "fp16"},
      {"fp32", "fp32"},
      {"float32", "fp32"},
  };
  std::optional<std::string> found;
  std::size_t first = text.npos;
  for (const auto& [word, format] : kFormats) {
    const std::size_t at = text.find(word);
    // "mxfp8" holds "fp8" and "bfloat16" holds "float16": the longer word begins before.
    if (at >= first) continue;
    first = at;
    found = std::string(format);
  }
  return found;
}

RowSkip unknown(const PublishedRow& row) {
  return {"dtype", fmt::format("'{}' is none of BF16, FP16, FP32, block-wise FP8, MXFP8, MXFP4",
                               printable(row.dtype))};
}

}  // namespace

std::variant<std::vector<RowPrecision>, RowSkip> row_precisions(const PublishedRow& row) {
  if (row.dtype.empty()) {
    return std::vector{RowPrecision{{}, {}, {}, {"The precision is not given; BF16 is taken."}}};
  }
  const std::string text = lower(row.dtype);
  if (has_any(text, {"delta"})) {
    return RowSkip{"method", "a delta or an object store is not one of the systems"};
  }
  // "BF16 -> FP8", "BF16 to FP8", "BF16 train, FP8 rollout".
  std::size_t arrow = text.npos, behind = 0;
  for (const std::string_view word :
       {"->", "\xE2\x86\x92", " to ", "=>", " / ", " train, ", " trainer, "}) {
    if (arrow != text.npos) break;
    arrow = text.find(word);
    behind = arrow == text.npos ? 0 : arrow + word.size();
  }
  RowPrecision precision;
  const auto from = format_in(std::string_view(text).substr(0, arrow));
  const auto to = arrow == text.npos ? from : format_in(std::string_view(text).substr(behind));
  if (!from || !to || *from == "?" || *to == "?") return unknown(row);
  precision.training = *from;
  precision.generation = *to;
  std::vector<RowPrecision> precisions = {precision};
  constexpr std::string_view kBlockwise = "fp8_blockwise";
  if (*to == kBlockwise && (*from == kBlockwise || from->empty())) {
    const std::string experts = fmt::format("{{format: {}, roles: [routed_expert]}}", kBlockwise);
    precisions.push_back(
        {{},
         from->empty() ? "" : experts,
         experts,
         {"Only experts are in FP8: the layouts cut other weights inside blocks."}});
    precisions.push_back(
        {"f8_e4m3",
         {},
         {},
         {"Every weight has one byte on both sides: the layouts cut inside blocks."}});
  }
  return precisions;
}

}  // namespace refit::detail
