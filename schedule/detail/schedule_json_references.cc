#include "schedule/detail/schedule_json_references.h"

#include <algorithm>
#include <vector>

#include "schedule/detail/schedule_json_limits.h"

namespace refit::detail {
namespace {

class References {
 public:
  References(const Schedule& schedule, const JsonValues& json) : schedule_(schedule), json_(json) {}

  void check() const {
    for (std::size_t i = 0; i < schedule_.parcels.size(); ++i) {
      check_ranks(schedule_.parcels[i].owners, "parcels", i, "owners");
      check_ranks(schedule_.parcels[i].demanders, "parcels", i, "demanders");
    }
    for (std::size_t i = 0; i < schedule_.groups.size(); ++i)
      check_ranks(schedule_.groups[i].ranks, "groups", i, "ranks");
    for (std::size_t i = 0; i < schedule_.cargos.size(); ++i) {
      const std::vector<ParcelId>& parcels = schedule_.cargos[i].parcels;
      for (std::size_t j = 0; j < parcels.size(); ++j) {
        check_index(parcels[j].value, schedule_.parcels.size(), "parcel",
                    [&] { return fmt::format("cargos[{}][{}]", i, j); });
      }
    }
    for (std::size_t i = 0; i < schedule_.after.size(); ++i) {
      check_index(schedule_.after[i].value, schedule_.ops.size(), "op",
                  [&] { return fmt::format("after[{}]", i); });
    }
    check_ops();
  }

 private:
  template <class Where>
  void check_index(std::int64_t index, std::size_t count, const char* what,
                   const Where& where) const {
    if (index >= 0 && static_cast<std::uint64_t>(index) < count) return;
    json_.fail(where(), fmt::format("{} is out of range; there {} {} {}{}", index,
                                    count == 1 ? "is" : "are", count, what, count == 1 ? "" : "s"));
  }

  void check_ranks(const std::vector<Rank>& list, const char* items, std::size_t index,
                   const char* key) const {
    check_index(std::max_element(list.begin(), list.end())->value,
                static_cast<std::size_t>(schedule_.ranks), "rank",
                [&] { return fmt::format("{}[{}].{}", items, index, key); });
  }

  void check_ops() const {
    std::int64_t bytes = 0;
    std::uint64_t after = 0;
    for (std::size_t i = 0; i < schedule_.ops.size(); ++i) {
      const Op& op = schedule_.ops[i];
      check_op(op, i);
      bytes += op.bytes;
      after += op.after_end - op.after_begin;
      if (bytes > kMaxByteSum)
        json_.fail("ops", fmt::format("bytes add up to more than {}", kMaxByteSum));
      if (after > kMaxAfterSum) {
        json_.fail("ops", fmt::format("the after lists add up to more than {}", kMaxAfterSum));
      }
    }
  }

  void check_op(const Op& op, std::size_t index) const {
    const auto at = [&](const char* column) {
      return [index, column] { return fmt::format("ops[{}].{}", index, column); };
    };
    // An op that has no use for a group or a cargo says 0, whether there is one or not.
    const auto ranks = static_cast<std::size_t>(schedule_.ranks);
    check_index(op.lane, static_cast<std::size_t>(schedule_.lanes), "lane", at("lane"));
    check_index(op.phase, schedule_.phases.size(), "phase", at("phase"));
    check_index(op.src.value, ranks, "rank", at("src"));
    check_index(op.dst.value, ranks, "rank", at("dst"));
    if (op.kind != OpKind::transfer || op.group.value != 0)
      check_index(op.group.value, schedule_.groups.size(), "group", at("group"));
    if (moves_bytes(op) || op.cargo.value != 0)
      check_index(op.cargo.value, schedule_.cargos.size(), "cargo", at("cargo"));
    if (op.chunk_end > kMaxChunks || op.chunk_begin > op.chunk_end) {
      json_.fail(at("chunk_begin")(), fmt::format("expected 0 <= begin <= end <= {}, got {} and {}",
                                                  kMaxChunks, op.chunk_begin, op.chunk_end));
    }
    if (op.after_begin > op.after_end || op.after_end > schedule_.after.size()) {
      json_.fail(at("after_begin")(),
                 fmt::format("expected 0 <= begin <= end <= {}, got {} and {}",
                             schedule_.after.size(), op.after_begin, op.after_end));
    }
  }

  const Schedule& schedule_;
  const JsonValues& json_;
};

}  // namespace

void check_references(const Schedule& schedule, const JsonValues& json) {
  References(schedule, json).check();
}

}  // namespace refit::detail
