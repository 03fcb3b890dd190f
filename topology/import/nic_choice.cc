#include "topology/import/nic_choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "topology/import/detail/disjoint_sets.h"

namespace refit {
namespace {

using Users = std::vector<std::set<int>>;  // by GPU, its NICs

std::size_t at(int index) { return static_cast<std::size_t>(index); }

class Chooser {
 public:
  explicit Chooser(const NodeShape& node) : node_(node) {}

  NicChoice choose() {
    if (!find_level()) return std::move(choice_);
    find_users();
    note_apart();
    make_disjoint();
    place_far();
    for (std::size_t g = 0; g < users_.size(); ++g) {
      choice_.nics_of_gpu.emplace_back(users_[g].begin(), users_[g].end());
      SeenPath& path = choice_.path_of_gpu.emplace_back(SeenPath{Distance::pix, 0});
      for (const int nic : users_[g]) {
        const SeenPath& seen = node_.paths[g][at(nic)];
        path.distance = std::max(path.distance, seen.distance);
        if (seen.bytes_per_s > 0)
          path.bytes_per_s = path.bytes_per_s == 0 ? seen.bytes_per_s
                                                   : std::min(path.bytes_per_s, seen.bytes_per_s);
      }
      // Where bytes pass the CPU, its own links limit, which no file tells.
      if (!is_near(path.distance)) path.bytes_per_s = 0;
    }
    return std::move(choice_);
  }

 private:
  bool unclear(std::string why) {
    choice_.unclear = std::move(why);
    return false;
  }

  bool usable(std::size_t nic) const { return node_.nics[nic].unfit.empty(); }

  // How near a NIC must be to count as a GPU's own.
  bool find_level() {
    std::optional<Distance> nearest;
    for (const auto& row : node_.paths) {
      for (std::size_t n = 0; n < row.size(); ++n) {
        if (usable(n)) nearest = std::min(nearest.value_or(Distance::sys), row[n].distance);
      }
    }
    for (std::size_t n = 0; n < node_.nics.size(); ++n) {
      if (!usable(n)) {
        choice_.notes.push_back(
            fmt::format("NIC{} ({}) is set apart: {}", n,
                        node_.nics[n].bytes_per_s > 0
                            ? fmt::format("{:g} Gbit/s", node_.nics[n].bytes_per_s * 8 / 1e9)
                            : "no speed said",
                        node_.nics[n].unfit));
      }
    }
    if (!nearest)
      return unclear(node_.nics.empty() ? "no NIC is in the file"
                                        : "no NIC of the file can carry weights");
    if (*nearest == Distance::sys && node_.gpus.size() > 1)
      return unclear(
          "every NIC is as far from every GPU (SYS), so which GPU uses which is not said");
    level_ = is_near(*nearest) ? Distance::pxb : *nearest;
    if (!is_near(*nearest)) {
      choice_.notes.push_back(fmt::format(
          "no PCIe switch joins a GPU and a NIC here (a virtual machine may hide them); "
          "NICs at {} are shared by all GPUs that are as near",
          to_string(*nearest)));
    }
    return true;
  }

  // Of those within the level the nearest.
  void find_users() {
    users_.resize(node_.gpus.size());
    std::set<int> used, near_some;
    for (std::size_t g = 0; g < node_.gpus.size(); ++g) {
      std::optional<Distance> best;
      for (std::size_t n = 0; n < node_.nics.size(); ++n) {
        if (!usable(n) || node_.paths[g][n].distance > level_) continue;
        near_some.insert(static_cast<int>(n));
        best = std::min(best.value_or(Distance::sys), node_.paths[g][n].distance);
      }
      for (std::size_t n = 0; n < node_.nics.size(); ++n) {
        if (best && usable(n) && node_.paths[g][n].distance == *best)
          users_[g].insert(static_cast<int>(n));
      }
      if (!best) choice_.far_gpus.push_back(static_cast<int>(g));
      used.insert(users_[g].begin(), users_[g].end());
    }
    choice_.carriers.assign(used.begin(), used.end());
  }

  void note_apart() {
    std::vector<int> apart;
    for (std::size_t n = 0; n < node_.nics.size(); ++n) {
      const auto nic = static_cast<int>(n);
      if (usable(n) && !std::binary_search(choice_.carriers.begin(), choice_.carriers.end(), nic))
        apart.push_back(nic);
    }
    if (!apart.empty()) {
      choice_.notes.push_back(fmt::format(
          "NIC{} {} set apart, for storage or management: no GPU has {} nearest", ranges_of(apart),
          apart.size() == 1 ? "is" : "are", apart.size() == 1 ? "it" : "them"));
    }
  }

  // GPUs that share one NIC share all, or the model can't say it: a NIC goes to those of its GPUs
  // that have the fewest; where that does not settle it they share everything.
  void make_disjoint() {
    if (is_disjoint(users_)) return;
    Users fewer(users_.size());
    for (const int nic : choice_.carriers) {
      std::size_t fewest = node_.nics.size();
      for (const std::set<int>& nics : users_) {
        if (nics.contains(nic)) fewest = std::min(fewest, nics.size());
      }
      for (std::size_t g = 0; g < users_.size(); ++g) {
        if (users_[g].contains(nic) && users_[g].size() == fewest) fewer[g].insert(nic);
      }
    }
    bool lost = false;
    for (std::size_t g = 0; g < users_.size(); ++g) lost |= fewer[g].empty() && !users_[g].empty();
    if (!lost && is_disjoint(fewer)) {
      for (std::size_t g = 0; g < users_.size(); ++g) {
        for (const int nic : users_[g]) {
          if (!fewer[g].contains(nic))
            choice_.notes.push_back(
                fmt::format("GPU{} is near NIC{} too, which is left to a GPU with fewer", g, nic));
        }
      }
      users_ = std::move(fewer);
      return;
    }
    share_all();
  }

  static bool is_disjoint(const Users& users) {
    std::map<int, const std::set<int>*> owner;
    for (const std::set<int>& nics : users) {
      for (const int nic : nics) {
        const auto [found, is_new] = owner.emplace(nic, &nics);
        if (!is_new && *found->second != nics) return false;
      }
    }
    return true;
  }

  void share_all() {
    detail::DisjointSets sets(users_.size() + node_.nics.size());
    for (std::size_t g = 0; g < users_.size(); ++g) {
      for (const int nic : users_[g]) sets.join(g, users_.size() + at(nic));
    }
    for (std::size_t g = 0; g < users_.size(); ++g) {
      if (users_[g].empty()) continue;
      for (const int nic : choice_.carriers) {
        if (sets.joined(g, users_.size() + at(nic))) users_[g].insert(nic);
      }
    }
    choice_.notes.push_back(
        "GPUs have some NICs in common and others not; such GPUs share all of theirs");
  }

  void place_far() {
    if (choice_.far_gpus.empty()) return;
    std::map<std::set<int>, int> users_of;
    for (const std::set<int>& nics : users_) {
      if (!nics.empty()) ++users_of[nics];
    }
    std::map<Distance, std::vector<int>> far;
    for (const int gpu : choice_.far_gpus) {
      std::optional<std::pair<std::pair<Distance, int>, const std::set<int>*>> best;
      for (const auto& [nics, count] : users_of) {
        Distance distance = Distance::sys;
        for (const int nic : nics)
          distance = std::min(distance, node_.paths[at(gpu)][at(nic)].distance);
        const std::pair key(distance, count);
        if (!best || key < best->first) best = {key, &nics};
      }
      far[best->first.first].push_back(gpu);
      users_[at(gpu)] = *best->second;
      ++users_of[*best->second];
    }
    for (const auto& [distance, gpus] : far) {
      choice_.notes.push_back(
          fmt::format("GPU{} {} no near NIC and {} one at {}, shared with GPUs that are near them",
                      ranges_of(gpus), gpus.size() == 1 ? "has" : "have",
                      gpus.size() == 1 ? "uses" : "use", to_string(distance)));
    }
  }

  const NodeShape& node_;
  Distance level_ = Distance::pxb;
  Users users_;
  NicChoice choice_;
};

}  // namespace

NicChoice choose_nics(const NodeShape& node) { return Chooser(node).choose(); }

std::string ranges_of(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    parts.push_back(j == i ? fmt::format("{}", numbers[i])
                           : fmt::format("{}-{}", numbers[i], numbers[j]));
    i = j + 1;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace refit
