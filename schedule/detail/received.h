#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/detail/rank_sets.h"
#include "schedule/schedule.h"

namespace refit::detail {

// Which chunks of a parcel each of its demanders has been brought: one bit per chunk. What all its
// demanders got at once is kept once. What one demander gets of parcels with equal demanders lies
// together, since it mostly comes together.
class Received {
 public:
  explicit Received(const std::vector<Parcel>& parcels) {
    for (const Parcel& parcel : parcels) {
      const std::size_t set = demanders_.add(parcel.demanders);
      if (set == of_set_.size()) of_set_.emplace_back();
      const std::size_t words = (static_cast<std::size_t>(parcel.chunks) + kBits - 1) / kBits;
      places_.push_back({set, of_set_[set].words_each, words_to_all_.size()});
      of_set_[set].words_each += words;
      words_to_all_.resize(words_to_all_.size() + words);
    }
  }

  // Which of the parcel's demanders the rank is; nothing: none.
  std::optional<std::size_t> demander(ParcelId parcel, Rank rank) {
    return demanders_.place(places_[parcel.index()].set, rank);
  }

  // The op's chunks of `parcel` are with its demander number `demander` from now on. Returns the
  // first that was before, or -1.
  int mark(ParcelId parcel, std::size_t demander, const Op& op) {
    std::uint64_t* of_one = own_words(parcel, demander);
    const std::uint64_t* to_all = &words_to_all_[places_[parcel.index()].to_all];
    int again = -1;
    each_word(op, [&](std::size_t word, std::uint64_t bits) {
      const std::uint64_t twice = (of_one[word] | to_all[word]) & bits;
      if (twice != 0 && again < 0) again = static_cast<int>(word) * kBits + std::countr_zero(twice);
      of_one[word] |= bits;
    });
    return again;
  }

  // The chunks of a collective are with those of the parcel's demanders that touches(rank) names.
  // It is asked once for all parcels with these demanders that come one after the other.
  template <class Touches>
  void mark_group(ParcelId parcel, const Op& op, const Touches& touches) {
    const Place& place = places_[parcel.index()];
    OfSet& set = of_set_[place.set];
    const std::vector<Rank>& ranks = demanders_.ranks(place.set);
    if (set.asked_group != op.group) {
      set.asked_group = op.group;
      set.in_group.clear();
      for (std::size_t d = 0; d < ranks.size(); ++d) {
        if (touches(ranks[d])) set.in_group.push_back(d);
      }
    }
    if (set.in_group.size() < ranks.size()) {
      for (const std::size_t d : set.in_group) mark(parcel, d, op);
      return;
    }
    std::uint64_t* to_all = &words_to_all_[place.to_all];
    each_word(op, [&](std::size_t word, std::uint64_t bits) { to_all[word] |= bits; });
  }

  bool all_have_all(ParcelId parcel, int chunks) const {
    return is_full(&words_to_all_[places_[parcel.index()].to_all], nullptr, chunks);
  }

  bool has_all(ParcelId parcel, std::size_t demander, int chunks) const {
    return is_full(&words_to_all_[places_[parcel.index()].to_all], own_words(parcel, demander),
                   chunks);
  }

  bool has(ParcelId parcel, std::size_t demander, int chunk) const {
    const auto word = static_cast<std::size_t>(chunk / kBits);
    const std::uint64_t* of_one = own_words(parcel, demander);
    const std::uint64_t bits = words_to_all_[places_[parcel.index()].to_all + word] |
                               (of_one != nullptr ? of_one[word] : 0);
    return (bits >> (chunk % kBits) & 1) != 0;
  }

 private:
  static constexpr int kBits = 64;

  // Of all parcels with equal demanders.
  struct OfSet {
    std::size_t words_each = 0;        // of one demander
    std::vector<std::uint64_t> words;  // of each demander in turn; empty until one is marked alone
    // The last question and its answer: numbers of demanders.
    GroupId asked_group{-1};
    std::vector<std::size_t> in_group;
  };
  struct Place {
    std::size_t set;     // of its demanders
    std::size_t word;    // behind a demander's first
    std::size_t to_all;  // in words_to_all_
  };

  static std::uint64_t low_bits(int count) {
    return count >= kBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  // Calls each(word, bits) for the op's chunks.
  template <class Each>
  static void each_word(const Op& op, const Each& each) {
    for (int chunk = op.chunk_begin; chunk < op.chunk_end;) {
      const int word = chunk / kBits, end = std::min(op.chunk_end, (word + 1) * kBits);
      each(static_cast<std::size_t>(word), low_bits(end - chunk) << (chunk % kBits));
      chunk = end;
    }
  }

  static bool is_full(const std::uint64_t* one, const std::uint64_t* other, int chunks) {
    for (std::size_t word = 0; chunks > 0; ++word, chunks -= kBits) {
      const std::uint64_t bits = one[word] | (other != nullptr ? other[word] : 0);
      if ((~bits & low_bits(chunks)) != 0) return false;
    }
    return true;
  }

  std::uint64_t* own_words(ParcelId parcel, std::size_t demander) {
    const Place& place = places_[parcel.index()];
    OfSet& set = of_set_[place.set];
    if (set.words.empty()) set.words.resize(demanders_.ranks(place.set).size() * set.words_each);
    return set.words.data() + demander * set.words_each + place.word;
  }
  const std::uint64_t* own_words(ParcelId parcel, std::size_t demander) const {
    const Place& place = places_[parcel.index()];
    const OfSet& set = of_set_[place.set];
    if (set.words.empty()) return nullptr;
    return set.words.data() + demander * set.words_each + place.word;
  }

  RankSets demanders_;
  std::vector<OfSet> of_set_;  // by set of demanders
  std::vector<Place> places_;  // by parcel
  std::vector<std::uint64_t> words_to_all_;
};

}  // namespace refit::detail
