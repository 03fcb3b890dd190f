#include "executor/object_store/published_version.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "executor/detail/frame.h"

namespace refit {
namespace {

using detail::put;
using detail::take;

constexpr std::uint64_t kFirst = 0x31666d64746665fbu;  // a name and a number of the format
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
static_assert(sizeof(StoredChunk) == 32);

std::uint64_t hash_of(std::string_view bytes) {
  return hash64(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::string owner_key(const std::string& prefix, std::uint64_t version, std::uint32_t owner) {
  return fmt::format("{}/{}/owner-{}", prefix, version, owner);
}

[[noreturn]] void refuse(std::string_view where, const std::string& why) {
  throw Error(ErrorCode::check_failed, fmt::format("{}: {}", where, why));
}

}  // namespace

std::string write_manifest(const Manifest& manifest) {
  std::string out;
  put(out, kFirst);
  put(out, manifest.plan);
  put(out, manifest.base_version);
  put(out, manifest.target_version);
  for (const StoredChunk& chunk : manifest.chunks) put(out, chunk);
  put(out, hash_of(out));
  return out;
}

Manifest read_manifest(std::string_view text, std::string_view where) {
  constexpr std::size_t kFixed = 8 + sizeof(Hash128) + 8 + 8 + 8;
  if (text.size() < kFixed || (text.size() - kFixed) % sizeof(StoredChunk) != 0)
    refuse(where, fmt::format("{} bytes are no whole manifest", text.size()));
  std::string_view hash = text.substr(text.size() - 8);
  if (take<std::uint64_t>(hash) != hash_of(text.substr(0, text.size() - 8)))
    refuse(where, "the manifest is damaged (its hash does not fit)");
  if (take<std::uint64_t>(text) != kFirst) refuse(where, "is no manifest of this format");
  Manifest manifest;
  manifest.plan = take<Hash128>(text);
  manifest.base_version = take<std::uint64_t>(text);
  manifest.target_version = take<std::uint64_t>(text);
  while (text.size() > 8) manifest.chunks.push_back(take<StoredChunk>(text));
  return manifest;
}

std::string manifest_key(const std::string& prefix, std::uint64_t version) {
  return fmt::format("{}/{}/manifest", prefix, version);
}

std::vector<StoredChunk> put_payloads(ObjectStore& store, const std::string& prefix,
                                      std::uint64_t version, std::uint32_t owner,
                                      std::span<const std::size_t> chunks,
                                      const std::map<std::size_t, std::string>& payloads) {
  std::vector<StoredChunk> stored;
  std::string object;
  for (const std::size_t chunk : chunks) {
    const std::string& payload = payloads.at(chunk);
    stored.push_back({static_cast<std::uint32_t>(chunk), owner, object.size(), payload.size(),
                      hash_of(payload)});
    object += payload;
  }
  if (!object.empty()) store.put(owner_key(prefix, version, owner), object);
  return stored;
}

void put_manifest(ObjectStore& store, const std::string& prefix, Manifest manifest) {
  std::ranges::sort(manifest.chunks, {},
                    [](const StoredChunk& chunk) { return std::pair(chunk.chunk, chunk.owner); });
  const auto again =
      std::unique(manifest.chunks.begin(), manifest.chunks.end(),
                  [](const StoredChunk& a, const StoredChunk& b) { return a.chunk == b.chunk; });
  manifest.chunks.erase(again, manifest.chunks.end());
  store.put(manifest_key(prefix, manifest.target_version), write_manifest(manifest));
}

Manifest get_manifest(ObjectStore& store, const std::string& prefix, const Hash128& plan,
                      std::uint64_t base_version, std::uint64_t target_version) {
  const std::string key = manifest_key(prefix, target_version);
  Manifest manifest = read_manifest(store.get_all(key, kMostBytes), key);
  if (manifest.plan != plan)
    refuse(key, fmt::format("is of plan {}, not of {}", to_hex(manifest.plan), to_hex(plan)));
  if (manifest.base_version != base_version || manifest.target_version != target_version)
    refuse(key, fmt::format("leads from version {} to {}, not from {} to {}", manifest.base_version,
                            manifest.target_version, base_version, target_version));
  return manifest;
}

void get_payloads(ObjectStore& store, const std::string& prefix, const Manifest& manifest,
                  std::span<const std::size_t> chunks,
                  std::map<std::size_t, std::string>& payloads) {
  std::vector<StoredChunk> wanted;
  for (const std::size_t chunk : chunks) {
    const auto at = std::ranges::lower_bound(manifest.chunks, chunk, {}, &StoredChunk::chunk);
    if (at == manifest.chunks.end() || at->chunk != chunk)
      refuse(manifest_key(prefix, manifest.target_version),
             fmt::format("has no chunk {}, which is needed", chunk));
    wanted.push_back(*at);
  }
  std::ranges::sort(wanted, {}, [](const StoredChunk& c) { return std::pair(c.owner, c.first); });

  for (std::size_t i = 0; i < wanted.size();) {
    std::size_t end = i + 1;
    while (end < wanted.size() && wanted[end].owner == wanted[i].owner &&
           wanted[end].first == wanted[end - 1].first + wanted[end - 1].bytes) {
      ++end;
    }
    const std::uint64_t bytes = wanted[end - 1].first + wanted[end - 1].bytes - wanted[i].first;
    const std::string key = owner_key(prefix, manifest.target_version, wanted[i].owner);
    const std::string range = bytes > 0 ? store.get(key, wanted[i].first, bytes) : std::string();
    for (; i < end; ++i) {
      const StoredChunk& chunk = wanted[i];
      std::string payload = range.substr(
          chunk.first - (wanted[end - 1].first + wanted[end - 1].bytes - bytes), chunk.bytes);
      // What was damaged on its way comes right the second time.
      if (hash_of(payload) != chunk.hash) payload = store.get(key, chunk.first, chunk.bytes);
      if (hash_of(payload) != chunk.hash)
        refuse(key, fmt::format("chunk {} is damaged (its hash does not fit) or the object was "
                                "replaced; publish the version again",
                                chunk.chunk));
      payloads[chunk.chunk] = std::move(payload);
    }
  }
}

}  // namespace refit
