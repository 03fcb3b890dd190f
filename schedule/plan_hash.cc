#include "schedule/plan_hash.h"

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <xxhash.h>

namespace refit {
namespace {

// Every number as eight bytes, least first; every list after its length, so that no two plans give
// the same bytes.
class Hash {
 public:
  Hash() : state_(XXH3_createState()) {
    if (!state_ || XXH3_64bits_reset(state_.get()) != XXH_OK) throw std::bad_alloc();
  }

  void add(std::int64_t number) { add_bits(static_cast<std::uint64_t>(number)); }
  void add(double number) { add_bits(std::bit_cast<std::uint64_t>(number)); }
  template <class Tag>
  void add(Id<Tag> id) {
    add(std::int64_t{id.value});
  }
  template <class Items, class Add>
  void add_list(const Items& items, Add add_item) {
    add(static_cast<std::int64_t>(items.size()));
    for (const auto& item : items) add_item(item);
  }
  template <class Numbers>
  void add_numbers(const Numbers& numbers) {
    add_list(numbers, [this](const auto& number) { add(number); });
  }

  std::uint64_t value() {
    flush();
    return XXH3_64bits_digest(state_.get());
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  void add_bits(std::uint64_t bits) {
    if (used_ == buffer_.size()) flush();
    for (std::size_t i = 0; i < 8; ++i)
      buffer_[used_ + i] = static_cast<unsigned char>(bits >> (8 * i));
    used_ += 8;
  }

  void flush() {
    XXH3_64bits_update(state_.get(), buffer_.data(), used_);
    used_ = 0;
  }

  std::unique_ptr<XXH3_state_t, Free> state_;
  std::array<unsigned char, 4096> buffer_{};
  std::size_t used_ = 0;
};

void add_parcel(Hash& hash, const Parcel& parcel) {
  hash.add_numbers(parcel.owners);
  hash.add_numbers(parcel.demanders);
  hash.add(std::int64_t{parcel.stage});
  hash.add(std::int64_t{parcel.group});
  hash.add(std::int64_t{parcel.chunks});
  hash.add(parcel.bytes);
  hash.add_list(parcel.fragments, [&](const Fragment& fragment) {
    hash.add(fragment.tensor_class);
    hash.add_list(fragment.region, [&](const Interval& interval) {
      hash.add(interval.begin);
      hash.add(interval.end);
    });
  });
}

void add_op(Hash& hash, const Op& op) {
  hash.add(static_cast<std::int64_t>(op.kind));
  hash.add(static_cast<std::int64_t>(op.work));
  hash.add(std::int64_t{op.lane});
  hash.add(std::int64_t{op.phase});
  hash.add(std::int64_t{op.round});
  hash.add(op.src);
  hash.add(op.dst);
  hash.add(op.group);
  hash.add(op.cargo);
  hash.add(std::int64_t{op.chunk_begin});
  hash.add(std::int64_t{op.chunk_end});
  hash.add(std::int64_t{op.count});
  hash.add(op.bytes);
  hash.add(std::int64_t{op.after_begin});
  hash.add(std::int64_t{op.after_end});
}

}  // namespace

std::string plan_hash(const Schedule& schedule) {
  Hash hash;
  hash.add(std::int64_t{schedule.ranks});
  hash.add(std::int64_t{schedule.lanes});
  hash.add(schedule.caps.nic_bytes_per_s);
  hash.add(schedule.caps.nvlink_bytes_per_s);
  hash.add(std::int64_t{schedule.ctas});
  hash.add_list(schedule.parcels, [&](const Parcel& parcel) { add_parcel(hash, parcel); });
  hash.add_list(schedule.cargos, [&](const Cargo& cargo) { hash.add_numbers(cargo.parcels); });
  hash.add_list(schedule.groups, [&](const Group& group) {
    hash.add_numbers(group.ranks);
    hash.add(std::int64_t{group.width});
  });
  hash.add_list(schedule.ops, [&](const Op& op) { add_op(hash, op); });
  hash.add_numbers(schedule.after);
  hash.add_list(schedule.windows, [&](const LaneWindow& window) {
    for (const auto* side : {&window.send, &window.receive})
      hash.add_list(*side, [&](std::uint16_t width) { hash.add(std::int64_t{width}); });
  });
  if (schedule.coding) {
    hash.add(static_cast<std::int64_t>(schedule.coding->codec));
    hash.add(static_cast<std::int64_t>(schedule.coding->place));
    hash.add(std::int64_t{schedule.coding->cores});
    hash.add(std::int64_t{schedule.coding->staged});
    hash.add(schedule.coding->changes_per_byte);
    for (const Parcel& parcel : schedule.parcels) hash.add(parcel.share);
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace refit
