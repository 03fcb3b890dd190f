#include "cli/delta_text.h"

#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "report/table.h"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

constexpr DeltaMode kModes[] = {DeltaMode::empty,     DeltaMode::rice,  DeltaMode::conditioned,
                                DeltaMode::overwrite, DeltaMode::dense, DeltaMode::anchor};

struct ModeSum {
  std::uint64_t segments = 0;
  std::uint64_t changed = 0;
  std::uint64_t payload_bytes = 0;
};

std::array<ModeSum, std::size(kModes)> sums_by_mode(const DeltaIndex& index) {
  std::array<ModeSum, std::size(kModes)> sums;
  for (const DeltaSegment& segment : index.segments) {
    ModeSum& sum = sums[static_cast<std::size_t>(segment.mode)];
    ++sum.segments;
    sum.changed += segment.changed;
    sum.payload_bytes += segment.payload_bytes;
  }
  return sums;
}

std::string count(std::uint64_t number) { return format_count(static_cast<std::int64_t>(number)); }
std::string bytes_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view to_string(DeltaMode mode) {
  constexpr std::string_view names[] = {"empty",     "rice",  "conditioned",
                                        "overwrite", "dense", "anchor"};
  return names[static_cast<std::size_t>(mode)];
}

std::string delta_text(const DeltaIndex& index, std::uint64_t file_bytes) {
  const DeltaHeader& header = index.header;
  std::string text =
      header.anchor ? fmt::format("anchor     version {}, needs no base\n", header.target_version)
                    : fmt::format("delta      version {} to version {}\n", header.base_version,
                                  header.target_version);
  text += fmt::format("model      {}\n", to_hex(header.model_id));
  text += fmt::format("state      {} to {}\n", header.anchor ? "any" : to_hex(header.base_state),
                      to_hex(header.target_state));
  text += fmt::format("elements   {} in {} regions and {} segments, {}\n", count(index.elements()),
                      count(index.regions.size()), count(index.segments.size()),
                      bytes_text(index.dense_bytes()));
  const std::uint64_t changed = index.changed();
  if (!header.anchor) {
    text += fmt::format("changed    {} elements, {:.3g} %\n", count(changed),
                        100.0 * ratio(changed, index.elements()));
  }
  text += fmt::format("file       {} ({} bytes), 1/{:.3g} of the weights", bytes_text(file_bytes),
                      count(file_bytes), ratio(index.dense_bytes(), file_bytes));
  if (!header.anchor && changed > 0) {
    text += fmt::format(", {:.3g} B per change", ratio(file_bytes, changed));
  }
  text += "\n\n";

  Table table({{"mode", Align::left}, {"segments"}, {"changed"}, {"payload"}, {"B per change"}});
  const auto sums = sums_by_mode(index);
  for (const DeltaMode mode : kModes) {
    const ModeSum& sum = sums[static_cast<std::size_t>(mode)];
    if (sum.segments == 0) continue;
    table.add_row(
        {std::string(to_string(mode)), count(sum.segments), count(sum.changed),
         bytes_text(sum.payload_bytes),
         sum.changed == 0 ? "-" : fmt::format("{:.3f}", ratio(sum.payload_bytes, sum.changed))});
  }
  return text + table.text();
}

std::string delta_json(const DeltaIndex& index, std::uint64_t file_bytes) {
  const DeltaHeader& header = index.header;
  Json json{{"format", "refit.delta/1"},
            {"anchor", header.anchor},
            {"base_version", header.base_version},
            {"target_version", header.target_version},
            {"model_id", to_hex(header.model_id)},
            {"plan_hash", to_hex(header.plan_hash)},
            {"base_state", to_hex(header.base_state)},
            {"target_state", to_hex(header.target_state)},
            {"segment_elements", header.segment_elements},
            {"elements", index.elements()},
            {"changed", index.changed()},
            {"dense_bytes", index.dense_bytes()},
            {"payload_bytes", header.payload_bytes},
            {"file_bytes", file_bytes},
            {"modes", Json::object()},
            {"regions", Json::array()}};
  const auto sums = sums_by_mode(index);
  for (const DeltaMode mode : kModes) {
    const ModeSum& sum = sums[static_cast<std::size_t>(mode)];
    if (sum.segments == 0) continue;
    json["modes"][std::string(to_string(mode))] = {
        {"segments", sum.segments}, {"changed", sum.changed}, {"payload_bytes", sum.payload_bytes}};
  }
  for (const DeltaRegion& region : index.regions) {
    const auto dims = static_cast<std::size_t>(region.box.dims);
    const auto list = [dims](const std::array<std::uint64_t, 4>& sizes) {
      return Json(
          std::vector<std::uint64_t>(sizes.begin(), sizes.begin() + static_cast<long>(dims)));
    };
    json["regions"].push_back({{"id", region.id},
                               {"tensor", region.tensor},
                               {"element_bytes", region.element_bytes},
                               {"shape", list(region.box.shape)},
                               {"offset", list(region.box.offset)},
                               {"extent", list(region.box.extent)},
                               {"segments", region.segments},
                               {"changed", region.changed},
                               {"base_fingerprint", to_hex(region.base_fingerprint)},
                               {"target_fingerprint", to_hex(region.target_fingerprint)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace refit
