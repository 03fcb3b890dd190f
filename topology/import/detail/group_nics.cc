#include "topology/import/detail/group_nics.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "topology/import/nic_choice.h"

namespace refit::detail {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

class NicPart {
 public:
  explicit NicPart(ClusterDraft& draft) : draft_(draft) {}

  void set_nics(const NodeShape& shape, const std::vector<int>& order, NodeGroupSpec& group) {
    if (draft_.answers.nics_per_node) {
      group.nics_per_node = *draft_.answers.nics_per_node;
      draft_.source("nics_per_node", "--nics-per-node, spread evenly");
      set_nic_rate(shape.nics, group);
      set_pcie(group);
      return;
    }
    NicChoice choice;
    if (shape.gpus.empty())
      choice.unclear = "the files say nothing about NICs of a node";
    else
      choice = choose_nics(shape);
    for (std::string& text : choice.notes) draft_.note(std::move(text));
    if (!choice.unclear.empty()) {
      const bool knows =
          draft_.catalog && draft_.catalog->group.gpus_per_node == group.gpus_per_node;
      if (!knows) {
        draft_.missing("--nics-per-node N", choice.unclear + "; N are spread evenly over the GPUs");
        set_nic_rate(shape.nics, group);
        return;
      }
      group.nics_per_node = draft_.catalog->group.nics_per_node;
      draft_.source("nics_per_node", draft_.from_catalog() + ", spread evenly: " + choice.unclear);
      set_nic_rate({}, group);
      set_pcie(group);
      return;
    }
    group.nics_per_node = static_cast<int>(choice.carriers.size());
    draft_.source("nics_per_node", kFromFile);
    std::vector<SeenNic> carriers;
    for (const int nic : choice.carriers) carriers.push_back(shape.nics[at(nic)]);
    set_nic_rate(carriers, group);
    set_gpu_nics(choice, order, group);
  }

  void set_nic_rate(const std::vector<SeenNic>& nics, NodeGroupSpec& group) {
    if (draft_.answers.nic_bytes_per_s) {
      group.nic_bytes_per_s = *draft_.answers.nic_bytes_per_s;
      return draft_.source("nic_bandwidth", "--nic-bandwidth");
    }
    std::map<double, int> rates;
    int unknown = 0;
    for (const SeenNic& nic : nics) {
      if (!nic.unfit.empty()) continue;
      nic.bytes_per_s > 0 ? ++rates[nic.bytes_per_s] : ++unknown;
    }
    if (!rates.empty()) {
      group.nic_bytes_per_s = rates.begin()->first;
      if (rates.size() > 1) note_speeds(rates);
      if (unknown > 0)
        draft_.note(fmt::format("of {} NIC{} the file says no speed; {} like the others", unknown,
                                unknown == 1 ? "" : "s",
                                unknown == 1 ? "it counts" : "they count"));
      return draft_.source("nic_bandwidth", kFromFile);
    }
    if (draft_.files.fabric && draft_.files.fabric->nic_bytes_per_s > 0) {
      group.nic_bytes_per_s = draft_.files.fabric->nic_bytes_per_s;
      return draft_.source("nic_bandwidth", "the fabric's ports");
    }
    if (draft_.catalog) {
      group.nic_bytes_per_s = draft_.catalog->group.nic_bytes_per_s;
      return draft_.source("nic_bandwidth", draft_.from_catalog());
    }
    draft_.missing("--nic-bandwidth RATE", "of one NIC and direction, as in 400Gbit/s");
  }

 private:
  void note_speeds(const std::map<double, int>& rates) {
    std::vector<std::string> parts;
    for (const auto& [rate, nics] : rates)
      parts.push_back(fmt::format("{} of {:.4g} Gbit/s", nics, rate * 8 / 1e9));
    draft_.note(
        fmt::format("NICs have several speeds ({}); all count with the slowest, since a group of "
                    "nodes has one rate for its NICs",
                    fmt::join(parts, ", ")));
  }

  void set_pcie(NodeGroupSpec& group) {
    if (draft_.answers.pcie_bytes_per_s) {
      group.pcie_bytes_per_s = draft_.answers.pcie_bytes_per_s;
      draft_.source("pcie_bandwidth", "--pcie-bandwidth");
    }
  }

  void set_gpu_nics(const NicChoice& choice, const std::vector<int>& order, NodeGroupSpec& group) {
    std::vector<GpuNics> ways;
    for (const int gpu : order) {
      GpuNics way;
      for (const int nic : choice.nics_of_gpu[at(gpu)]) {
        const auto place = std::lower_bound(choice.carriers.begin(), choice.carriers.end(), nic);
        way.nics.push_back(static_cast<int>(place - choice.carriers.begin()));
      }
      way.distance = to_string(choice.path_of_gpu[at(gpu)].distance);
      ways.push_back(std::move(way));
    }
    std::map<std::string, double> seen = rates_of(choice);
    if (choice.far_gpus.empty()) {
      const bool even = is_even(ways, group);
      bool binds = false, all = true;
      for (const GpuNics& way : ways) {
        all &= seen[way.distance] > 0;
        binds |= seen[way.distance] > 0 &&
                 seen[way.distance] < group.nic_bytes_per_s * static_cast<double>(way.nics.size());
      }
      if (draft_.answers.pcie_bytes_per_s) {
        set_pcie(group);
      } else if (binds && all && seen.size() == 1) {
        group.pcie_bytes_per_s = seen.begin()->second;
        draft_.source("pcie_bandwidth", "the file, by speed and width of PCIe links");
      } else if (binds || !draft_.answers.distance_bytes_per_s.empty()) {
        rate_distances(seen, ways, group);
        group.gpu_nics = std::move(ways);
        return draft_.source("gpu_nics", kFromFile);
      }
      if (even) return;
      group.gpu_nics = std::move(ways);
      return draft_.source("gpu_nics", kFromFile);
    }
    std::set<std::string> far;
    for (const int gpu : choice.far_gpus)
      far.insert(std::string(to_string(choice.path_of_gpu[at(gpu)].distance)));
    for (const std::string& distance : far) {
      if (draft_.answers.distance_bytes_per_s.contains(distance)) continue;
      draft_.missing(
          fmt::format("--distance {}=RATE", distance),
          fmt::format("between a GPU and a NIC that are {} apart, as in 20GB/s: some GPUs have "
                      "no nearer NIC (NCCL's PXN sends at the rate of NVLink)",
                      distance));
    }
    if (group.nic_bytes_per_s == 0) return;
    rate_distances(seen, ways, group);
    group.gpu_nics = std::move(ways);
    draft_.source("gpu_nics", kFromFile);
  }

  // The slowest path of each distance that PCIe links tell.
  std::map<std::string, double> rates_of(const NicChoice& choice) {
    std::map<std::string, double> rates;
    bool unequal = false;
    for (const SeenPath& path : choice.path_of_gpu) {
      const auto [found, is_new] = rates.emplace(to_string(path.distance), path.bytes_per_s);
      if (is_new || found->second == path.bytes_per_s) continue;
      unequal = true;
      found->second = std::min(found->second, path.bytes_per_s);
    }
    if (unequal)
      draft_.note("paths of one distance have several PCIe rates; all count with the slowest");
    return rates;
  }

  // A distance of which nobody tells a rate, and which passes no CPU, is no limit.
  void rate_distances(std::map<std::string, double>& seen, std::vector<GpuNics>& ways,
                      const NodeGroupSpec& group) {
    std::size_t most = 0;
    for (const GpuNics& way : ways) most = std::max(most, way.nics.size());
    for (GpuNics& way : ways) {
      const auto said = draft_.answers.distance_bytes_per_s.find(way.distance);
      double& rate = seen[way.distance];
      const bool near =
          way.distance == to_string(Distance::pix) || way.distance == to_string(Distance::pxb);
      if (said != draft_.answers.distance_bytes_per_s.end()) {
        rate = said->second;
      } else if (near && draft_.answers.pcie_bytes_per_s) {
        rate = *draft_.answers.pcie_bytes_per_s;
      }
      if (rate == 0) {
        rate = group.nic_bytes_per_s * static_cast<double>(most);
        draft_.note(fmt::format(
            "no rate of {} is said; it counts as no limit (as fast as the NICs)", way.distance));
      }
      way.path_bytes_per_s = rate;
    }
  }

  static bool is_even(const std::vector<GpuNics>& ways, const NodeGroupSpec& group) {
    const int gpus = group.gpus_per_node, nics = group.nics_per_node;
    if (gpus % nics != 0 && nics % gpus != 0) return false;
    const int shared = std::max(1, gpus / nics), bundled = std::max(1, nics / gpus);
    for (int g = 0; g < gpus; ++g) {
      std::vector<int> even;
      for (int k = 0; k < bundled; ++k) even.push_back(g / shared * bundled + k);
      if (ways[at(g)].nics != even) return false;
    }
    return true;
  }
  ClusterDraft& draft_;
};

}  // namespace

void set_nics(ClusterDraft& draft, const NodeShape& shape, const std::vector<int>& order,
              NodeGroupSpec& group) {
  NicPart(draft).set_nics(shape, order, group);
}

void set_nic_rate(ClusterDraft& draft, const std::vector<SeenNic>& nics, NodeGroupSpec& group) {
  NicPart(draft).set_nic_rate(nics, group);
}

}  // namespace refit::detail
