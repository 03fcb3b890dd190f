#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "schedule/schedule.h"

namespace refit::detail {

// Which chunks of a parcel each of its demanders has been brought: one bit per chunk. What a
// demander gets of parcels with equal demanders lies together, since it mostly comes together.
class Received {
 public:
  explicit Received(const std::vector<Parcel>& parcels) {
    for (const Parcel& parcel : parcels) {
      auto& [demanders, alike] = *alike_.try_emplace(parcel.demanders).first;
      of_.push_back({&demanders, &alike, alike.words});
      alike.words += (static_cast<std::size_t>(parcel.chunks) + 63) / 64;
    }
    std::size_t words = 0;
    for (auto& [demanders, alike] : alike_) {
      alike.first = words;
      words += demanders.size() * alike.words;
    }
    words_.assign(words, 0);
  }
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;

  // Which of the parcel's demanders the rank is; nothing: none.
  std::optional<std::size_t> demander(ParcelId parcel, Rank rank) {
    Place& place = of_[parcel.index()];
    if (place.alike->asked != rank) {  // a cargo is asked for parcel by parcel
      const auto at = std::lower_bound(place.demanders->begin(), place.demanders->end(), rank);
      place.alike->asked = rank;
      place.alike->answer.reset();
      if (at != place.demanders->end() && *at == rank)
        place.alike->answer = static_cast<std::size_t>(at - place.demanders->begin());
    }
    return place.alike->answer;
  }

  // The op's chunks of `parcel` are with its demander number `demander` from now on. Returns the
  // first that was before.
  std::optional<int> mark(ParcelId parcel, std::size_t demander, const Op& op) {
    std::optional<int> again;
    const std::size_t first = first_word(parcel, demander);
    for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
      std::uint64_t& word = words_[first + static_cast<std::size_t>(chunk) / 64];
      const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
      if ((word & bit) != 0 && !again) again = chunk;
      word |= bit;
    }
    return again;
  }

  bool has_all(ParcelId parcel, std::size_t demander, int chunks) const {
    std::size_t word = first_word(parcel, demander);
    for (; chunks >= 64; chunks -= 64) {
      if (~words_[word++] != 0) return false;
    }
    const std::uint64_t all = (std::uint64_t{1} << chunks) - 1;
    return chunks == 0 || (words_[word] & all) == all;
  }

  bool has(ParcelId parcel, std::size_t demander, int chunk) const {
    const std::size_t word = first_word(parcel, demander) + static_cast<std::size_t>(chunk) / 64;
    return (words_[word] >> (chunk % 64) & 1) != 0;
  }

 private:
  // Parcels with equal demanders: of each demander in turn, the words of these parcels.
  struct Alike {
    std::size_t first = 0;
    std::size_t words = 0;  // of one demander
    // The last question and its answer.
    Rank asked{-1};
    std::optional<std::size_t> answer;
  };
  struct Place {
    const std::vector<Rank>* demanders;
    Alike* alike;
    std::size_t word;  // behind the demander's first
  };

  std::size_t first_word(ParcelId parcel, std::size_t demander) const {
    const Place& place = of_[parcel.index()];
    return place.alike->first + demander * place.alike->words + place.word;
  }

  std::map<std::vector<Rank>, Alike> alike_;  // by demanders
  std::vector<Place> of_;                     // by parcel
  std::vector<std::uint64_t> words_;
};

}  // namespace refit::detail
