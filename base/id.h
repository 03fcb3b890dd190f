#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace refit {

// An integer that names one kind of thing, so that a rank can't be passed where a link is meant.
// Ids count from 0 and index flat arrays: `domain_of[rank.index()]`.
template <class Tag>
struct Id {
  std::int32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::int64_t v) : value(static_cast<std::int32_t>(v)) {}

  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using Rank = Id<struct RankTag>;        // one GPU's number in the refit world
using NodeId = Id<struct NodeTag>;      // a host
using DomainId = Id<struct DomainTag>;  // GPUs that reach each other by NVLink
using SiteId = Id<struct SiteTag>;    // machines joined by a fabric; sites are joined by WAN links
using LinkId = Id<struct LinkTag>;    // one direction of one port or trunk
using ClassId = Id<struct ClassTag>;  // equal tensors with equal layouts
using ParcelId = Id<struct ParcelTag>;  // content that always travels together
using CargoId = Id<struct CargoTag>;    // what one op moves: a list of parcels
using GroupId = Id<struct GroupTag>;    // ranks that act together in one op
using OpId = Id<struct OpTag>;

}  // namespace refit

template <class Tag>
struct std::hash<refit::Id<Tag>> {
  std::size_t operator()(refit::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value);
  }
};
