#include "schedule/detail/verify_parcels.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "schedule/detail/shards.h"

namespace refit::detail {
namespace {

constexpr std::size_t kMostFindings = 20;

struct Held {
  const Region* region;
  const Parcel* parcel;
  std::size_t parcel_id;
};

enum class Overlap { none, part, whole };

Overlap overlap(const Region& region, const Shards& shards, std::size_t shard) {
  Overlap result = Overlap::whole;
  for (std::size_t d = 0; d < region.size(); ++d) {
    std::int64_t common = 0;
    for (const Interval& rows : shards.side(shard, d).intervals()) {
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
    const Shards shards(layout);
    std::vector<PieceIndex> index;
    for (const DimPieces& dim : shards.pieces()) index.emplace_back(dim);
    std::map<std::vector<std::size_t>, std::vector<Rank>> ranks_of;
    std::vector<std::size_t> holders(index.size());  // by dim: which pieces
    for (const Held& h : held_) {
      for (std::size_t d = 0; d < index.size(); ++d) {
        const auto found = index[d].holders((*h.region)[d]);
        if (!found) return report_part(h, shards, side);
        holders[d] = *found;
      }
      auto found = ranks_of.find(holders);
      if (found == ranks_of.end())
        found = ranks_of.emplace(holders, ranks_holding(holders, index, shards)).first;
      if (h.parcel->*listed != found->second) {
        return report(fmt::format("parcel {} {}", h.parcel_id,
                                  list_fault(h.parcel->*listed, found->second, word, side)));
      }
    }
  }

  // The ranks of all shards that are products of these pieces.
  static std::vector<Rank> ranks_holding(const std::vector<std::size_t>& holders,
                                         const std::vector<PieceIndex>& index,
                                         const Shards& shards) {
    std::vector<std::size_t> numbers = {0};
    for (std::size_t d = 0; d < index.size(); ++d) {
      std::vector<std::size_t> longer;
      for (const std::size_t number : numbers) {
        for (const int piece : index[d].pieces(holders[d])) {
          longer.push_back(number * shards.pieces()[d].pieces.size() +
                           static_cast<std::size_t>(piece));
        }
      }
      numbers = std::move(longer);
    }
    std::vector<Rank> ranks;
    for (const std::size_t shard : numbers)
      ranks.insert(ranks.end(), shards.ranks(shard).begin(), shards.ranks(shard).end());
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  void report_part(const Held& h, const Shards& shards, const char* side) {
    for (const std::size_t shard : shards.in_mesh_order()) {
      if (overlap(*h.region, shards, shard) != Overlap::part) continue;
      return report(
          fmt::format("a fragment of parcel {} lies partly inside the {} shard of rank {}",
                      h.parcel_id, side, shards.ranks(shard).front().value));
    }
    REFIT_CHECK(false);  // a piece that holds a part is a side of some shard that does
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
