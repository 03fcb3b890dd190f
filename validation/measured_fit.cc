#include "validation/measured_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "base/error.h"
#include "sim/network_parameters.h"
#include "validation/detail/sweep_ends.h"

namespace refit {
namespace {

using Coefficients = Eigen::Vector3d;  // of call, 1 / nic_efficiency, 1 / nvlink_efficiency

constexpr std::array<std::string_view, 3> kKeys{"call", "nic_efficiency", "nvlink_efficiency"};
constexpr int kCall = 0, kNic = 1, kNvlink = 2;

constexpr int kReweights = 20;
// Huber: beyond this an error counts with its size, not its square. Repeated runs differ by some
// percent, so less is no outlier.
constexpr double kLeastOutlier = 0.1;
constexpr double kOutlierSigmas = 1.345;
// What is known of repeated times before any is seen, worth one point: nccl-tests' averages over
// 20 runs differ by about this much from job to job.
constexpr double kPriorSpread = 0.05;

// Of columns of equal length. Beyond this the last digits of the times decide.
constexpr double kMostCondition = 1e3;

struct Equation {
  std::size_t series = 0, point = 0;
  Coefficients row = Coefficients::Zero();
  double seconds = 0;
};

Coefficients row_of(const MeasuredSeries& series, const MeasuredSeries::Point& point) {
  Coefficients row = Coefficients::Zero();
  row(kCall) = point.calls;
  row(series.link == LinkKind::nvlink ? kNvlink : kNic) = point.wire_s;
  return row;
}

Coefficients constants_of(const NetworkModel& model) {
  return {model.call_s, 1 / model.nic_efficiency, 1 / model.nvlink_efficiency};
}

// Which unknowns the series tell, and by which points.
struct Evidence {
  std::vector<Equation> equations;
  std::array<bool, 3> told{};
  std::array<std::set<std::size_t>, 3> series;
  std::array<int, 3> points{};
  std::vector<std::string> notes;

  void use(std::size_t s, std::size_t p, const MeasuredSeries& of) {
    equations.push_back({s, p, row_of(of, of.points[p]), of.points[p].seconds});
  }
  void tell(std::size_t s, int unknown) {
    told[static_cast<std::size_t>(unknown)] = true;
    series[static_cast<std::size_t>(unknown)].insert(s);
    ++points[static_cast<std::size_t>(unknown)];
  }
};

Evidence evidence_of(const std::vector<MeasuredSeries>& all) {
  Evidence evidence;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const MeasuredSeries& series = all[s];
    const int link = series.link == LinkKind::nvlink ? kNvlink : kNic;
    if (!series.is_sweep) {
      for (std::size_t p = 0; p < series.points.size(); ++p) {
        evidence.use(s, p, series);
        if (series.points[p].wire_s > 0) evidence.tell(s, link);
        if (series.points[p].calls > 0) evidence.tell(s, kCall);
      }
      continue;
    }
    const detail::SweepEnds ends = detail::sweep_ends(series.points);
    for (std::size_t p = 0; p < ends.floor_end; ++p) {
      evidence.use(s, p, series);
      evidence.tell(s, kCall);
    }
    for (std::size_t p = ends.plateau_begin; p < ends.plateau_end && series.not_told.empty(); ++p) {
      evidence.use(s, p, series);
      evidence.tell(s, link);
    }
    std::vector<std::string> notes = ends.notes;
    if (!series.not_told.empty()) notes.push_back(series.not_told);
    for (const std::string& note : notes)
      evidence.notes.push_back(fmt::format("{} ({}): {}", series.file, series.title, note));
  }
  return evidence;
}

// Weighted equations in the unknowns that are told, divided by the measured time.
struct Solution {
  Coefficients values = Coefficients::Zero();
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  double condition = 1;
};

Solution solve(const std::vector<Equation>& equations, const std::vector<int>& unknowns,
               const Coefficients& start) {
  const auto size = static_cast<Eigen::Index>(unknowns.size());
  const auto count = static_cast<Eigen::Index>(equations.size());
  Eigen::MatrixXd matrix(count, size);
  Eigen::VectorXd right(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Equation& e = equations[static_cast<std::size_t>(i)];
    double known = e.row.dot(start);
    for (Eigen::Index j = 0; j < size; ++j) {
      const int unknown = unknowns[static_cast<std::size_t>(j)];
      known -= e.row(unknown) * start(unknown);
      matrix(i, j) = e.row(unknown) / e.seconds;
    }
    right(i) = 1 - known / e.seconds;
  }
  // Columns of equal length: seconds and shares differ by orders of magnitude.
  const Eigen::VectorXd scale = matrix.colwise().norm().transpose();
  matrix *= scale.cwiseInverse().asDiagonal();
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(count), scaled;
  for (int round = 0; round < kReweights; ++round) {
    const Eigen::VectorXd root = weights.cwiseSqrt();
    scaled = (root.asDiagonal() * matrix).colPivHouseholderQr().solve(root.cwiseProduct(right));
    const Eigen::VectorXd errors = (matrix * scaled - right).cwiseAbs();
    std::vector<double> sorted(errors.begin(), errors.end());
    std::sort(sorted.begin(), sorted.end());
    const double sigma = sorted[sorted.size() / 2] / 0.6745;  // of a normal distribution
    const double most = std::max(kLeastOutlier, kOutlierSigmas * sigma);
    for (Eigen::Index i = 0; i < count; ++i) weights(i) = std::min(1.0, most / errors(i));
  }
  const Eigen::MatrixXd normal = matrix.transpose() * weights.asDiagonal() * matrix;
  const Eigen::VectorXd errors = matrix * scaled - right;
  const double squares = (weights.array() * errors.array().square()).sum();
  const double freedom = std::max(0.0, static_cast<double>(count - size));
  const double variance = (squares + kPriorSpread * kPriorSpread) / (freedom + 1);
  const Eigen::MatrixXd inverse = normal.completeOrthogonalDecomposition().pseudoInverse();
  const Eigen::VectorXd singular = normal.jacobiSvd().singularValues();
  Solution solution;
  solution.values = start;
  solution.condition = std::sqrt(singular.maxCoeff() / singular.minCoeff());
  for (Eigen::Index j = 0; j < size; ++j) {
    const int unknown = unknowns[static_cast<std::size_t>(j)];
    solution.values(unknown) = scaled(j) / scale(j);
    solution.covariance(unknown, unknown) = variance * inverse(j, j) / (scale(j) * scale(j));
  }
  return solution;
}

std::vector<int> told_by(const Evidence& evidence) {
  std::vector<int> unknowns;
  for (int u = 0; u < 3; ++u)
    if (evidence.told[static_cast<std::size_t>(u)]) unknowns.push_back(u);
  return unknowns;
}

std::vector<std::string> files_of(const std::set<std::size_t>& which,
                                  const std::vector<MeasuredSeries>& series) {
  std::vector<std::string> files;
  for (const std::size_t s : which)
    if (std::find(files.begin(), files.end(), series[s].file) == files.end())
      files.push_back(series[s].file);
  return files;
}

}  // namespace

bool MeasuredConstant::is_plausible() const {
  const NetworkParameter& p = network_parameters()[parameter];
  return p.low <= value && value <= p.high;
}

MeasuredFit fit_measured(const std::vector<MeasuredSeries>& series, const NetworkModel& start) {
  Evidence evidence = evidence_of(series);
  std::vector<int> unknowns = told_by(evidence);
  if (unknowns.empty()) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: tells no constant: {}; time sizes from 8 B to 8 GiB (-b 8 -e 8G -f 2)",
                    series.front().file, fmt::join(evidence.notes, "; ")));
  }
  const Coefficients from = constants_of(start);
  Solution solution = solve(evidence.equations, unknowns, from);
  const auto leave = [&](int unknown, std::string_view why) {
    std::erase(unknowns, unknown);
    evidence.notes.push_back(
        fmt::format("{} stays as it is: {}", kKeys[static_cast<std::size_t>(unknown)], why));
    solution = solve(evidence.equations, unknowns, from);
  };
  const bool has_call = unknowns.front() == kCall && unknowns.size() > 1;
  if (has_call && !(solution.condition < kMostCondition)) {
    leave(kCall, "calls and bytes grow together in these times, so they can't be told apart");
  } else if (has_call && !(solution.values(kCall) > 0)) {
    leave(kCall, "the times leave nothing for it");
  }
  for (const int unknown : unknowns) {
    if (solution.values(unknown) > 0) continue;
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: the times are shorter than what the constants of the network model "
                    "'{}' take that they do not tell; begin with --start wire_only",
                    series.front().file, start.name));
  }

  MeasuredFit fit;
  fit.condition = solution.condition;
  fit.notes = std::move(evidence.notes);
  for (const int unknown : unknowns) {
    const auto u = static_cast<std::size_t>(unknown);
    MeasuredConstant constant;
    constant.parameter = network_parameter(kKeys[u]);
    const double value = solution.values(unknown);
    constant.value = unknown == kCall ? value : 1 / value;
    constant.log_sigma = std::sqrt(solution.covariance(unknown, unknown)) / value;
    constant.points = evidence.points[u];
    constant.files = files_of(evidence.series[u], series);
    fit.constants.push_back(std::move(constant));
  }
  std::sort(fit.constants.begin(), fit.constants.end(),
            [](auto& a, auto& b) { return a.parameter < b.parameter; });
  std::set<std::pair<std::size_t, std::size_t>> used;
  for (const Equation& e : evidence.equations) used.emplace(e.series, e.point);
  double squares = 0;
  for (std::size_t s = 0; s < series.size(); ++s) {
    for (std::size_t p = 0; p < series[s].points.size(); ++p) {
      const MeasuredSeries::Point& point = series[s].points[p];
      const double predicted = row_of(series[s], point).dot(solution.values);
      const bool counts = used.contains({s, p});
      fit.residuals.push_back({s, p, predicted, counts});
      if (counts) squares += std::pow(predicted / point.seconds - 1, 2);
    }
  }
  fit.rms = std::sqrt(squares / static_cast<double>(used.size()));
  return fit;
}

}  // namespace refit
