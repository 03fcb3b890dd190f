#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/id.h"

namespace refit {

// What a refit keeps in memory while it runs: all on the GPU, but for the last.
enum class MemoryTerm {
  source_shards,       // weights that training holds
  destination_shards,  // weights that the engine holds
  buckets,             // what a collective gathers or broadcasts, on every rank of its group
  relayed,             // content that a rank only hands on
  staging,             // packed copies of what is being sent and received
  communicators,       // buffers of the transport, one per lane in use
  baselines,           // last versions of weights, for who looks for changes
  host_copies,         // host memory: what sockets send and receive between sites, and baselines
};                     // of those who look for changes there
constexpr std::size_t kMemoryTerms = 8;
constexpr std::array<std::string_view, kMemoryTerms> kMemoryTermWords = {"source shards",
                                                                         "destination shards",
                                                                         "buckets of collectives",
                                                                         "content handed on",
                                                                         "staging",
                                                                         "communicators",
                                                                         "baselines",
                                                                         "host copies"};

constexpr std::size_t index_of(MemoryTerm term) { return static_cast<std::size_t>(term); }
constexpr std::string_view to_string(MemoryTerm term) { return kMemoryTermWords[index_of(term)]; }

// Bytes by term.
using MemoryTerms = std::array<double, kMemoryTerms>;

inline double gpu_bytes(const MemoryTerms& terms) {
  double sum = 0;
  for (std::size_t t = 0; t < index_of(MemoryTerm::host_copies); ++t) sum += terms[t];
  return sum;
}

struct RankMemoryUse {
  MemoryTerms bytes{};  // at the moment of the GPU's peak; host copies: at their own
  double when_s = 0;    // that moment
  double total() const { return gpu_bytes(bytes); }
  MemoryTerm dominant() const {  // on the GPU
    const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(index_of(MemoryTerm::host_copies));
    return static_cast<MemoryTerm>(std::max_element(bytes.begin(), end) - bytes.begin());
  }
};

// The peak of each rank over the time of the refit. What training and serving need besides
// (optimizer, activations, KV cache) is not in it.
struct MemoryUse {
  std::vector<RankMemoryUse> peak;  // by rank
  Rank largest;
  std::optional<Rank> first_over;  // the first rank whose peak exceeds its GPU's memory, if known
};

// Ranks that hold equal weights on equal GPUs, and how full they get.
struct MemoryClass {
  std::vector<Rank> ranks;  // ascending
  Rank fullest;             // the first of them with the highest peak
  RankMemoryUse peak;       // its; host copies, here and below, are those of the rank that has most
  double gpu_memory_bytes = 0;  // 0: not known
  // Its use over time: the fullest moment of each of equal parts of the refit.
  std::vector<MemoryTerms> curve;
};

struct MemoryByClass {
  double step_s = 0;                 // length of a part of the curves
  std::vector<MemoryClass> classes;  // in the order of their first ranks
  std::size_t left_out = 0;          // classes with lower peaks than these
};

}  // namespace refit
