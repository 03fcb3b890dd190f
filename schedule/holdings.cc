#include "schedule/holdings.h"

#include <algorithm>

#include "base/check.h"

namespace refit {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

}  // namespace

Holdings::Holdings(const std::vector<Parcel>& parcels) : parcels_(&parcels) {
  std::size_t words = 0;
  for (std::size_t p = 0; p < parcels.size(); ++p) {
    first_.push_back(words);
    words += parcels[p].demanders.size() * words_of(p);
  }
  words_.assign(words, 0);
}

std::size_t Holdings::words_of(std::size_t parcel) const {
  return (static_cast<std::size_t>((*parcels_)[parcel].chunks) + 63) / 64;
}

std::size_t Holdings::first_word(ParcelId parcel, Rank demander) const {
  const auto& demanders = (*parcels_)[parcel.index()].demanders;
  const auto at = std::lower_bound(demanders.begin(), demanders.end(), demander);
  if (at == demanders.end() || *at != demander) return kNowhere;
  return first_[parcel.index()] +
         static_cast<std::size_t>(at - demanders.begin()) * words_of(parcel.index());
}

bool Holdings::has(ParcelId parcel, Rank demander, int chunk) const {
  const std::size_t first = first_word(parcel, demander);
  if (first == kNowhere) return false;
  return (words_[first + static_cast<std::size_t>(chunk) / 64] >> (chunk % 64) & 1) != 0;
}

void Holdings::add(ParcelId parcel, Rank demander, int begin, int end) {
  const std::size_t first = first_word(parcel, demander);
  if (first == kNowhere) return;
  for (int c = begin; c < end; ++c) {
    words_[first + static_cast<std::size_t>(c) / 64] |= std::uint64_t{1} << (c % 64);
  }
}

void Holdings::add(const Schedule& schedule, const Op& op, Rank rank) {
  for (const ParcelId parcel : schedule.cargos[op.cargo.index()].parcels) {
    add(parcel, rank, op.chunk_begin, op.chunk_end);
  }
}

std::vector<std::uint64_t> Holdings::of_rank(Rank rank) const {
  std::vector<std::uint64_t> mine;
  for (std::size_t p = 0; p < parcels_->size(); ++p) {
    const std::size_t first = first_word(ParcelId(static_cast<std::int64_t>(p)), rank);
    if (first == kNowhere) continue;
    mine.insert(mine.end(), words_.begin() + static_cast<std::ptrdiff_t>(first),
                words_.begin() + static_cast<std::ptrdiff_t>(first + words_of(p)));
  }
  return mine;
}

void Holdings::set_rank(Rank rank, const std::vector<std::uint64_t>& words) {
  std::size_t next = 0;
  for (std::size_t p = 0; p < parcels_->size(); ++p) {
    const std::size_t first = first_word(ParcelId(static_cast<std::int64_t>(p)), rank);
    if (first == kNowhere) continue;
    for (std::size_t w = 0; w < words_of(p); ++w) words_[first + w] = words.at(next++);
  }
  REFIT_CHECK(next == words.size());
}

}  // namespace refit
