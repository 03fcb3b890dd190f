#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace refit {

// Which chunks of which parcels each demander has received: a bit per (parcel, demander, chunk).
// What a rank owns is not counted, it has that anyway.
class Holdings {
 public:
  explicit Holdings(const std::vector<Parcel>& parcels);

  bool has(ParcelId parcel, Rank demander, int chunk) const;  // false if it is no demander
  // Chunks [begin, end); nothing happens if the rank does not demand the parcel.
  void add(ParcelId parcel, Rank demander, int begin, int end);

  // What an op brought to a rank.
  void add(const Schedule& schedule, const Op& op, Rank rank);

  // The bits of one rank, parcel by parcel, and back: ranks exchange them after a failure.
  std::vector<std::uint64_t> of_rank(Rank rank) const;
  void set_rank(Rank rank, const std::vector<std::uint64_t>& words);

  friend bool operator==(const Holdings& a, const Holdings& b) { return a.words_ == b.words_; }

 private:
  std::size_t words_of(std::size_t parcel) const;
  std::size_t first_word(ParcelId parcel, Rank demander) const;  // npos if it is no demander

  const std::vector<Parcel>* parcels_;
  std::vector<std::size_t> first_;  // per parcel
  std::vector<std::uint64_t> words_;
};

}  // namespace refit
