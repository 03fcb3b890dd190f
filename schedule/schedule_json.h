#pragma once

#include <iosfwd>
#include <string>

#include "schedule/schedule.h"

namespace refit {

// A plan as a file: the schedule, and the scenario it answers word for word, so that a plan can be
// checked and simulated with nothing else at hand. Format "refit.schedule/1",
// docs/schedule_format.md.
struct SavedSchedule {
  std::string scenario_name;
  std::string scenario_text;  // YAML
  Schedule schedule;

  friend bool operator==(const SavedSchedule&, const SavedSchedule&) = default;
};

// Writes item by item, without a second copy of the plan in memory. Equal plans give equal bytes.
void write_schedule(std::ostream& out, const SavedSchedule& saved);

// Reads what write_schedule wrote, or a program of yours. Every number is checked, so that a broken
// file is refused and never indexes out of range; whether the plan is right is verify's question.
// Error(bad_input) names file, place and what would be right:
//
//   plan.json: ops[12].cargo: 99 is out of range; there are 40 cargos
SavedSchedule read_schedule(const std::string& text, const std::string& name);

// Whether a text claims to be a saved schedule (of any version) rather than YAML.
bool looks_like_schedule(const std::string& text);

}  // namespace refit
