#include "sim/detail/linear_program.h"

#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>

#include "base/error.h"

namespace refit::detail {

int LinearProgram::add_column(double cost) {
  cost_.push_back(cost);
  return columns() - 1;
}

int LinearProgram::add_row(double low, double high) {
  low_.push_back(low);
  high_.push_back(high);
  return rows() - 1;
}

void LinearProgram::set(int row, int column, double value) {
  entry_row_.push_back(row);
  entry_column_.push_back(column);
  entry_.push_back(value);
}

std::optional<LinearProgram::Solution> LinearProgram::minimise() const {
  CoinPackedMatrix matrix(true, entry_row_.data(), entry_column_.data(), entry_.data(),
                          static_cast<CoinBigIndex>(entry_.size()));
  matrix.setDimensions(rows(), columns());
  const auto to_coin = [](std::vector<double> bounds) {
    for (double& bound : bounds) {
      if (bound <= -kUnbounded) bound = -COIN_DBL_MAX;
      if (bound >= kUnbounded) bound = COIN_DBL_MAX;
    }
    return bounds;
  };
  const std::vector<double> low = to_coin(low_), high = to_coin(high_);
  const std::vector<double> least(cost_.size(), 0), most(cost_.size(), COIN_DBL_MAX);
  ClpSimplex solver;
  solver.setLogLevel(0);
  solver.loadProblem(matrix, least.data(), most.data(), cost_.data(), low.data(), high.data());
  solver.initialSolve();
  if (!solver.isProvenOptimal()) return std::nullopt;
  const double* x = solver.primalColumnSolution();
  return Solution{solver.objectiveValue(), {x, x + columns()}};
}

LinearProgram::Solution LinearProgram::optimum() const {
  auto solution = minimise();
  if (!solution) {
    throw Error(ErrorCode::environment, "the bound's linear program was not solved to its optimum");
  }
  return std::move(*solution);
}

}  // namespace refit::detail
