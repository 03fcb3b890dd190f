#include "bench/exponent.h"

#include <cmath>

#include <Eigen/QR>

namespace refit::bench {

double exponent(const std::vector<std::pair<double, double>>& points) {
  Eigen::MatrixX2d rows(points.size(), 2);
  Eigen::VectorXd values(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    rows.row(row) << 1, std::log(points[i].first);
    values(row) = std::log(points[i].second);
  }
  const Eigen::Vector2d line = rows.colPivHouseholderQr().solve(values);
  return line(1);
}

}  // namespace refit::bench
