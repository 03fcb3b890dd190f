#include "planner/optimal/contents.h"

#include <algorithm>
#include <map>
#include <utility>

namespace refit {
namespace {

constexpr std::int64_t kMostChunks = 4096;

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
    if (is_new) contents.push_back({{}, &parcel.owners, &parcel.demanders, 0, 1});
    Content& content = contents[at->second];
    content.parcels.push_back(ParcelId(static_cast<std::int64_t>(p)));
    content.bytes += parcel.bytes;
  }
  return contents;
}

void set_chunks(std::vector<Content>& contents, std::int64_t chunk_bytes) {
  for (Content& content : contents) {
    const std::int64_t wanted = (content.bytes + chunk_bytes - 1) / chunk_bytes;
    content.chunks = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, kMostChunks));
  }
}

}  // namespace refit
