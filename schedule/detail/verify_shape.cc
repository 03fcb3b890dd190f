#include "schedule/detail/verify_shape.h"

#include <optional>
#include <string>

#include <fmt/format.h>

namespace refit::detail {
namespace {

using Fault = std::optional<std::string>;

template <class Tag>
Fault check_id(const char* what, Id<Tag> id, std::size_t count) {
  if (id.value >= 0 && id.index() < count) return std::nullopt;
  return fmt::format("names {} {}; there are {}", what, id.value, count);
}

Fault check_index(const char* what, int index, int count) {
  if (0 <= index && index < count) return std::nullopt;
  return fmt::format("names {} {}; there are {}", what, index, count);
}

Fault check_group(const Schedule& schedule, const Group& group) {
  if (group.ranks.empty()) return "has no ranks";
  const auto width = static_cast<std::size_t>(group.width);
  if (group.width < 1 || group.ranks.size() % width != 0) {
    return fmt::format("{} ranks do not fill rows of {}", group.ranks.size(), group.width);
  }
  std::vector<bool> seen(static_cast<std::size_t>(schedule.ranks), false);
  for (const Rank rank : group.ranks) {
    if (Fault f = check_id("rank", rank, seen.size())) return f;
    if (seen[rank.index()]) return fmt::format("names rank {} twice", rank.value);
    seen[rank.index()] = true;
  }
  return std::nullopt;
}

Fault check_parcel(const Schedule& schedule, const Parcel& parcel) {
  for (const auto* list : {&parcel.owners, &parcel.demanders}) {
    for (const Rank rank : *list) {
      if (Fault f = check_id("rank", rank, static_cast<std::size_t>(schedule.ranks))) return f;
    }
  }
  if (parcel.fragments.empty()) return "has no fragments";
  if (parcel.chunks < 1) return fmt::format("has {} chunks; use 1 or more", parcel.chunks);
  if (!(parcel.share >= 0 && parcel.share <= 1))
    return fmt::format("sends a share of {}; use 0 to 1", parcel.share);
  if (parcel.share < 1 && !schedule.coding)
    return fmt::format("sends a share of {}, but the plan says no coding", parcel.share);
  return std::nullopt;
}

Fault check_cargo(const Schedule& schedule, const Cargo& cargo) {
  if (cargo.parcels.empty()) return "has no parcels";
  for (const ParcelId id : cargo.parcels) {
    if (Fault f = check_id("parcel", id, schedule.parcels.size())) return f;
    const int first = schedule.parcels[cargo.parcels.front().index()].chunks;
    const int chunks = schedule.parcels[id.index()].chunks;
    if (chunks != first) {
      return fmt::format("joins parcels of {} and {} chunks; use equal numbers", first, chunks);
    }
  }
  return std::nullopt;
}

Fault check_moved(const Schedule& schedule, const Op& op) {
  if (Fault f = check_id("cargo", op.cargo, schedule.cargos.size())) return f;
  const ParcelId first = schedule.cargos[op.cargo.index()].parcels.front();
  const int chunks = schedule.parcels[first.index()].chunks;
  if (op.chunk_begin < 0 || op.chunk_begin >= op.chunk_end || op.chunk_end > chunks) {
    return fmt::format("moves chunks {} to {} of parcel {}, which has {}", op.chunk_begin,
                       op.chunk_end, first.value, chunks);
  }
  return std::nullopt;
}

Fault check_op(const Schedule& schedule, const Op& op) {
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  if (Fault f = check_index("lane", op.lane, schedule.lanes)) return f;
  if (Fault f = check_index("phase", op.phase, static_cast<int>(schedule.phases.size()))) return f;
  if (op.after_begin > op.after_end || op.after_end > schedule.after.size()) {
    return fmt::format("waits for entries {} to {} of a list of {}", op.after_begin, op.after_end,
                       schedule.after.size());
  }
  if (op.kind == OpKind::transfer || op.kind == OpKind::broadcast) {
    if (Fault f = check_id("rank", op.src, ranks)) return f;
  }
  if (op.kind == OpKind::transfer) {
    if (Fault f = check_id("rank", op.dst, ranks)) return f;
    if (op.src == op.dst) return fmt::format("sends from rank {} to itself", op.src.value);
  } else {
    if (Fault f = check_id("group", op.group, schedule.groups.size())) return f;
  }
  if (op.kind == OpKind::compute && is_coding(op.work) && !schedule.coding)
    return fmt::format("is to {}, but the plan says no coding", to_string(op.work));
  if (op.kind == OpKind::compute || op.kind == OpKind::barrier) return std::nullopt;
  return check_moved(schedule, op);
}

}  // namespace

Diagnostics verify_shape(const Schedule& schedule, const Refit& refit) {
  if (schedule.ranks != refit.ranks) {
    return {{"schedule",
             fmt::format("is for {} ranks, but the refit has {}", schedule.ranks, refit.ranks)}};
  }
  for (std::size_t g = 0; g < schedule.groups.size(); ++g) {
    if (const Fault f = check_group(schedule, schedule.groups[g]))
      return {{fmt::format("group {}", g), *f}};
  }
  for (std::size_t p = 0; p < schedule.parcels.size(); ++p) {
    if (const Fault f = check_parcel(schedule, schedule.parcels[p])) {
      return {{fmt::format("parcel {}", p), *f}};
    }
  }
  for (std::size_t c = 0; c < schedule.cargos.size(); ++c) {
    if (const Fault f = check_cargo(schedule, schedule.cargos[c]))
      return {{fmt::format("cargo {}", c), *f}};
  }
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (const Fault f = check_op(schedule, op)) {
      return {{fmt::format("op {} ({})", id, to_string(op.kind)), *f}};
    }
  }
  return {};
}

}  // namespace refit::detail
