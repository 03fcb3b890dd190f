#include "models/block_layout.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "models/nearest_fit.h"
#include "models/select_rows.h"

namespace refit {
namespace {

// The keys of a scenario that say how many ranks an axis of a mesh has.
struct AxisKeys {
  std::string_view axis;
  const char* keys;
  bool cuts_heads;
  const char* otherwise;  // what helps if no degree does
};

constexpr AxisKeys kAxisKeys[] = {
    {"tp", "tensor", true, ""},
    {"attn_tp", "tensor x attention_data x attention_context", true, ""},
    {"etp", "expert_tensor", false, "; or write expert_tensor: 1, which leaves experts whole"},
    {"moe", "tensor x prefill_context x data", false,
     "; or write expert_parallel: true, which leaves experts whole"},
    {"moe_tp", "tensor x expert x expert_data", false,
     "; or use a larger expert, which leaves experts whole"},
};

// FSDP and flat buffers deal rows out by their own count: no degree helps.
constexpr AxisKeys kDealtRows{
    "", "precision", false,
    "; this engine deals rows out without regard to blocks, so use bf16 here and let the other "
    "side convert"};

const AxisKeys& keys_of(const Layout& layout, const std::vector<int>& axes) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const MeshAxis& cutting = layout.mesh().axes()[static_cast<std::size_t>(*axis)];
    if (cutting.size == 1) continue;
    for (const AxisKeys& keys : kAxisKeys) {
      if (keys.axis == cutting.name) return keys;
    }
    return kDealtRows;
  }
  return kDealtRows;
}

// Whether every interval begins and ends between blocks of a dim of `length`.
bool is_aligned(const IntervalSet& set, std::int64_t block, std::int64_t length) {
  return std::all_of(set.intervals().begin(), set.intervals().end(), [&](const Interval& part) {
    return part.begin % block == 0 && (part.end % block == 0 || part.end == length);
  });
}

IntervalSet in_blocks(const IntervalSet& set, std::int64_t block) {
  std::vector<Interval> blocks;
  for (const Interval& part : set.intervals()) {
    blocks.push_back({part.begin / block, (part.end + block - 1) / block});
  }
  return IntervalSet::of(std::move(blocks));
}

std::string why(const TensorSpec& weight, std::size_t dim, std::int64_t block, Format format,
                const IntervalSet& piece, std::size_t pieces) {
  const char* what = dim > 0 && dim + 1 == weight.dims.size() ? "columns" : "rows";
  const std::int64_t size = weight.dims[dim].size;
  const std::string cuts =
      fmt::format("{} is cut between blocks of {} only", to_string({format, weight.dtype}), block);
  const std::int64_t each = piece.size();
  if (weight.dims[dim].blocks.empty() && each * static_cast<std::int64_t>(pieces) == size) {
    return fmt::format("{} {} over {} ranks are {} each, {:.6g} blocks, but {}", size, what, pieces,
                       each, static_cast<double>(each) / static_cast<double>(block), cuts);
  }
  const auto odd = std::find_if(
      piece.intervals().begin(), piece.intervals().end(),
      [&](const Interval& part) { return !is_aligned(IntervalSet(part), block, size); });
  return fmt::format("a rank holds {} {} to {} of {}, but {}", what, odd->begin, odd->end - 1, size,
                     cuts);
}

[[noreturn]] void refuse(const TensorSpec& weight, std::size_t dim, std::int64_t block,
                         Format format, const Layout& layout, const DimPieces& cut,
                         const IntervalSet& piece, const BlockedSide& side) {
  const AxisKeys& keys = keys_of(layout, cut.axes);
  std::string message = fmt::format("{}: {}: {}", keys.keys, weight.name,
                                    why(weight, dim, block, format, piece, cut.pieces.size()));
  if (&keys != &kDealtRows) {
    std::vector<std::int64_t> lengths = weight.dims[dim].blocks;
    if (lengths.empty()) lengths.push_back(weight.dims[dim].size);
    const auto fits = [&](int n) {
      if (side.gpus % n != 0 || (keys.cuts_heads && !heads_fit(side.heads, n))) return false;
      return n == 1 || std::all_of(lengths.begin(), lengths.end(),
                                   [&](std::int64_t length) { return length % (n * block) == 0; });
    };
    message +=
        fmt::format("; use {}", nearest_fit(static_cast<int>(cut.pieces.size()), side.gpus, fits));
  }
  message += keys.otherwise;
  if (weight.role == Role::linear_attention) {
    message += "; or leave linear_attention out of the roles of `precision`";
  }
  // gpt-oss, whose kernels for this format round the cut up to whole blocks.
  if (format == Format::mxfp4 && on_expert_grid(weight) && input_dim(weight) == dim &&
      dim + 1 < weight.dims.size()) {
    message += "; or write mxfp4_experts: true, which cuts gpt-oss between blocks";
  }
  throw Error(ErrorCode::bad_input, message);
}

}  // namespace

void check_blocks(const TensorSpec& weight, Format format, const std::vector<LayoutPart>& parts,
                  const BlockedSide& side) {
  const std::vector<std::int64_t> block = block_shape(weight, format);
  for (std::size_t d = 0; d < block.size(); ++d) {
    if (block[d] == 1) continue;
    for (const LayoutPart& part : parts) {
      // Dim 0 of a layout counts members.
      const DimPieces cut = part.layout.dim_pieces(static_cast<int>(d) + 1);
      const std::int64_t length = part.layout.shape()[d + 1];
      const bool rows_fit = d > 0 || is_aligned(part.rows, block[d], weight.dims[d].size);
      for (const IntervalSet& piece : cut.pieces) {
        if (rows_fit && is_aligned(piece, block[d], length)) continue;
        refuse(weight, d, block[d], format, part.layout, cut, rows_fit ? piece : part.rows, side);
      }
    }
  }
}

void check_blocks(const TensorSpec& weight, const ElementForm& own, const ElementForm& wire,
                  const std::vector<LayoutPart>& parts, const BlockedSide& side) {
  if (is_quantised(own.quantised)) check_blocks(weight, own.quantised, parts, side);
  if (is_quantised(wire.quantised) && wire != own)
    check_blocks(weight, wire.quantised, parts, side);
}

std::vector<LayoutPart> stored_parts(const StoredTensor& stored,
                                     const std::vector<LayoutPart>& weight_parts) {
  std::vector<LayoutPart> parts;
  for (const LayoutPart& weight : weight_parts) {
    LayoutPart part = weight;
    for (std::size_t d = 0; d < stored.block.size(); ++d) {
      const std::int64_t block = stored.block[d];
      if (block == 1) continue;
      const std::int64_t length = weight.layout.shape()[d + 1];
      std::vector<IntervalSet> pieces;
      for (const IntervalSet& piece : part.layout.dim_pieces(static_cast<int>(d) + 1).pieces) {
        REFIT_CHECK(is_aligned(piece, block, length));
        pieces.push_back(in_blocks(piece, block));
      }
      part.layout = recut(part.layout, static_cast<int>(d) + 1, (length + block - 1) / block,
                          std::move(pieces));
      if (d == 0) part.rows = in_blocks(part.rows, block);
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace refit
