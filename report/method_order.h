#pragma once

#include <string>
#include <vector>

#include "validation/result.h"

namespace refit {

// All systems that were published for one and the same model, machines and layouts, fastest first
// by their published times.
struct MethodOrder {
  struct Method {
    std::string system;
    double published_s = 0;  // median of its rows
    double predicted_s = 0, left_out_s = 0;
  };
  std::string model, hardware;
  std::vector<Method> methods;

  // Whether the predictions rise in the same order.
  bool right() const;
  bool left_out_right() const;
};

// Of the layouts that have two systems or more, in the order of the rows.
std::vector<MethodOrder> method_orders(const std::vector<ValidationRow>& rows);

}  // namespace refit
