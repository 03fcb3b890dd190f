#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schedule/detail/schedule_json_values.h"
#include "schedule/schedule.h"

namespace refit::detail {

// The parts of a saved plan from their JSON values. Each number is in its own range; whether what
// it refers to exists is check_references' question.
class ScheduleItems {
 public:
  explicit ScheduleItems(const JsonValues& json) : json_(json) {}

  Phase phase(const Json& item, std::size_t index) const;
  Parcel parcel(const Json& item, std::size_t index);
  Cargo cargo(const Json& item, std::size_t index) const;
  Group group(const Json& item, std::size_t index);
  Op op(const Json& item, std::size_t index) const;
  OpId after(const Json& item, std::size_t index) const;

  Coding coding(const Json& value) const;
  void read_caps(const Json& value, Schedule& schedule) const;
  void read_windows(const Json& value, Schedule& schedule) const;  // once ranks and lanes are known

 private:
  std::vector<Rank> ranks(const Json& list, const std::string& path);
  double zero_to_one(const Json& value, const std::string& path, const char* what) const;
  Fragment fragment(const Json& item, const std::string& path) const;

  const JsonValues& json_;
  std::size_t listed_ranks_ = 0;
};

}  // namespace refit::detail
