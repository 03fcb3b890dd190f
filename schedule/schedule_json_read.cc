#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shown.h"
#include "schedule/detail/schedule_json_builder.h"
#include "schedule/detail/schedule_json_items.h"
#include "schedule/detail/schedule_json_limits.h"
#include "schedule/detail/schedule_json_references.h"
#include "schedule/schedule_json.h"

namespace refit {
namespace {

using detail::Json;

// `["barrier","none",` and thirteen numbers: the shortest op.
constexpr std::size_t kLeastOpBytes = 45;

constexpr std::string_view kSchema = "refit.schedule/1";

// The members of the file's object. From `phases` to `after`: lists, whose items are taken one by
// one.
enum class Key {
  schema,
  strategy,
  scenario,
  ranks,
  lanes,
  phases,
  parcels,
  cargos,
  groups,
  ops,
  after,
  windows,  // only plans with such lanes have it
  caps,     // only plans that leave bandwidth to others
  coding,   // only plans that code what they send
};
constexpr std::array<const char*, 14> kKeys = {"schema", "strategy", "scenario", "ranks",  "lanes",
                                               "phases", "parcels",  "cargos",   "groups", "ops",
                                               "after",  "windows",  "caps",     "coding"};

constexpr std::size_t at(Key key) { return static_cast<std::size_t>(key); }
constexpr bool is_list(Key key) { return Key::phases <= key && key <= Key::after; }
constexpr bool is_optional(Key key) { return key >= Key::windows; }

// Turns the file into a Schedule while it is being parsed (the parser calls the SAX members below):
// each item of a long list is taken as soon as it is complete, so that no document of the whole
// plan is ever built. References between lists are checked at the end; the keys may stand in any
// order.
class Reader {
 public:
  Reader(const std::string& text, const std::string& name)
      : text_(text), name_(name), json_(name), items_(json_) {}

  SavedSchedule read();

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(value); }
  bool binary(Json::binary_t& value) { return add(value); }  // not in text
  bool start_object(std::size_t) { return open(Json::value_t::object); }
  bool start_array(std::size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& word);
  bool parse_error(std::size_t position, const std::string&, const Json::exception& error);

 private:
  template <class Value>
  bool add(const Value& value) {
    if (!builder_.is_complete()) {  // inside a value; open() has seen to the depth
      builder_.add(value);
    } else {
      add_outside(Json(value));
    }
    return true;
  }
  void add_outside(Json value);
  bool open(Json::value_t container);
  bool close();
  void take_item(const Json& item);
  void take_members();

  std::string key_name() const { return key_ ? kKeys[at(*key_)] : ""; }
  std::string place() const {
    return is_list(*key_) ? fmt::format("{}[{}]", key_name(), taken_) : key_name();
  }
  bool has(Key key) const { return seen_[at(key)]; }
  const Json& root(Key key) const { return root_[at(key)]; }

  const std::string& text_;
  const std::string& name_;
  detail::JsonValues json_;
  detail::ScheduleItems items_;

  int depth_ = 0;           // containers around what comes next
  std::optional<Key> key_;  // of the file's member that is being read
  std::size_t taken_ = 0;   // items of it, if it is a list
  std::array<bool, kKeys.size()> seen_{};
  std::array<Json, kKeys.size()> root_;  // but for the lists
  detail::ValueBuilder builder_;
  SavedSchedule saved_;
};

bool Reader::key(std::string& word) {
  if (depth_ > 1) {
    if (!builder_.name_next(word))
      json_.fail(place(), fmt::format("a member '{}' stands here twice", shown(word)));
    return true;
  }
  const auto found = std::find(kKeys.begin(), kKeys.end(), word);
  if (found == kKeys.end()) {
    json_.fail("", fmt::format("unknown member '{}'; a schedule has {}", shown(word),
                               fmt::join(kKeys, ", ")));
  }
  key_ = static_cast<Key>(found - kKeys.begin());
  if (has(*key_)) json_.fail(word, "the member stands here twice");
  seen_[at(*key_)] = true;
  taken_ = 0;
  return true;
}

// A number, text or word that is the file, a member of it, or an item of a list.
void Reader::add_outside(Json value) {
  if (depth_ == 0) json_.fail("", "expected an object");
  if (depth_ == 2) return take_item(value);
  if (is_list(*key_)) json_.list(value, key_name());  // it is none, so this says so
  if (key_ == Key::schema && value != Json(kSchema)) {
    json_.fail(key_name(), fmt::format("the file says {}; this program reads \"{}\"",
                                       detail::short_dump(value), kSchema));
  }
  root_[at(*key_)] = std::move(value);
}

bool Reader::open(Json::value_t container) {
  if (depth_ > detail::kMaxDepth)
    json_.fail(key_name(), fmt::format("nested deeper than {} levels", detail::kMaxDepth));
  if (depth_ == 0 && container != Json::value_t::object) json_.fail("", "expected an object");
  if (depth_ == 1 && is_list(*key_) && container == Json::value_t::object)
    json_.fail(key_name(), "expected a list, got an object");
  if (depth_ == 2 && key_ == Key::after) json_.fail(key_name(), "expected a list of op numbers");
  if (depth_ > 1 || (depth_ == 1 && !is_list(*key_))) builder_.open(container);
  ++depth_;
  return true;
}

bool Reader::close() {
  --depth_;
  if (depth_ == 0 || (depth_ == 1 && is_list(*key_))) return true;
  builder_.close();
  if (!builder_.is_complete()) return true;
  if (depth_ == 1) {
    root_[at(*key_)] = std::move(builder_.value());
  } else {
    take_item(builder_.value());
  }
  return true;
}

void Reader::take_item(const Json& item) {
  Schedule& schedule = saved_.schedule;
  const std::size_t index = taken_++;
  switch (*key_) {
    case Key::phases:
      return schedule.phases.push_back(items_.phase(item, index));
    case Key::parcels:
      return schedule.parcels.push_back(items_.parcel(item, index));
    case Key::cargos:
      return schedule.cargos.push_back(items_.cargo(item, index));
    case Key::groups:
      return schedule.groups.push_back(items_.group(item, index));
    case Key::ops:
      return schedule.ops.push_back(items_.op(item, index));
    case Key::after:
      return schedule.after.push_back(items_.after(item, index));
    default:
      return;
  }
}

void Reader::take_members() {
  for (std::size_t k = 0; k < kKeys.size(); ++k) {
    const Key key = static_cast<Key>(k);
    if (!has(key) && !is_optional(key))
      json_.fail("", fmt::format("the member '{}' is missing", kKeys[k]));
  }
  json_.text(root(Key::schema), "schema");
  Schedule& schedule = saved_.schedule;
  schedule.strategy = json_.text(root(Key::strategy), "strategy");
  const Json& scenario = root(Key::scenario);
  saved_.scenario_name = json_.text(json_.member(scenario, "name", "scenario"), "scenario.name");
  saved_.scenario_text = json_.text(json_.member(scenario, "text", "scenario"), "scenario.text");
  json_.allow_only(scenario, {"name", "text"}, "scenario");
  const auto count = [&](Key key, std::int64_t least, std::int64_t most) {
    return static_cast<int>(json_.integer(root(key), least, most, [&] { return kKeys[at(key)]; }));
  };
  schedule.ranks = count(Key::ranks, 1, detail::kMaxRanks);
  schedule.lanes = count(Key::lanes, 0, 256);
  if (schedule.phases.size() > 256) json_.fail("phases", "more than 256 phases");
  if (has(Key::windows)) items_.read_windows(root(Key::windows), schedule);
  if (has(Key::caps)) items_.read_caps(root(Key::caps), schedule);
  if (has(Key::coding)) schedule.coding = items_.coding(root(Key::coding));
}

bool Reader::parse_error(std::size_t position, const std::string&, const Json::exception& error) {
  if (dynamic_cast<const Json::parse_error*>(&error) == nullptr)
    json_.fail(key_name(), fmt::format("not JSON that can be read: {}", error.what()));
  const std::size_t end = std::min(position == 0 ? 0 : position - 1, text_.size());
  const auto line =
      1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  const std::size_t newline = end == 0 ? std::string::npos : text_.rfind('\n', end - 1);
  const std::size_t column = newline == std::string::npos ? end + 1 : end - newline;
  throw Error(ErrorCode::bad_input,
              fmt::format("{}:{}:{}: not JSON, or cut off here", name_, line, column));
}

SavedSchedule Reader::read() {
  if (text_.size() > detail::kMaxFileBytes) {
    json_.fail(
        "", fmt::format("{} bytes is too large; at most {}", text_.size(), detail::kMaxFileBytes));
  }
  // The longest list is not copied as it grows; room that isn't needed is never touched.
  saved_.schedule.ops.reserve(text_.size() / kLeastOpBytes);
  Json::sax_parse(text_.data(), text_.data() + text_.size(), this);
  take_members();
  detail::check_references(saved_.schedule, json_);
  return std::move(saved_);
}

}  // namespace

SavedSchedule read_schedule(const std::string& text, const std::string& name) {
  return Reader(text, name).read();
}

}  // namespace refit
