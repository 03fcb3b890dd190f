#pragma once

#include <string>
#include <variant>
#include <vector>

#include "validation/published_row.h"

namespace refit {

// A published row as a question that can be simulated.
struct RowCase {
  std::string system;         // the name of a system preset, such as "nemo_rl_packed"
  std::string scenario_yaml;  // what parse_scenario() takes; carries the assumptions, too
  std::vector<std::string> assumptions;
  // Predicted with its scenario's network model whatever is asked, so that no fit may use it.
  bool own_network = false;
};

// Why a row is no such question: the CSV column that is missing or can't be understood.
struct RowSkip {
  std::string field;
  std::string reason;
};

// What the row does not say is assumed where there is a usual answer, and said. The scenario of a
// case has been parsed once, so that its layouts hold.
std::variant<RowCase, RowSkip> row_case(const PublishedRow& row);

}  // namespace refit
