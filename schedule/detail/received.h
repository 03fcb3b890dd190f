#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/schedule.h"

namespace refit::detail {

// Which chunks of a parcel each of its demanders has been brought: one bit per chunk.
class Received {
 public:
  explicit Received(const std::vector<Parcel>& parcels) {
    std::size_t words = 0;
    for (const Parcel& parcel : parcels) {
      first_.push_back(words);
      words_of_.push_back((static_cast<std::size_t>(parcel.chunks) + 63) / 64);
      words += parcel.demanders.size() * words_of_.back();
    }
    words_.assign(words, 0);
  }

  // The op's chunks of `parcel` are with its demander number `demander` from now on. Returns the
  // first that was before.
  std::optional<int> mark(ParcelId parcel, std::size_t demander, const Op& op) {
    std::optional<int> again;
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
      std::uint64_t& word = words_[word_of(parcel, demander, chunk)];
      const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
      if ((word & bit) != 0 && !again) again = chunk;
      word |= bit;
    }
    return again;
  }

  bool has(ParcelId parcel, std::size_t demander, int chunk) const {
    return (words_[word_of(parcel, demander, chunk)] >> (chunk % 64) & 1) != 0;
  }

 private:
  std::size_t word_of(ParcelId parcel, std::size_t demander, int chunk) const {
    return first_[parcel.index()] + demander * words_of_[parcel.index()] +
           static_cast<std::size_t>(chunk) / 64;
  }

  std::vector<std::size_t> first_, words_of_;  // [parcel]: first word; words per demander
  std::vector<std::uint64_t> words_;           // [parcel][demander][chunk / 64]
};

}  // namespace refit::detail
