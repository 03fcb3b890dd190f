#include "schedule/detail/verify_parcels.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace refit::detail {
namespace {

constexpr std::size_t kMostFindings = 20;

struct Held {
  const Region* region;
  const Parcel* parcel;
  std::size_t parcel_id;
};

// Distinct shards of one side of a class, each with the ranks that hold it.
struct Shard {
  std::vector<IntervalSet> sides;
  std::vector<Rank> ranks;  // ascending
};

std::vector<Shard> distinct_shards(const Layout& layout) {
  // Ranks that differ only in axes that cut nothing hold the same shard.
  std::vector<DimPieces> pieces;
  for (int d = 0; d < static_cast<int>(layout.shape().size()); ++d)
    pieces.push_back(layout.dim_pieces(d));
  std::map<std::vector<int>, std::size_t> shard_at;
  std::vector<Shard> shards;
  for (int i = 0; i < layout.mesh().size(); ++i) {
    const std::vector<int> coordinate = layout.mesh().coordinate_of(i);
    std::vector<int> key;
    for (const DimPieces& dim : pieces) {
      int at = 0;
      for (const int axis : dim.axes) {
        const auto a = static_cast<std::size_t>(axis);
        at = at * layout.mesh().axes()[a].size + coordinate[a];
      }
      key.push_back(at);
    }
    const auto [at, is_new] = shard_at.try_emplace(key, shards.size());
    if (is_new) {
      Shard shard;
      for (std::size_t d = 0; d < pieces.size(); ++d) {
        shard.sides.push_back(pieces[d].pieces[static_cast<std::size_t>(key[d])]);
      }
      shards.push_back(std::move(shard));
    }
    shards[at->second].ranks.push_back(layout.mesh().rank_at(coordinate));
  }
  for (Shard& shard : shards) std::sort(shard.ranks.begin(), shard.ranks.end());
  return shards;
}

enum class Overlap { none, part, whole };

Overlap overlap(const Region& region, const Shard& shard) {
  Overlap result = Overlap::whole;
  for (std::size_t d = 0; d < region.size(); ++d) {
    std::int64_t common = 0;
    for (const Interval& rows : shard.sides[d].intervals()) {
      common += std::max<std::int64_t>(
          0, std::min(rows.end, region[d].end) - std::max(rows.begin, region[d].begin));
    }
    if (common == 0) return Overlap::none;
    if (common < region[d].size()) result = Overlap::part;
  }
  return result;
}

// What is wrong with a list of ranks that is not the `right` one.
std::string list_fault(const std::vector<Rank>& listed, const std::vector<Rank>& right,
                       const char* word, const char* side) {
  for (const Rank rank : listed) {
    if (std::binary_search(right.begin(), right.end(), rank)) continue;
    return fmt::format("names rank {} among its {}, but that rank's {} shard lacks its content",
                       rank.value, word, side);
  }
  for (const Rank rank : right) {
    if (std::find(listed.begin(), listed.end(), rank) != listed.end()) continue;
    return fmt::format("leaves rank {} out of its {}, but that rank's {} shard has its content",
                       rank.value, word, side);
  }
  return fmt::format("lists its {} out of order; they ascend, each once", word);
}

bool fits(const Region& region, const std::vector<std::int64_t>& shape) {
  if (region.size() != shape.size()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Interval side = region[d];
    if (side.begin < 0 || side.begin >= side.end || side.end > shape[d]) return false;
  }
  return true;
}

class ClassCheck {
 public:
  ClassCheck(const TensorClass& tensor_class, const std::vector<Held>& held, Diagnostics& findings)
      : class_(tensor_class), held_(held), findings_(findings) {}

  void run() {
    check_partition();
    check_side(class_.source, &Parcel::owners, "owners", "source");
    check_side(class_.destination, &Parcel::demanders, "demanders", "destination");
  }

 private:
  void report(const std::string& message) {
    clean_ = false;
    if (findings_.size() < kMostFindings) findings_.push_back({class_.name, message});
  }

  // Disjoint and of equal volume: a partition.
  void check_partition() {
    std::int64_t volume = 0;
    for (const Held& h : held_) volume += elements(*h.region);
    if (volume != class_.elements()) {
      report(fmt::format("fragments hold {} elements of {}", volume, class_.elements()));
    }
    // Sweep along the dim with most cuts; compare only what is open at the same row.
    std::size_t dim = 0, most = 0;
    for (std::size_t d = 0; d < class_.shape().size(); ++d) {
      std::set<std::int64_t> begins;
      for (const Held& h : held_) begins.insert((*h.region)[d].begin);
      if (begins.size() > most) {
        most = begins.size();
        dim = d;
      }
    }
    std::vector<const Held*> sorted;
    for (const Held& h : held_) sorted.push_back(&h);
    const auto side = [dim](const Held* h) { return (*h->region)[dim]; };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const Held* a, const Held* b) { return side(a).begin < side(b).begin; });
    std::vector<const Held*> open;
    for (const Held* held : sorted) {
      std::erase_if(open, [&](const Held* o) { return side(o).end <= side(held).begin; });
      for (const Held* other : open) {
        if (!intersect(*held->region, *other->region)) continue;
        return report(fmt::format("fragments of parcels {} and {} hold the same elements",
                                  std::min(held->parcel_id, other->parcel_id),
                                  std::max(held->parcel_id, other->parcel_id)));
      }
      open.push_back(held);
    }
  }

  void check_side(const Layout& layout, std::vector<Rank> Parcel::*listed, const char* word,
                  const char* side) {
    const std::vector<Shard> shards = distinct_shards(layout);
    std::map<std::vector<std::size_t>, std::vector<Rank>> ranks_of;
    std::vector<std::size_t> holders;
    for (const Held& h : held_) {
      holders.clear();
      for (std::size_t s = 0; s < shards.size(); ++s) {
        const Overlap how = overlap(*h.region, shards[s]);
        if (how == Overlap::whole) holders.push_back(s);
        if (how == Overlap::part) {
          return report(
              fmt::format("a fragment of parcel {} lies partly inside the {} shard of rank {}",
                          h.parcel_id, side, shards[s].ranks.front().value));
        }
      }
      auto found = ranks_of.find(holders);
      if (found == ranks_of.end()) {
        std::vector<Rank> ranks;
        for (const std::size_t s : holders)
          ranks.insert(ranks.end(), shards[s].ranks.begin(), shards[s].ranks.end());
        std::sort(ranks.begin(), ranks.end());
        found = ranks_of.emplace(holders, std::move(ranks)).first;
      }
      if (h.parcel->*listed != found->second) {
        return report(fmt::format("parcel {} {}", h.parcel_id,
                                  list_fault(h.parcel->*listed, found->second, word, side)));
      }
    }
  }

  const TensorClass& class_;
  const std::vector<Held>& held_;
  Diagnostics& findings_;
  bool clean_ = true;
};

}  // namespace

Diagnostics verify_parcels(const Schedule& schedule, const Refit& refit) {
  Diagnostics findings;
  std::vector<std::vector<Held>> held(refit.classes.size());
  for (std::size_t p = 0; p < schedule.parcels.size(); ++p) {
    const Parcel& parcel = schedule.parcels[p];
    std::int64_t bytes = 0;
    for (const Fragment& fragment : parcel.fragments) {
      if (fragment.tensor_class.value < 0 || fragment.tensor_class.index() >= held.size()) {
        findings.push_back(
            {fmt::format("parcel {}", p), fmt::format("names tensor class {}; there are {}",
                                                      fragment.tensor_class.value, held.size())});
        return findings;
      }
      // Sizes are multiplied only once they are known to be the tensor's at most.
      if (!fits(fragment.region, refit.classes[fragment.tensor_class.index()].shape())) {
        findings.push_back(
            {refit.classes[fragment.tensor_class.index()].name,
             fmt::format("a fragment of parcel {} does not fit the tensor's shape", p)});
        return findings;
      }
      bytes += bytes_of(refit, fragment);
      held[fragment.tensor_class.index()].push_back({&fragment.region, &parcel, p});
    }
    if (bytes != parcel.bytes || parcel.chunks < 1) {
      findings.push_back({fmt::format("parcel {}", p),
                          fmt::format("says {} bytes in {} chunks, but its fragments hold {}",
                                      parcel.bytes, parcel.chunks, bytes)});
      return findings;
    }
  }
  for (std::size_t c = 0; c < refit.classes.size() && findings.size() < kMostFindings; ++c) {
    ClassCheck(refit.classes[c], held[c], findings).run();
  }
  return findings;
}

}  // namespace refit::detail
