#pragma once

#include <optional>
#include <vector>

namespace refit::detail {

// minimise cost . x  subject to  low <= A x <= high,  x >= 0. The one place that knows the solver
// (CLP, docs/decisions/0014-linear-programs.md).
class LinearProgram {
 public:
  static constexpr double kUnbounded = 1e30;

  int add_column(double cost);
  int add_row(double low, double high);
  void set(int row, int column, double value);

  int rows() const { return static_cast<int>(low_.size()); }
  int columns() const { return static_cast<int>(cost_.size()); }

  struct Solution {
    double cost = 0;
    std::vector<double> x;
  };
  // Nothing if there is no optimum (infeasible, unbounded, or the solver gave up).
  std::optional<Solution> minimise() const;
  // The same for programs that have one: otherwise Error(environment).
  Solution optimum() const;

 private:
  std::vector<double> cost_, low_, high_;
  std::vector<int> entry_row_, entry_column_;
  std::vector<double> entry_;
};

}  // namespace refit::detail
