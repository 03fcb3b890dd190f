#pragma once

#include <string>

#include "schedule/schedule_json.h"

namespace refit::test {

Op op_of(OpKind kind, int lane, int phase, int round);

// No sensible plan, but every kind of op, every column with a value of its own.
SavedSchedule small();
// Of its three lanes the second has a window: rank 0 sends 2 at a time and rank 39 receives any
// number.
SavedSchedule windowed();

std::string written(const SavedSchedule& saved);

// The message with which a file called plan.json is refused, or "read without an error".
std::string error_of(const std::string& text);

// The small plan's file with one place changed; the place must be there exactly once.
std::string changed(const std::string& from, const std::string& to);

}  // namespace refit::test
