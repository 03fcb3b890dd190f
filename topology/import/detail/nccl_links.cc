#include "topology/import/detail/nccl_links.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/shown.h"
#include "topology/import/detail/disjoint_sets.h"
#include "topology/import/detail/text_lines.h"

namespace refit::detail {
namespace {

// One direction of one link. NVLink: the GPU's data sheet (2020: 25 GB/s, 2024: 50 GB/s). xGMI:
// AMD's data sheets of MI250X (100 GB/s both directions) and MI300X (128 GB/s).
constexpr std::pair<int, double> kNvlinkOfSm[] = {
    {70, 25e9}, {80, 25e9}, {90, 25e9}, {100, 50e9}, {103, 50e9}};
constexpr std::pair<std::string_view, double> kXgmiOfGcn[] = {
    {"910", 50e9}, {"gfx90a", 50e9}, {"gfx942", 64e9}};

constexpr long kMostLinks = 1024;  // between two devices

double rate_of_links(const XmlNode& gpu) {
  const std::string_view gcn = gpu.attribute("gcn");
  if (!gcn.empty()) {
    for (const auto& [name, rate] : kXgmiOfGcn) {
      if (gcn == name) return rate;
    }
    return 0;
  }
  const long sm = whole_or(gpu.attribute("sm"), 0);
  for (const auto& [known, rate] : kNvlinkOfSm) {
    if (sm == known) return rate;
  }
  return 0;
}

// Links of one GPU to another: they are no switch.
struct DirectLinks {
  std::size_t pairs = 0;  // each GPU counts its own
  std::optional<long> count;
  bool uneven = false;

  void add(long links) {
    uneven |= count && *count != links;
    count = links;
    ++pairs;
  }
};

void note_mesh(const DirectLinks& direct, std::size_t gpus, NoteList& notes) {
  if (!direct.count) return;
  const bool partial = direct.pairs < gpus * (gpus - 1);
  notes.add(
      fmt::format("GPUs are joined by direct links, {}{}; here each GPU has one port with the sum "
                  "of its links, so a transfer between two GPUs alone is predicted too fast",
                  partial ? "not every two of them" : "every two of them",
                  direct.uneven ? " and not by equally many" : ""));
}

// How many links an element stands for, or 0.
long count_of(const XmlNode& link, NoteList& notes) {
  const long count = whole_or(link.attribute("count"), 0);
  if (count >= 1 && count <= kMostLinks) return count;
  if (!notes.is_full())  // the line is looked for
    notes.add(
        fmt::format("line {}: count=\"{}\" of <{}> is none of 1 to {}; these links count as none",
                    link.line(), shown(link.attribute("count"), 40), link.name(), kMostLinks));
  return 0;
}

}  // namespace

bool add_gpu_links(const std::vector<NcclGpu>& gpus, NodeShape& shape, NoteList& notes) {
  std::map<std::string_view, std::size_t> gpu_at;
  for (std::size_t g = 0; g < gpus.size(); ++g) gpu_at.emplace(gpus[g].pci.attribute("busid"), g);
  DisjointSets sets(gpus.size() + 1);  // the last one is the switches
  DirectLinks direct;
  bool any_link = false, is_dump = false, all_switched = true;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    SeenGpu& seen = shape.gpus.emplace_back();
    if (!gpus[g].gpu) continue;
    is_dump = true;
    seen.link_bytes_per_s = rate_of_links(*gpus[g].gpu);
    bool switched = false;
    for (const XmlNode& link : gpus[g].gpu->children()) {
      if (link.name() != "nvlink" && link.name() != "xgmi") continue;
      if (seen.nvlinks > kMostLinks) continue;
      const long count = count_of(link, notes);
      if (count == 0) continue;
      const std::string_view target = link.attribute("target");
      if (target == gpus[g].pci.attribute("busid")) {
        notes.add(
            "NVLink of a GPU leads to itself (some virtual machines say so), so whom it reaches "
            "is not known; it counts as none");
        continue;
      }
      const auto found = gpu_at.find(target);
      const std::size_t peer = found == gpu_at.end() ? gpus.size() : found->second;
      if (peer == gpus.size() && !link.attribute("tclass").starts_with("0x0680")) continue;
      any_link = true;
      switched |= peer == gpus.size();
      if (peer < gpus.size()) direct.add(count);
      sets.join(g, peer);
      seen.nvlinks += static_cast<int>(count);
    }
    all_switched = all_switched && switched;
  }
  note_mesh(direct, gpus.size(), notes);
  if (any_link || is_dump) {
    shape.nvlink_domain = sets.numbers();
    shape.nvlink_domain.resize(gpus.size());
  }
  return all_switched;
}

}  // namespace refit::detail
