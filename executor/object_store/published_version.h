#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "delta/hash.h"
#include "executor/object_store/object_store.h"

namespace refit {

// A version as it lies in an object store: an object per owner with the payloads of the chunks that
// it has coded, one behind the other, and a manifest that says where each chunk is. The manifest is
// written last, when all objects are there: who finds it finds everything, and a sender that dies
// before has published nothing.
//
//   PREFIX/7/owner-0   PREFIX/7/owner-2   PREFIX/7/manifest      version 7, coded by ranks 0 and 2

struct StoredChunk {
  std::uint32_t chunk = 0;  // DeltaGeometry's number
  std::uint32_t owner = 0;  // rank
  std::uint64_t first = 0, bytes = 0;
  std::uint64_t hash = 0;  // XXH3 of its payload
};

struct Manifest {
  Hash128 plan;  // DeltaGeometry::hash
  std::uint64_t base_version = 0, target_version = 0;
  std::vector<StoredChunk> chunks;  // ascending, each once
};

std::string write_manifest(const Manifest& manifest);
// Error(check_failed), beginning with `where`, if it is cut short or damaged.
Manifest read_manifest(std::string_view text, std::string_view where);

std::string manifest_key(const std::string& prefix, std::uint64_t version);

// Puts an owner's object and says where its chunks are.
std::vector<StoredChunk> put_payloads(ObjectStore& store, const std::string& prefix,
                                      std::uint64_t version, std::uint32_t owner,
                                      std::span<const std::size_t> chunks,
                                      const std::map<std::size_t, std::string>& payloads);

// Of chunks that several owners have coded, the one of the smallest rank is taken.
void put_manifest(ObjectStore& store, const std::string& prefix, Manifest manifest);

// Error(check_failed) if it is of another plan or version than asked for.
Manifest get_manifest(ObjectStore& store, const std::string& prefix, const Hash128& plan,
                      std::uint64_t base_version, std::uint64_t target_version);

// The payloads of `chunks`, by ranges: neighbours in one object are one request. A payload that
// does not hash to what the manifest says is asked for once more; Error(check_failed) if that is no
// better, and those before it are in `payloads`.
void get_payloads(ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                  std::span<const std::size_t> chunks,
                  std::map<std::size_t, std::string>& payloads);

}  // namespace refit
