#include "validation/fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <Eigen/Dense>

#include "sim/network_parameters.h"

namespace refit {
namespace {

// Published times of one setting differ by some 12 % from page to page.
constexpr double kSigma = 0.12;
constexpr int kMostIterations = 30;
constexpr double kConverged = 1e-4;  // largest change of a logarithm
constexpr double kLongestStep = 0.7;

struct Prior {
  double centre = 0, sigma = 0;  // of the logarithm
};

// What physics allows is taken for two sigmas to either side.
Prior prior_of(std::size_t parameter) {
  const NetworkParameter& p = network_parameters()[parameter];
  return {(std::log(p.low) + std::log(p.high)) / 2, (std::log(p.high) - std::log(p.low)) / 4};
}

std::vector<double> weights_of(const std::vector<FitRow>& rows) {
  std::map<std::string, int> twins;
  for (const FitRow& row : rows) ++twins[row.scenario];
  std::vector<double> weights;
  for (const FitRow& row : rows) weights.push_back(1.0 / twins[row.scenario]);
  return weights;
}

// Normal equations in the logarithms of the free constants.
struct Normal {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd gradient;  // of half the sum of squares
};

Normal normal_of(const std::vector<Residual>& residuals, const std::vector<double>& weights,
                 const std::vector<std::size_t>& free, const Eigen::VectorXd& logs) {
  const auto n = static_cast<Eigen::Index>(free.size());
  Normal normal{Eigen::MatrixXd::Zero(n, n), Eigen::VectorXd::Zero(n)};
  Eigen::VectorXd row(n);
  for (std::size_t r = 0; r < residuals.size(); ++r) {
    for (Eigen::Index i = 0; i < n; ++i)
      row(i) = residuals[r].elasticity[free[static_cast<std::size_t>(i)]];
    const double weight = weights[r] / (kSigma * kSigma);
    normal.matrix += weight * row * row.transpose();
    normal.gradient += weight * residuals[r].log_ratio * row;
  }
  for (Eigen::Index i = 0; i < n; ++i) {
    const Prior prior = prior_of(free[static_cast<std::size_t>(i)]);
    normal.matrix(i, i) += 1 / (prior.sigma * prior.sigma);
    normal.gradient(i) += (logs(i) - prior.centre) / (prior.sigma * prior.sigma);
  }
  return normal;
}

double misfit(const std::vector<Residual>& residuals, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t r = 0; r < residuals.size(); ++r) {
    const double z = residuals[r].log_ratio / kSigma;
    sum += weights[r] * z * z / 2;
  }
  return sum;
}

double objective(const std::vector<Residual>& residuals, const std::vector<double>& weights,
                 const std::vector<std::size_t>& free, const Eigen::VectorXd& logs) {
  double sum = misfit(residuals, weights);
  for (Eigen::Index i = 0; i < logs.size(); ++i) {
    const Prior prior = prior_of(free[static_cast<std::size_t>(i)]);
    const double z = (logs(i) - prior.centre) / prior.sigma;
    sum += z * z / 2;
  }
  return sum;
}

// A share of a line rate can't be more than all of it.
void keep_possible(const std::vector<std::size_t>& free, Eigen::VectorXd& logs) {
  for (Eigen::Index i = 0; i < logs.size(); ++i) {
    const NetworkParameter& p = network_parameters()[free[static_cast<std::size_t>(i)]];
    if (p.kind == ParameterKind::share) logs(i) = std::min(logs(i), 0.0);
  }
}

std::vector<double> values_of(const Eigen::VectorXd& logs) {
  std::vector<double> values;
  for (const double log : logs) values.push_back(std::exp(log));
  return values;
}

}  // namespace

double condition_of(const std::vector<double>& covariance) {
  const auto n = static_cast<Eigen::Index>(std::lround(std::sqrt(covariance.size())));
  const Eigen::Map<const Eigen::MatrixXd> matrix(covariance.data(), n, n);
  const Eigen::VectorXd singular = matrix.jacobiSvd().singularValues();
  return std::sqrt(singular.maxCoeff() / singular.minCoeff());
}

NetworkModel with_values(NetworkModel model, const std::vector<std::size_t>& parameters,
                         const std::vector<double>& values) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    model.*network_parameters()[parameters[i]].value = values[i];
  return model;
}

Fit fit(const std::vector<FitRow>& rows, const std::vector<std::size_t>& free,
        const NetworkModel& model, const Evaluate& evaluate) {
  const std::vector<double> weights = weights_of(rows);
  Eigen::VectorXd logs(static_cast<Eigen::Index>(free.size()));
  for (std::size_t i = 0; i < free.size(); ++i) {
    const double start = model.*network_parameters()[free[i]].value;
    logs(static_cast<Eigen::Index>(i)) = start > 0 ? std::log(start) : prior_of(free[i]).centre;
  }
  Fit result;
  result.free = free;
  const auto at = [&](const Eigen::VectorXd& where) {
    return evaluate(with_values(model, free, values_of(where)));
  };
  result.residuals = at(logs);
  double best = objective(result.residuals, weights, free, logs);
  for (; result.iterations < kMostIterations; ++result.iterations) {
    const Normal normal = normal_of(result.residuals, weights, free, logs);
    Eigen::VectorXd step = -normal.matrix.ldlt().solve(normal.gradient);
    const double longest = step.cwiseAbs().maxCoeff();
    if (longest > kLongestStep) step *= kLongestStep / longest;
    bool better = false;
    Eigen::VectorXd next;
    for (int half = 0; half < 6 && !better; ++half, step /= 2) {
      next = logs + step;
      keep_possible(free, next);
      std::vector<Residual> residuals = at(next);
      const double here = objective(residuals, weights, free, next);
      if (here >= best) continue;
      better = true;
      best = here;
      result.residuals = std::move(residuals);
    }
    if (!better) break;
    const double change = (next - logs).cwiseAbs().maxCoeff();
    logs = next;
    if (change < kConverged) break;
  }
  const Normal normal = normal_of(result.residuals, weights, free, logs);
  const Eigen::MatrixXd covariance = normal.matrix.inverse();
  for (Eigen::Index i = 0; i < covariance.rows(); ++i)
    for (Eigen::Index j = 0; j < covariance.cols(); ++j)
      result.covariance.push_back(covariance(i, j));
  result.condition = condition_of(result.covariance);
  result.values = values_of(logs);
  result.objective = best;
  result.misfit = misfit(result.residuals, weights);
  return result;
}

std::vector<double> without(const Fit& fit, const std::vector<FitRow>& rows,
                            const std::function<bool(const FitRow&)>& left_out) {
  std::vector<FitRow> kept;
  std::vector<Residual> residuals;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (left_out(rows[r])) continue;
    kept.push_back(rows[r]);
    residuals.push_back(fit.residuals[r]);
  }
  Eigen::VectorXd logs(static_cast<Eigen::Index>(fit.free.size()));
  for (std::size_t i = 0; i < fit.free.size(); ++i)
    logs(static_cast<Eigen::Index>(i)) = std::log(fit.values[i]);
  const Normal normal = normal_of(residuals, weights_of(kept), fit.free, logs);
  logs -= normal.matrix.ldlt().solve(normal.gradient);
  keep_possible(fit.free, logs);
  return values_of(logs);
}

}  // namespace refit
