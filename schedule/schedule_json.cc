#include "schedule/schedule_json.h"

#include <algorithm>
#include <iterator>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace refit {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Text gathered into pieces worth a write call.
class Out {
 public:
  explicit Out(std::ostream& stream) : stream_(stream) {}
  ~Out() { flush(); }
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() > kPieceBytes) flush();
  }

 private:
  static constexpr std::size_t kPieceBytes = 1 << 16;

  void flush() {
    stream_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& stream_;
  fmt::memory_buffer buffer_;
};

// [[0,15],[32,32]]: runs of consecutive ranks, first and last, in the order of the list.
void add_ranks(Out& out, const std::vector<Rank>& ranks) {
  out.add("[");
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1].value == ranks[last].value + 1) ++last;
    out.add("{}[{},{}]", i == 0 ? "" : ",", ranks[i].value, ranks[last].value);
    i = last + 1;
  }
  out.add("]");
}

// One item per line: a plan can be read, searched and compared with line tools.
template <class Items, class Add>
void add_list(Out& out, const char* name, const Items& items, Add add) {
  out.add(",\n\"{}\": [", name);
  bool first = true;
  for (const auto& item : items) {
    out.add("{}\n", first ? "" : ",");
    first = false;
    add(item);
  }
  out.add("{}]", first ? "" : "\n");
}

void add_parcel(Out& out, const Parcel& parcel) {
  out.add("{{\"owners\": ");
  add_ranks(out, parcel.owners);
  out.add(", \"demanders\": ");
  add_ranks(out, parcel.demanders);
  out.add(", \"stage\": {}, \"group\": {}, \"chunks\": {}, \"bytes\": {}", parcel.stage,
          parcel.group, parcel.chunks, parcel.bytes);
  if (parcel.share < 1) out.add(", \"share\": {}", parcel.share);
  out.add(", \"fragments\": [");
  for (std::size_t i = 0; i < parcel.fragments.size(); ++i) {
    out.add("{}[{}", i == 0 ? "" : ",", parcel.fragments[i].tensor_class.value);
    for (const Interval& interval : parcel.fragments[i].region) {
      out.add(",[{},{}]", interval.begin, interval.end);
    }
    out.add("]");
  }
  out.add("]}}");
}

void add_op(Out& out, const Op& op) {
  out.add("[\"{}\",\"{}\",{},{},{},{},{},{},{},{},{},{},{},{},{}]", to_string(op.kind),
          to_string(op.work), op.lane, op.phase, op.round, op.src.value, op.dst.value,
          op.group.value, op.cargo.value, op.chunk_begin, op.chunk_end, op.count, op.bytes,
          op.after_begin, op.after_end);
}

void add_window(Out& out, const LaneWindow& window) {
  const auto add_side = [&](const char* key, const std::vector<std::uint16_t>& widths) {
    out.add("\"{}\": [", key);
    for (std::size_t r = 0; r < widths.size(); ++r) out.add("{}{}", r == 0 ? "" : ",", widths[r]);
    out.add("]");
  };
  out.add("{{");
  add_side("send", window.send);
  out.add(", ");
  add_side("receive", window.receive);
  out.add("}}");
}

}  // namespace

void write_schedule(std::ostream& stream, const SavedSchedule& saved) {
  const Schedule& schedule = saved.schedule;
  Out out(stream);
  out.add("{{\"schema\": \"refit.schedule/1\",\n\"strategy\": {},\n", quoted(schedule.strategy));
  out.add("\"scenario\": {{\"name\": {}, \"text\": {}}},\n", quoted(saved.scenario_name),
          quoted(saved.scenario_text));
  out.add("\"ranks\": {},\n\"lanes\": {}", schedule.ranks, schedule.lanes);
  if (schedule.caps.any() || schedule.ctas > 0) {
    out.add(",\n\"caps\": {{\"nic_bytes_per_s\": {}, \"nvlink_bytes_per_s\": {}, \"ctas\": {}}}",
            schedule.caps.nic_bytes_per_s, schedule.caps.nvlink_bytes_per_s, schedule.ctas);
  }
  if (schedule.coding) {
    const Coding& coding = *schedule.coding;
    out.add(
        ",\n\"coding\": {{\"codec\": \"{}\", \"place\": \"{}\", \"cores\": {}, \"staged\": {}, "
        "\"changes_per_byte\": {}}}",
        to_string(coding.codec), to_string(coding.place), coding.cores, coding.staged,
        coding.changes_per_byte);
  }
  add_list(out, "phases", schedule.phases, [&](const Phase& phase) {
    out.add("{{\"name\": {}, \"logical_bytes\": {}}}", quoted(phase.name), phase.logical_bytes);
  });
  add_list(out, "parcels", schedule.parcels,
           [&](const Parcel& parcel) { add_parcel(out, parcel); });
  add_list(out, "cargos", schedule.cargos, [&](const Cargo& cargo) {
    out.add("[");
    for (std::size_t i = 0; i < cargo.parcels.size(); ++i) {
      out.add("{}{}", i == 0 ? "" : ",", cargo.parcels[i].value);
    }
    out.add("]");
  });
  add_list(out, "groups", schedule.groups, [&](const Group& group) {
    out.add("{{\"ranks\": ");
    add_ranks(out, group.ranks);
    out.add(", \"width\": {}}}", group.width);
  });
  add_list(out, "ops", schedule.ops, [&](const Op& op) { add_op(out, op); });
  out.add(",\n\"after\": [");
  for (std::size_t i = 0; i < schedule.after.size(); ++i) {
    out.add("{}{}", i == 0 ? "" : (i % 32 == 0 ? ",\n" : ","), schedule.after[i].value);
  }
  out.add("]");
  if (!schedule.windows.empty()) {
    add_list(out, "windows", schedule.windows,
             [&](const LaneWindow& window) { add_window(out, window); });
  }
  out.add("}}\n");
}

bool looks_like_schedule(const std::string& text) {
  static constexpr const char* kSpace = " \t\r\n";
  const std::size_t brace = text.find_first_not_of(kSpace);
  if (brace == std::string::npos || text[brace] != '{') return false;
  const std::size_t key = text.find_first_not_of(kSpace, brace + 1);
  return key != std::string::npos && text.compare(key, 8, "\"schema\"") == 0;
}

}  // namespace refit
