#include "topology/import/detail/nccl_pcie.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/shown.h"
#include "topology/import/detail/text_lines.h"

namespace refit::detail {
namespace {

constexpr double kAsleepTransfersPerS = 2.5e9;

}  // namespace

double pcie_rate(const XmlNode& pci, NoteList& notes) {
  const std::string_view speed = pci.attribute("link_speed");
  const long lanes = whole_or(pci.attribute("link_width"), 0);
  if (pci.attribute("link_width") == "0")
    notes.add("some PCIe links have link_width 0, so their rates are not known");
  if (speed.empty() || lanes <= 0 || lanes > 64) return 0;
  const std::size_t unit = speed.find(" GT/s");
  const std::string_view rest = unit == std::string_view::npos ? "?" : speed.substr(unit + 5);
  const auto gigatransfers =
      rest.empty() || rest == " PCIe" ? natural_number(speed.substr(0, unit)) : std::nullopt;
  if (!gigatransfers) {
    notes.add(
        fmt::format("link_speed=\"{}\" is no PCIe speed like \"16.0 GT/s PCIe\", so these PCIe "
                    "rates are not known",
                    shown(speed, 40)));
    return 0;
  }
  const double transfers = *gigatransfers * 1e9;
  if (transfers == kAsleepTransfersPerS) {
    notes.add(
        "some PCIe links stand at 2.5 GT/s, as they do when asleep; their rates count as not "
        "known");
    return 0;
  }
  // Up to 5 GT/s ten bits carry eight, above 130 carry 128.
  const double code = transfers <= 5e9 ? 0.8 : 128.0 / 130;
  // To whole MB/s: more digits say nothing.
  return std::round(transfers * static_cast<double>(lanes) * code / 8e6) * 1e6;
}

SeenPath path_between(const XmlNode& gpu, const XmlNode& nic, NoteList& notes) {
  const std::vector<XmlNode> up = gpu.line_up(), other = nic.line_up();
  // Both lines end in <cpu>, <system>; the first common one from below.
  for (std::size_t a = 0; a < up.size(); ++a) {
    const auto meet = std::find(other.begin(), other.end(), up[a]);
    if (meet == other.end()) continue;
    SeenPath path;
    const std::size_t b = static_cast<std::size_t>(meet - other.begin());
    if (up[a].name() == "pci")
      path.distance = a <= 1 && b <= 1 ? Distance::pix : Distance::pxb;
    else
      path.distance = up[a].name() == "cpu" ? Distance::phb : Distance::sys;
    for (std::size_t i = 0; i < a; ++i) {
      if (up[i].name() != "pci") continue;
      const double rate = pcie_rate(up[i], notes);
      if (rate == 0) return {path.distance, 0};
      path.bytes_per_s = path.bytes_per_s == 0 ? rate : std::min(path.bytes_per_s, rate);
    }
    return path;
  }
  return {};
}

}  // namespace refit::detail
