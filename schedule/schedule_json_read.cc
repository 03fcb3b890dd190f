#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "schedule/schedule_json.h"

namespace refit {
namespace {

using Json = nlohmann::json;

// What a file may ask for. Rank ranges are the one place where a short text stands for a long list,
// so their sum is limited; everything else is as long as the file that spells it out.
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;
constexpr std::size_t kMaxListedRanks = std::size_t{1} << 26;
constexpr std::int64_t kMaxChunks = 65536;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 53;    // of one item: exact in a double
constexpr std::int64_t kMaxByteSum = std::int64_t{1} << 61;  // of all ops: no sum overflows
constexpr std::uint64_t kMaxAfterSum = std::uint64_t{1}
                                       << 28;  // of the lengths of all `after` lists
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxDims = 17;  // 16 of a tensor, and the member
constexpr int kMaxDepth = 8;

constexpr std::string_view kSchema = "refit.schedule/1";
constexpr std::array<const char*, 13> kKeys = {"schema", "strategy", "scenario", "ranks",  "lanes",
                                               "phases", "parcels",  "cargos",   "groups", "ops",
                                               "after",  "windows",  "caps"};
constexpr const char* kWindowsKey = "windows";  // only plans with such lanes have it
constexpr const char* kCapsKey = "caps";        // only plans that leave bandwidth to others
constexpr std::array<OpKind, 5> kOpKinds = {OpKind::transfer, OpKind::all_gather, OpKind::broadcast,
                                            OpKind::compute, OpKind::barrier};
constexpr std::array<Work, 9> kWorks = {Work::none,  Work::export_tensors, Work::pack,
                                        Work::stack, Work::call,           Work::land,
                                        Work::load,  Work::fixed,          Work::convert};
constexpr std::array<const char*, 15> kColumns = {
    "kind",  "work",        "lane",      "phase", "round", "src",         "dst",      "group",
    "cargo", "chunk_begin", "chunk_end", "count", "bytes", "after_begin", "after_end"};

std::string short_dump(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

// Turns the file into a Schedule while it is being parsed: each item of a long list is taken as
// soon as it is complete and then dropped, so that no document of the whole plan is ever built.
// References between lists are checked at the end; the keys may stand in any order.
//
// Paths are built only for messages: `where` arguments are callables.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  SavedSchedule read(const std::string& text);

 private:
  bool on_event(int depth, Json::parse_event_t event, Json& value);
  void on_root_key(const std::string& key);
  void take_item(const Json& item);
  void take_after(const Json& item);
  void take_root(const Json& root);
  void read_windows(const Json& value);
  void read_caps(const Json& value);
  void check_references() const;
  void check_op(std::size_t index) const;

  Phase read_phase(const Json& item, const std::string& path) const;
  Parcel read_parcel(const Json& item, const std::string& path);
  Cargo read_cargo(const Json& item, const std::string& path) const;
  Group read_group(const Json& item, const std::string& path);
  Op read_op(const Json& item, std::size_t index) const;
  std::vector<Rank> read_ranks(const Json& list, const std::string& path);
  Fragment read_fragment(const Json& item, const std::string& path) const;

  const Json& member(const Json& object, const char* key, const std::string& path) const;
  void allow_only(const Json& object, std::initializer_list<std::string_view> keys,
                  const std::string& path) const;
  const Json& list(const Json& value, const std::string& path) const;
  std::string text(const Json& value, const std::string& path) const;
  template <class Where>
  std::int64_t integer(const Json& value, std::int64_t least, std::int64_t most, Where where) const;
  template <class Where>
  void check_index(std::int64_t index, std::size_t count, const char* what, Where where) const;
  [[noreturn]] void fail(const std::string& path, const std::string& message) const;

  bool in(const char* key) const { return key_ == key; }

  std::string name_;
  std::string key_;  // of the root member that is being read
  std::set<std::string> seen_;
  std::size_t listed_ranks_ = 0;
  SavedSchedule saved_;
};

void Reader::fail(const std::string& path, const std::string& message) const {
  throw Error(ErrorCode::bad_input, path.empty() ? fmt::format("{}: {}", name_, message)
                                                 : fmt::format("{}: {}: {}", name_, path, message));
}

template <class Where>
std::int64_t Reader::integer(const Json& value, std::int64_t least, std::int64_t most,
                             Where where) const {
  const bool fits =
      value.is_number_integer() &&
      !(value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (fits) {
    const std::int64_t number = value.get<std::int64_t>();
    if (least <= number && number <= most) return number;
  }
  fail(where(),
       fmt::format("expected an integer from {} to {}, got {}", least, most, short_dump(value)));
}

template <class Where>
void Reader::check_index(std::int64_t index, std::size_t count, const char* what,
                         Where where) const {
  if (index >= 0 && static_cast<std::uint64_t>(index) < count) return;
  fail(where(), fmt::format("{} is out of range; there {} {} {}{}", index,
                            count == 1 ? "is" : "are", count, what, count == 1 ? "" : "s"));
}

const Json& Reader::member(const Json& object, const char* key, const std::string& path) const {
  if (!object.is_object()) {
    fail(path, fmt::format("expected an object, got {}", short_dump(object)));
  }
  const auto found = object.find(key);
  if (found == object.end()) fail(path, fmt::format("the member '{}' is missing", key));
  return *found;
}

void Reader::allow_only(const Json& object, std::initializer_list<std::string_view> keys,
                        const std::string& path) const {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(path, fmt::format("unknown member '{}'; use {}", key, fmt::join(keys, ", ")));
    }
  }
}

const Json& Reader::list(const Json& value, const std::string& path) const {
  if (!value.is_array()) fail(path, fmt::format("expected a list, got {}", short_dump(value)));
  return value;
}

std::string Reader::text(const Json& value, const std::string& path) const {
  if (!value.is_string()) fail(path, fmt::format("expected a text, got {}", short_dump(value)));
  return value.get<std::string>();
}

Phase Reader::read_phase(const Json& item, const std::string& path) const {
  Phase phase;
  phase.name = text(member(item, "name", path), path + ".name");
  phase.logical_bytes = integer(member(item, "logical_bytes", path), 0, kMaxBytes,
                                [&] { return path + ".logical_bytes"; });
  allow_only(item, {"name", "logical_bytes"}, path);
  return phase;
}

std::vector<Rank> Reader::read_ranks(const Json& value, const std::string& path) {
  std::vector<Rank> ranks;
  std::size_t index = 0;
  for (const Json& range : list(value, path)) {
    const auto where = [&] { return fmt::format("{}[{}]", path, index); };
    if (!range.is_array() || range.size() != 2) {
      fail(where(), fmt::format("expected [first rank, last rank], got {}", short_dump(range)));
    }
    const std::int64_t first = integer(range[0], 0, kMaxRanks - 1, where);
    const std::int64_t last = integer(range[1], first, kMaxRanks - 1, where);
    listed_ranks_ += static_cast<std::size_t>(last - first + 1);
    if (listed_ranks_ > kMaxListedRanks) {
      fail(where(), fmt::format("the file lists more than {} ranks in all", kMaxListedRanks));
    }
    for (std::int64_t rank = first; rank <= last; ++rank) ranks.push_back(Rank{rank});
    ++index;
  }
  if (ranks.empty()) fail(path, "expected at least one rank");
  return ranks;
}

Fragment Reader::read_fragment(const Json& item, const std::string& path) const {
  if (!item.is_array() || item.size() < 2 || item.size() > 1 + kMaxDims) {
    fail(path, fmt::format("expected [class, [begin, end], ...] with 1 to {} dims, got {}",
                           kMaxDims, short_dump(item)));
  }
  const auto where = [&] { return path; };
  Fragment fragment;
  fragment.tensor_class = ClassId{integer(item[0], 0, kMaxInt32, where)};
  for (std::size_t dim = 1; dim < item.size(); ++dim) {
    const Json& interval = item[dim];
    if (!interval.is_array() || interval.size() != 2) {
      fail(path, fmt::format("expected [begin, end], got {}", short_dump(interval)));
    }
    const std::int64_t begin = integer(interval[0], 0, kMaxBytes - 1, where);
    const std::int64_t end = integer(interval[1], begin + 1, kMaxBytes, where);
    fragment.region.push_back({begin, end});
  }
  return fragment;
}

Parcel Reader::read_parcel(const Json& item, const std::string& path) {
  const auto ascending_ranks = [&](const char* key) {
    const std::string here = path + "." + key;
    std::vector<Rank> ranks = read_ranks(member(item, key, path), here);
    if (std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) != ranks.end()) {
      fail(here, "ranks must ascend, each listed once");
    }
    return ranks;
  };
  const auto number = [&](const char* key, std::int64_t least, std::int64_t most) {
    return integer(member(item, key, path), least, most, [&] { return path + "." + key; });
  };
  Parcel parcel;
  parcel.owners = ascending_ranks("owners");
  parcel.demanders = ascending_ranks("demanders");
  parcel.stage = static_cast<int>(number("stage", 0, kMaxInt32));
  parcel.group = static_cast<int>(number("group", 0, kMaxInt32));
  parcel.chunks = static_cast<int>(number("chunks", 1, kMaxChunks));
  parcel.bytes = number("bytes", 0, kMaxBytes);
  std::size_t index = 0;
  for (const Json& fragment : list(member(item, "fragments", path), path + ".fragments")) {
    parcel.fragments.push_back(
        read_fragment(fragment, fmt::format("{}.fragments[{}]", path, index++)));
  }
  allow_only(item, {"owners", "demanders", "stage", "group", "chunks", "bytes", "fragments"}, path);
  return parcel;
}

Cargo Reader::read_cargo(const Json& item, const std::string& path) const {
  Cargo cargo;
  for (const Json& parcel : list(item, path)) {
    const auto where = [&] { return fmt::format("{}[{}]", path, cargo.parcels.size()); };
    cargo.parcels.push_back(ParcelId{integer(parcel, 0, kMaxInt32, where)});
  }
  return cargo;
}

Group Reader::read_group(const Json& item, const std::string& path) {
  Group group;
  group.ranks = read_ranks(member(item, "ranks", path), path + ".ranks");
  std::vector<Rank> sorted = group.ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    fail(path + ".ranks", fmt::format("rank {} is listed twice", twice->value));
  }
  group.width = static_cast<int>(integer(member(item, "width", path), 1,
                                         static_cast<std::int64_t>(group.ranks.size()),
                                         [&] { return path + ".width"; }));
  allow_only(item, {"ranks", "width"}, path);
  return group;
}

Op Reader::read_op(const Json& item, std::size_t index) const {
  if (!item.is_array() || item.size() != kColumns.size()) {
    fail(fmt::format("ops[{}]", index),
         fmt::format("expected a list of {} columns ({}), got {}", kColumns.size(),
                     fmt::join(kColumns, ", "), short_dump(item)));
  }
  std::size_t column = 0;
  const auto where = [&] { return fmt::format("ops[{}].{}", index, kColumns[column]); };
  const auto word = [&](const auto& values) {
    const std::string* spelled = item[column].get_ptr<const std::string*>();
    std::vector<std::string_view> known;
    for (const auto value : values) {
      if (spelled != nullptr && *spelled == to_string(value)) {
        ++column;
        return value;
      }
      known.push_back(to_string(value));
    }
    fail(where(), fmt::format("expected one of {}, got {}", fmt::join(known, ", "),
                              short_dump(item[column])));
  };
  const auto number = [&](std::int64_t most) {
    const std::int64_t value = integer(item[column], 0, most, where);
    ++column;
    return value;
  };
  const auto number32 = [&] { return static_cast<std::int32_t>(number(kMaxInt32)); };

  Op op;
  op.kind = word(kOpKinds);
  op.work = word(kWorks);
  op.lane = static_cast<std::uint8_t>(number(255));
  op.phase = static_cast<std::uint8_t>(number(255));
  op.round = number32();
  op.src = Rank{number(kMaxInt32)};
  op.dst = Rank{number(kMaxInt32)};
  op.group = GroupId{number(kMaxInt32)};
  op.cargo = CargoId{number(kMaxInt32)};
  op.chunk_begin = number32();
  op.chunk_end = number32();
  op.count = number32();
  op.bytes = number(kMaxBytes);
  op.after_begin = static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
  op.after_end = static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max()));
  return op;
}

void Reader::take_item(const Json& item) {
  Schedule& schedule = saved_.schedule;
  const auto path = [&](std::size_t index) { return fmt::format("{}[{}]", key_, index); };
  if (in("ops")) {
    schedule.ops.push_back(read_op(item, schedule.ops.size()));
  } else if (in("parcels")) {
    schedule.parcels.push_back(read_parcel(item, path(schedule.parcels.size())));
  } else if (in("cargos")) {
    schedule.cargos.push_back(read_cargo(item, path(schedule.cargos.size())));
  } else if (in("groups")) {
    schedule.groups.push_back(read_group(item, path(schedule.groups.size())));
  } else if (in("phases")) {
    schedule.phases.push_back(read_phase(item, path(schedule.phases.size())));
  }
}

void Reader::take_after(const Json& item) {
  std::vector<OpId>& after = saved_.schedule.after;
  const auto where = [&] { return fmt::format("after[{}]", after.size()); };
  after.push_back(OpId{integer(item, 0, kMaxInt32, where)});
}

void Reader::on_root_key(const std::string& key) {
  if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
    fail("", fmt::format("unknown member '{}'; a schedule has {}", key, fmt::join(kKeys, ", ")));
  }
  if (!seen_.insert(key).second) fail(key, "the member stands here twice");
  key_ = key;
}

// Returns whether the document keeps the value. Depth counts the containers around it.
bool Reader::on_event(int depth, Json::parse_event_t event, Json& value) {
  using Event = Json::parse_event_t;
  if (depth > kMaxDepth) fail(key_, fmt::format("nested deeper than {} levels", kMaxDepth));
  const bool is_list = in("ops") || in("parcels") || in("cargos") || in("groups") || in("phases");
  switch (event) {
    case Event::key:
      if (depth == 1) on_root_key(value.get<std::string>());
      return true;
    case Event::array_end:
    case Event::object_end:
      if (depth != 2 || !is_list) return true;
      take_item(value);
      return false;
    case Event::value:
      if (depth == 1 && in("schema") && value != Json(kSchema)) {
        fail(key_, fmt::format("the file says {}; this program reads \"{}\"", short_dump(value),
                               kSchema));
      }
      if (depth != 2) return true;
      if (is_list) take_item(value);  // no item is a scalar: this says what is expected
      if (!in("after")) return true;
      take_after(value);
      return false;
    case Event::array_start:
    case Event::object_start:
      if (depth == 2 && in("after")) fail(key_, "expected a list of op numbers");
      return true;
  }
  return true;
}

void Reader::take_root(const Json& root) {
  if (!root.is_object()) fail("", "expected an object");
  for (const char* key : kKeys) {
    const bool optional = std::string_view(key) == kWindowsKey || std::string_view(key) == kCapsKey;
    if (!optional) member(root, key, "");
  }
  for (const char* key : {"phases", "parcels", "cargos", "groups", "ops", "after"}) {
    list(root[key], key);
  }
  Schedule& schedule = saved_.schedule;
  schedule.strategy = text(root["strategy"], "strategy");
  saved_.scenario_name = text(member(root["scenario"], "name", "scenario"), "scenario.name");
  saved_.scenario_text = text(member(root["scenario"], "text", "scenario"), "scenario.text");
  allow_only(root["scenario"], {"name", "text"}, "scenario");
  schedule.ranks = static_cast<int>(integer(root["ranks"], 1, kMaxRanks, [] { return "ranks"; }));
  schedule.lanes = static_cast<int>(integer(root["lanes"], 0, 256, [] { return "lanes"; }));
  if (schedule.phases.size() > 256) fail("phases", "more than 256 phases");
  if (root.contains(kWindowsKey)) read_windows(root[kWindowsKey]);
  if (root.contains(kCapsKey)) read_caps(root[kCapsKey]);
}

void Reader::read_caps(const Json& value) {
  const auto rate = [&](const char* key) {
    const Json& number = member(value, key, kCapsKey);
    if (!number.is_number() || number.get<double>() < 0)
      fail(fmt::format("{}.{}", kCapsKey, key),
           fmt::format("expected bytes per second, 0 or more, got {}", short_dump(number)));
    return number.get<double>();
  };
  saved_.schedule.caps = {rate("nic_bytes_per_s"), rate("nvlink_bytes_per_s")};
  saved_.schedule.ctas = static_cast<int>(
      integer(member(value, "ctas", kCapsKey), 0, 1024, [] { return "caps.ctas"; }));
  allow_only(value, {"nic_bytes_per_s", "nvlink_bytes_per_s", "ctas"}, kCapsKey);
}

void Reader::read_windows(const Json& value) {
  Schedule& schedule = saved_.schedule;
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  for (const Json& item : list(value, kWindowsKey)) {
    const std::string path = fmt::format("windows[{}]", schedule.windows.size());
    const auto read_side = [&](const char* key) {
      std::vector<std::uint16_t> widths;
      for (const Json& width : list(member(item, key, path), fmt::format("{}.{}", path, key))) {
        widths.push_back(static_cast<std::uint16_t>(
            integer(width, 0, 65535, [&] { return fmt::format("{}.{}", path, key); })));
      }
      return widths;
    };
    LaneWindow window{read_side("send"), read_side("receive")};
    allow_only(item, {"send", "receive"}, path);
    const bool fits = window.send.size() == window.receive.size() &&
                      (window.send.empty() || window.send.size() == ranks);
    if (!fits) fail(path, fmt::format("expected {} widths for each side, or none", ranks));
    schedule.windows.push_back(std::move(window));
  }
  if (schedule.windows.size() != static_cast<std::size_t>(schedule.lanes)) {
    fail(kWindowsKey, fmt::format("expected one for each of {} lanes, got {}", schedule.lanes,
                                  schedule.windows.size()));
  }
}

void Reader::check_op(std::size_t index) const {
  const Schedule& schedule = saved_.schedule;
  const Op& op = schedule.ops[index];
  const auto at = [&](const char* column) {
    return [index, column] { return fmt::format("ops[{}].{}", index, column); };
  };
  // An op that has no use for a group or a cargo says 0, whether there is one or not.
  const bool needs_group = op.kind != OpKind::transfer;
  const bool needs_cargo = op.kind != OpKind::barrier && op.kind != OpKind::compute;
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  check_index(op.lane, static_cast<std::size_t>(schedule.lanes), "lane", at("lane"));
  check_index(op.phase, schedule.phases.size(), "phase", at("phase"));
  check_index(op.src.value, ranks, "rank", at("src"));
  check_index(op.dst.value, ranks, "rank", at("dst"));
  if (needs_group || op.group.value != 0) {
    check_index(op.group.value, schedule.groups.size(), "group", at("group"));
  }
  if (needs_cargo || op.cargo.value != 0) {
    check_index(op.cargo.value, schedule.cargos.size(), "cargo", at("cargo"));
  }
  if (op.chunk_end > kMaxChunks || op.chunk_begin > op.chunk_end) {
    fail(at("chunk_begin")(), fmt::format("expected 0 <= begin <= end <= {}, got {} and {}",
                                          kMaxChunks, op.chunk_begin, op.chunk_end));
  }
  if (op.after_begin > op.after_end || op.after_end > schedule.after.size()) {
    fail(at("after_begin")(), fmt::format("expected 0 <= begin <= end <= {}, got {} and {}",
                                          schedule.after.size(), op.after_begin, op.after_end));
  }
}

void Reader::check_references() const {
  const Schedule& schedule = saved_.schedule;
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  const auto check_ranks = [&](const std::vector<Rank>& list, const char* items, std::size_t index,
                               const char* key) {
    check_index(std::max_element(list.begin(), list.end())->value, ranks, "rank",
                [&] { return fmt::format("{}[{}].{}", items, index, key); });
  };
  for (std::size_t i = 0; i < schedule.parcels.size(); ++i) {
    check_ranks(schedule.parcels[i].owners, "parcels", i, "owners");
    check_ranks(schedule.parcels[i].demanders, "parcels", i, "demanders");
  }
  for (std::size_t i = 0; i < schedule.groups.size(); ++i) {
    check_ranks(schedule.groups[i].ranks, "groups", i, "ranks");
  }
  for (std::size_t i = 0; i < schedule.cargos.size(); ++i) {
    const std::vector<ParcelId>& parcels = schedule.cargos[i].parcels;
    for (std::size_t j = 0; j < parcels.size(); ++j) {
      check_index(parcels[j].value, schedule.parcels.size(), "parcel",
                  [&] { return fmt::format("cargos[{}][{}]", i, j); });
    }
  }
  for (std::size_t i = 0; i < schedule.after.size(); ++i) {
    check_index(schedule.after[i].value, schedule.ops.size(), "op",
                [&] { return fmt::format("after[{}]", i); });
  }
  std::int64_t bytes = 0;
  std::uint64_t after = 0;
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    check_op(i);
    bytes += schedule.ops[i].bytes;
    after += schedule.ops[i].after_end - schedule.ops[i].after_begin;
    if (bytes > kMaxByteSum) fail("ops", fmt::format("bytes add up to more than {}", kMaxByteSum));
    if (after > kMaxAfterSum) {
      fail("ops", fmt::format("the after lists add up to more than {}", kMaxAfterSum));
    }
  }
}

SavedSchedule Reader::read(const std::string& file) {
  if (file.size() > kMaxFileBytes) {
    fail("", fmt::format("{} bytes is too large; at most {}", file.size(), kMaxFileBytes));
  }
  try {
    const Json root = Json::parse(file, [this](int depth, Json::parse_event_t event, Json& value) {
      return on_event(depth, event, value);
    });
    take_root(root);
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(error.byte == 0 ? 0 : error.byte - 1, file.size());
    const auto line =
        1 + std::count(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    const std::size_t newline = end == 0 ? std::string::npos : file.rfind('\n', end - 1);
    const std::size_t column = newline == std::string::npos ? end + 1 : end - newline;
    throw Error(ErrorCode::bad_input,
                fmt::format("{}:{}:{}: not JSON, or cut off here", name_, line, column));
  } catch (const Json::exception& error) {
    fail(key_, fmt::format("not JSON that can be read: {}", error.what()));
  }
  check_references();
  return std::move(saved_);
}

}  // namespace

SavedSchedule read_schedule(const std::string& text, const std::string& name) {
  return Reader(name).read(text);
}

}  // namespace refit
