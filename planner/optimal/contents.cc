#include "planner/optimal/contents.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace refit {
namespace {

constexpr std::int64_t kMostChunks = 4096;
constexpr double kEqual = 1.00001;            // chunks whose largest is so near the mean are equal
constexpr std::size_t kFragmentsLooked = 64;  // of a content, for numbers of rows to divide

struct ByRanks {
  using Key = std::pair<const std::vector<Rank>*, const std::vector<Rank>*>;
  bool operator()(const Key& a, const Key& b) const {
    if (*a.first != *b.first) return *a.first < *b.first;
    return *a.second < *b.second;
  }
};

}  // namespace

std::vector<Content> group_contents(const std::vector<Parcel>& parcels) {
  std::vector<Content> contents;
  std::map<ByRanks::Key, std::size_t, ByRanks> place;
  for (std::size_t p = 0; p < parcels.size(); ++p) {
    const Parcel& parcel = parcels[p];
    const auto [at, is_new] =
        place.try_emplace({&parcel.owners, &parcel.demanders}, contents.size());
    if (is_new) contents.push_back({{}, &parcel.owners, &parcel.demanders, 0, 1, {}});
    Content& content = contents[at->second];
    content.parcels.push_back(ParcelId(static_cast<std::int64_t>(p)));
    content.bytes += wire_bytes(parcel);
  }
  return contents;
}

namespace {

// How many times the mean the largest of `parts` slices is.
double largest_slice(const Region& region, std::int64_t parts) {
  const std::int64_t rows = region[sliced_dim(region, static_cast<int>(parts))].size();
  const std::int64_t most = (rows + parts - 1) / parts;
  return static_cast<double>(most * parts) / static_cast<double>(rows);
}

class Chunking {
 public:
  Chunking(const Refit& refit, const std::vector<Parcel>& parcels, const Content& content) {
    for (const ParcelId id : content.parcels) {
      const Parcel& parcel = parcels[id.index()];
      for (const Fragment& fragment : parcel.fragments)
        weights_[fragment.region] += parcel.share * static_cast<double>(bytes_of(refit, fragment));
    }
    for (const auto& [region, bytes] : weights_) sum_ += bytes;
  }

  // The number near `wanted` with the most equal chunks; the nearest of equals. No chunk is empty.
  int number(std::int64_t wanted) const {
    std::int64_t most_rows = 1;
    for (const auto& [region, bytes] : weights_) {
      for (const Interval& dim : region) most_rows = std::max(most_rows, dim.size());
    }
    wanted = std::min(wanted, most_rows);
    std::int64_t best = wanted;
    double best_cost = cost(wanted, wanted);
    for (const std::int64_t number : candidates(wanted)) {
      const double here = cost(number, wanted);
      if (here < best_cost) {
        best = number;
        best_cost = here;
      }
    }
    return static_cast<int>(best);
  }

  double largest(std::int64_t number) const {
    double sum = 0;
    for (const auto& [region, bytes] : weights_) sum += bytes * largest_slice(region, number);
    return sum / sum_;
  }

 private:
  double cost(std::int64_t number, std::int64_t wanted) const {
    const double ratio = static_cast<double>(number) / static_cast<double>(wanted);
    return largest(number) + 0.05 * (ratio > 1 ? ratio - 1 : 1 / ratio - 1);
  }

  // Numbers that cut some dim in slices of a whole number of rows.
  std::set<std::int64_t> candidates(std::int64_t wanted) const {
    std::set<std::int64_t> numbers;
    std::size_t looked = 0;
    for (const auto& [region, bytes] : weights_) {
      if (++looked > kFragmentsLooked) break;
      for (const Interval& dim : region) {
        for (const std::int64_t rows : {dim.size() / wanted, dim.size() / wanted + 1}) {
          const std::int64_t number = rows == 0 ? 0 : (dim.size() + rows - 1) / rows;
          if (number > 0 && 16 * number >= wanted && number <= std::min(2 * wanted, kMostChunks))
            numbers.insert(number);
        }
      }
    }
    return numbers;
  }

  struct BySize {
    bool operator()(const Region& a, const Region& b) const {
      return std::lexicographical_compare(
          a.begin(), a.end(), b.begin(), b.end(),
          [](const Interval& x, const Interval& y) { return x.size() < y.size(); });
    }
  };
  std::map<Region, double, BySize> weights_;  // what travels of all fragments of one shape
  double sum_ = 0;
};

}  // namespace

void set_chunks(const Refit& refit, const std::vector<Parcel>& parcels, std::int64_t about_bytes,
                std::vector<Content>& contents) {
  for (Content& content : contents) {
    const std::int64_t wanted =
        std::clamp<std::int64_t>((content.bytes + about_bytes - 1) / about_bytes, 1, kMostChunks);
    content.chunks = 1;
    content.chunk_bytes.clear();
    if (wanted == 1) continue;
    const Chunking chunking(refit, parcels, content);
    content.chunks = chunking.number(wanted);
    if (chunking.largest(content.chunks) <= kEqual) continue;
    content.chunk_bytes.assign(static_cast<std::size_t>(content.chunks), 0);
    for (const ParcelId id : content.parcels) {
      for (int c = 0; c < content.chunks; ++c) {
        content.chunk_bytes[static_cast<std::size_t>(c)] +=
            chunk_wire_bytes(refit, parcels[id.index()], c, content.chunks);
      }
    }
  }
}

}  // namespace refit
