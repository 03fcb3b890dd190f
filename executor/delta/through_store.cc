#include "executor/delta/through_store.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.h"
#include "executor/delta/blob.h"
#include "executor/object_store/published_version.h"

namespace refit {

std::vector<std::size_t> through_store(ObjectStore& store, const DeltaGeometry& geometry,
                                       std::uint64_t base_version, std::uint64_t target_version,
                                       DeltaSeat& seat, DeltaRank& rank) {
  const std::string prefix = "refit-" + to_hex(geometry.hash());
  const auto stored =
      put_payloads(store, prefix, target_version, static_cast<std::uint32_t>(rank.rank().value),
                   rank.coded(), rank.payloads());
  // The manifest comes last: when it can be read, so can all that it names.
  Manifest manifest{geometry.hash(), base_version, target_version, {}};
  for (const std::string& blob : seat.all_gather(blob_of(stored))) {
    const auto chunks = entries_of<StoredChunk>(blob);
    manifest.chunks.insert(manifest.chunks.end(), chunks.begin(), chunks.end());
  }
  if (rank.rank() == Rank(0)) put_manifest(store, prefix, std::move(manifest));
  seat.all_gather("");
  std::vector<std::size_t> lacking;
  std::ranges::set_difference(rank.demanded(), rank.coded(), std::back_inserter(lacking));
  if (lacking.empty()) return lacking;
  // What the store has damaged is not there, and so its owner is asked.
  try {
    get_payloads(store, prefix,
                 get_manifest(store, prefix, geometry.hash(), base_version, target_version),
                 lacking, rank.payloads());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::check_failed) throw;
  }
  return lacking;
}

}  // namespace refit
