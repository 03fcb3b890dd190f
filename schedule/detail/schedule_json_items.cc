#include "schedule/detail/schedule_json_items.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "base/shown.h"
#include "schedule/detail/schedule_json_limits.h"

namespace refit::detail {

Phase ScheduleItems::phase(const Json& item, std::size_t index) const {
  const std::string path = fmt::format("phases[{}]", index);
  Phase phase;
  phase.name = json_.text(json_.member(item, "name", path), path + ".name");
  phase.logical_bytes = json_.integer(json_.member(item, "logical_bytes", path), 0, kMaxBytes,
                                      [&] { return path + ".logical_bytes"; });
  json_.allow_only(item, {"name", "logical_bytes"}, path);
  return phase;
}

std::vector<Rank> ScheduleItems::ranks(const Json& value, const std::string& path) {
  std::vector<Rank> ranks;
  std::size_t index = 0;
  for (const Json& range : json_.list(value, path)) {
    const auto where = [&] { return fmt::format("{}[{}]", path, index); };
    if (!range.is_array() || range.size() != 2) {
      json_.fail(where(),
                 fmt::format("expected [first rank, last rank], got {}", short_dump(range)));
    }
    const std::int64_t first = json_.integer(range[0], 0, kMaxRanks - 1, where);
    const std::int64_t last = json_.integer(range[1], first, kMaxRanks - 1, where);
    listed_ranks_ += static_cast<std::size_t>(last - first + 1);
    if (listed_ranks_ > kMaxListedRanks) {
      json_.fail(where(), fmt::format("the file lists more than {} ranks in all", kMaxListedRanks));
    }
    ranks.reserve(ranks.size() + static_cast<std::size_t>(last - first + 1));
    for (std::int64_t rank = first; rank <= last; ++rank) ranks.push_back(Rank{rank});
    ++index;
  }
  if (ranks.empty()) json_.fail(path, "expected at least one rank");
  return ranks;
}

Fragment ScheduleItems::fragment(const Json& item, const std::string& path) const {
  if (!item.is_array() || item.size() < 2 || item.size() > 1 + kMaxDims) {
    json_.fail(path, fmt::format("expected [class, [begin, end], ...] with 1 to {} dims, got {}",
                                 kMaxDims, short_dump(item)));
  }
  const auto where = [&] { return path; };
  Fragment fragment;
  fragment.tensor_class = ClassId{json_.integer(item[0], 0, kMaxInt32, where)};
  fragment.region.reserve(item.size() - 1);
  for (std::size_t dim = 1; dim < item.size(); ++dim) {
    const Json& interval = item[dim];
    if (!interval.is_array() || interval.size() != 2) {
      json_.fail(path, fmt::format("expected [begin, end], got {}", short_dump(interval)));
    }
    const std::int64_t begin = json_.integer(interval[0], 0, kMaxBytes - 1, where);
    const std::int64_t end = json_.integer(interval[1], begin + 1, kMaxBytes, where);
    fragment.region.push_back({begin, end});
  }
  return fragment;
}

Parcel ScheduleItems::parcel(const Json& item, std::size_t index) {
  const std::string path = fmt::format("parcels[{}]", index);
  const auto ascending_ranks = [&](const char* key) {
    const std::string here = path + "." + key;
    std::vector<Rank> listed = ranks(json_.member(item, key, path), here);
    if (std::adjacent_find(listed.begin(), listed.end(), std::greater_equal<>()) != listed.end()) {
      json_.fail(here, "ranks must ascend, each listed once");
    }
    return listed;
  };
  const auto number = [&](const char* key, std::int64_t least, std::int64_t most) {
    return json_.integer(json_.member(item, key, path), least, most,
                         [&] { return path + "." + key; });
  };
  Parcel parcel;
  parcel.owners = ascending_ranks("owners");
  parcel.demanders = ascending_ranks("demanders");
  parcel.stage = static_cast<int>(number("stage", 0, kMaxInt32));
  parcel.group = static_cast<int>(number("group", 0, kMaxInt32));
  parcel.chunks = static_cast<int>(number("chunks", 1, kMaxChunks));
  parcel.bytes = number("bytes", 0, kMaxBytes);
  if (const auto share = item.find("share"); share != item.end())
    parcel.share = zero_to_one(*share, path + ".share", "what travels of the bytes");
  const Json& fragments = json_.list(json_.member(item, "fragments", path), path + ".fragments");
  parcel.fragments.reserve(fragments.size());
  for (const Json& part : fragments) {
    parcel.fragments.push_back(
        fragment(part, fmt::format("{}.fragments[{}]", path, parcel.fragments.size())));
  }
  json_.allow_only(
      item, {"owners", "demanders", "stage", "group", "chunks", "bytes", "share", "fragments"},
      path);
  return parcel;
}

Cargo ScheduleItems::cargo(const Json& item, std::size_t index) const {
  if (!item.is_array()) json_.list(item, fmt::format("cargos[{}]", index));
  Cargo cargo;
  cargo.parcels.reserve(item.size());
  const auto where = [&] { return fmt::format("cargos[{}][{}]", index, cargo.parcels.size()); };
  for (const Json& parcel : item)
    cargo.parcels.push_back(ParcelId{json_.integer(parcel, 0, kMaxInt32, where)});
  return cargo;
}

Group ScheduleItems::group(const Json& item, std::size_t index) {
  const std::string path = fmt::format("groups[{}]", index);
  Group group;
  group.ranks = ranks(json_.member(item, "ranks", path), path + ".ranks");
  std::vector<Rank> sorted = group.ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    json_.fail(path + ".ranks", fmt::format("rank {} is listed twice", twice->value));
  }
  group.width = static_cast<int>(json_.integer(json_.member(item, "width", path), 1,
                                               static_cast<std::int64_t>(group.ranks.size()),
                                               [&] { return path + ".width"; }));
  json_.allow_only(item, {"ranks", "width"}, path);
  return group;
}

OpId ScheduleItems::after(const Json& item, std::size_t index) const {
  return OpId{json_.integer(item, 0, kMaxInt32, [&] { return fmt::format("after[{}]", index); })};
}

void ScheduleItems::read_caps(const Json& value, Schedule& schedule) const {
  const auto rate = [&](const char* key) {
    const Json& number = json_.member(value, key, "caps");
    if (!number.is_number() || number.get<double>() < 0)
      json_.fail(fmt::format("caps.{}", key),
                 fmt::format("expected bytes per second, 0 or more, got {}", short_dump(number)));
    return number.get<double>();
  };
  schedule.caps = {rate("nic_bytes_per_s"), rate("nvlink_bytes_per_s")};
  schedule.ctas = static_cast<int>(
      json_.integer(json_.member(value, "ctas", "caps"), 0, 1024, [] { return "caps.ctas"; }));
  json_.allow_only(value, {"nic_bytes_per_s", "nvlink_bytes_per_s", "ctas"}, "caps");
}

double ScheduleItems::zero_to_one(const Json& value, const std::string& path,
                                  const char* what) const {
  if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= 1))
    json_.fail(path, fmt::format("expected {}, 0 to 1, got {}", what, short_dump(value)));
  return value.get<double>();
}

Coding ScheduleItems::coding(const Json& value) const {
  const auto word = [&](const char* key, const auto& known) {
    const std::string text =
        json_.text(json_.member(value, key, "coding"), fmt::format("coding.{}", key));
    std::vector<std::string_view> words;
    for (const auto one : known) {
      if (text == to_string(one)) return one;
      words.push_back(to_string(one));
    }
    json_.fail(fmt::format("coding.{}", key),
               fmt::format("expected one of {}, got '{}'", fmt::join(words, ", "), shown(text)));
  };
  Coding coding;
  coding.codec = word("codec", codecs());
  coding.place = word("place", std::array{CodingPlace::gpu, CodingPlace::host});
  const bool host = coding.place == CodingPlace::host;
  coding.cores =
      static_cast<int>(json_.integer(json_.member(value, "cores", "coding"), host ? 1 : 0,
                                     host ? kMostCores : 0, [] { return "coding.cores"; }));
  const Json& staged = json_.member(value, "staged", "coding");
  if (!staged.is_boolean())
    json_.fail("coding.staged", fmt::format("expected true or false, got {}", short_dump(staged)));
  coding.staged = staged.get<bool>();
  if (const auto changes = value.find("changes_per_byte"); changes != value.end())
    coding.changes_per_byte =
        zero_to_one(*changes, "coding.changes_per_byte", "changes per byte of content");
  json_.allow_only(value, {"codec", "place", "cores", "staged", "changes_per_byte"}, "coding");
  return coding;
}

void ScheduleItems::read_windows(const Json& value, Schedule& schedule) const {
  const auto ranks = static_cast<std::size_t>(schedule.ranks);
  for (const Json& item : json_.list(value, "windows")) {
    const std::string path = fmt::format("windows[{}]", schedule.windows.size());
    const auto read_side = [&](const char* key) {
      const auto where = [&] { return fmt::format("{}.{}", path, key); };
      std::vector<std::uint16_t> widths;
      for (const Json& width : json_.list(json_.member(item, key, path), where()))
        widths.push_back(static_cast<std::uint16_t>(json_.integer(width, 0, 65535, where)));
      return widths;
    };
    LaneWindow window{read_side("send"), read_side("receive")};
    json_.allow_only(item, {"send", "receive"}, path);
    const bool fits = window.send.size() == window.receive.size() &&
                      (window.send.empty() || window.send.size() == ranks);
    if (!fits) json_.fail(path, fmt::format("expected {} widths for each side, or none", ranks));
    schedule.windows.push_back(std::move(window));
  }
  if (schedule.windows.size() != static_cast<std::size_t>(schedule.lanes)) {
    json_.fail("windows", fmt::format("expected one for each of {} lanes, got {}", schedule.lanes,
                                      schedule.windows.size()));
  }
}

}  // namespace refit::detail
