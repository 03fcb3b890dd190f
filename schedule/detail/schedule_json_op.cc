#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "schedule/detail/schedule_json_items.h"
#include "schedule/detail/schedule_json_limits.h"

namespace refit::detail {
namespace {

constexpr std::array<OpKind, 5> kOpKinds = {OpKind::transfer, OpKind::all_gather, OpKind::broadcast,
                                            OpKind::compute, OpKind::barrier};
constexpr std::array<Work, 21> kWorks = {
    Work::none,    Work::export_tensors, Work::yield,   Work::pack,   Work::stack,  Work::assemble,
    Work::host,    Work::call,           Work::land,    Work::load,   Work::pull,   Work::fixed,
    Work::convert, Work::stream,         Work::scan,    Work::encode, Work::decode, Work::apply,
    Work::pause,   Work::resume,         Work::describe};
constexpr std::array<const char*, 15> kColumns = {
    "kind",  "work",        "lane",      "phase", "round", "src",         "dst",      "group",
    "cargo", "chunk_begin", "chunk_end", "count", "bytes", "after_begin", "after_end"};

// The columns of one op, from the first to the last.
class Columns {
 public:
  Columns(const JsonValues& json, const Json& row, std::size_t index)
      : json_(json), row_(row), index_(index) {}

  std::int64_t number(std::int64_t most) {
    const std::int64_t value = json_.integer(row_[column_], 0, most, [this] { return where(); });
    ++column_;
    return value;
  }
  std::int32_t number32() { return static_cast<std::int32_t>(number(kMaxInt32)); }
  std::uint32_t place() {
    return static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
  }

  template <class Values>
  typename Values::value_type word(const Values& values) {
    const Json& spelled = row_[column_];
    if (const auto* text = spelled.get_ptr<const std::string*>()) {
      for (const auto value : values) {
        if (*text != to_string(value)) continue;
        ++column_;
        return value;
      }
    }
    std::vector<std::string_view> known;
    for (const auto value : values) known.push_back(to_string(value));
    json_.fail(where(), fmt::format("expected one of {}, got {}", fmt::join(known, ", "),
                                    short_dump(spelled)));
  }

 private:
  std::string where() const { return fmt::format("ops[{}].{}", index_, kColumns[column_]); }

  const JsonValues& json_;
  const Json& row_;
  std::size_t index_, column_ = 0;
};

}  // namespace

Op ScheduleItems::op(const Json& item, std::size_t index) const {
  if (!item.is_array() || item.size() != kColumns.size()) {
    json_.fail(fmt::format("ops[{}]", index),
               fmt::format("expected a list of {} columns ({}), got {}", kColumns.size(),
                           fmt::join(kColumns, ", "), short_dump(item)));
  }
  Columns row(json_, item, index);
  Op op;
  op.kind = row.word(kOpKinds);
  op.work = row.word(kWorks);
  op.lane = static_cast<std::uint8_t>(row.number(255));
  op.phase = static_cast<std::uint8_t>(row.number(255));
  op.round = row.number32();
  op.src = Rank{row.number(kMaxInt32)};
  op.dst = Rank{row.number(kMaxInt32)};
  op.group = GroupId{row.number(kMaxInt32)};
  op.cargo = CargoId{row.number(kMaxInt32)};
  op.chunk_begin = row.number32();
  op.chunk_end = row.number32();
  op.count = row.number32();
  op.bytes = row.number(kMaxBytes);
  op.after_begin = row.place();
  op.after_end = row.place();
  return op;
}

}  // namespace refit::detail
