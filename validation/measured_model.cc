#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/network_parameters.h"
#include "validation/measured_fit.h"

namespace refit {
namespace {

constexpr const char* kOutside = "outside what physics allows: a term is missing";

std::string value_text(const MeasuredConstant& constant) {
  return parameter_text(network_parameters()[constant.parameter], constant.value);
}

// A share of a line rate above all of it can't be simulated.
double possible(const MeasuredConstant& constant) {
  const bool is_share = network_parameters()[constant.parameter].kind == ParameterKind::share;
  return is_share ? std::min(constant.value, 1.0) : constant.value;
}

std::string source_of(const MeasuredConstant& constant) {
  const NetworkParameter& p = network_parameters()[constant.parameter];
  std::string text = fmt::format(
      "least-squares fit over {} {} of {}; one sigma is a factor of {:.2f}; plausible from {} to "
      "{}",
      constant.points, constant.points == 1 ? "point" : "points", fmt::join(constant.files, ", "),
      std::exp(constant.log_sigma), parameter_text(p, p.low), parameter_text(p, p.high));
  if (possible(constant) != constant.value)
    text += fmt::format("; the times say {}", value_text(constant));
  if (!constant.is_plausible()) text += fmt::format("; {}", kOutside);
  return text;
}

std::ptrdiff_t place_of(const std::string& key) {
  const auto all = network_parameters();
  return std::ranges::find(all, key, &NetworkParameter::key) - all.begin();
}

// One constant's variance, told by itself: what it had to do with others was the old fit's.
void set_variance(NetworkModel::Uncertainty& uncertainty, std::size_t parameter, double variance) {
  std::vector<std::size_t>& parameters = uncertainty.parameters;
  const auto at = std::find(parameters.begin(), parameters.end(), parameter);
  const auto place = static_cast<std::size_t>(at - parameters.begin());
  const std::size_t old_size = parameters.size();
  if (at == parameters.end()) parameters.push_back(parameter);
  const std::size_t size = parameters.size();
  std::vector<double> covariance(size * size);
  for (std::size_t i = 0; i < old_size; ++i)
    for (std::size_t j = 0; j < old_size; ++j)
      if (i != place && j != place)
        covariance[i * size + j] = uncertainty.covariance[i * old_size + j];
  covariance[place * size + place] = variance;
  uncertainty.covariance = std::move(covariance);
}

}  // namespace

NetworkModel with_measured(const NetworkModel& start, const MeasuredFit& fit,
                           const std::string& name) {
  NetworkModel model = start;
  model.name = name;
  if (!model.uncertainty) model.uncertainty = NetworkModel::Uncertainty{{}, {}, fit.rms};
  for (const MeasuredConstant& constant : fit.constants) {
    const NetworkParameter& p = network_parameters()[constant.parameter];
    model.*p.value = possible(constant);
    set_variance(*model.uncertainty, constant.parameter, constant.log_sigma * constant.log_sigma);
    std::erase_if(model.sources, [&](auto& s) { return s.parameter == p.key; });
    model.sources.push_back(
        {std::string(p.key), parameter_text(p, possible(constant)), source_of(constant)});
  }
  // In the order of the file; what is no number, at its end.
  std::stable_sort(model.sources.begin(), model.sources.end(),
                   [](auto& a, auto& b) { return place_of(a.parameter) < place_of(b.parameter); });
  return model;
}

std::string measured_fit_text(const MeasuredFit& fit) {
  std::string text;
  for (const MeasuredConstant& constant : fit.constants) {
    text +=
        fmt::format("{} {}: {} {} of {}, one sigma a factor of {:.2f}{}{}\n",
                    network_parameters()[constant.parameter].key, value_text(constant),
                    constant.points, constant.points == 1 ? "point" : "points",
                    fmt::join(constant.files, ", "), std::exp(constant.log_sigma),
                    constant.is_plausible() ? "" : "; ", constant.is_plausible() ? "" : kOutside);
  }
  text += fmt::format("condition number {:.1f}, predicted / measured off by {:.1f} % (rms)\n",
                      fit.condition, 100 * fit.rms);
  for (const std::string& note : fit.notes) text += note + "\n";
  return text;
}

std::string residuals_text(const std::vector<MeasuredSeries>& series, const MeasuredFit& fit) {
  std::string text;
  for (std::size_t s = 0; s < series.size(); ++s) {
    text += fmt::format("\n{}: {}, {}\n{:>24} {:>14} {:>14} {:>22}\n", series[s].file,
                        series[s].title, to_string(series[s].link), "size", "measured us",
                        "predicted us", "predicted / measured");
    for (const MeasuredFit::Residual& residual : fit.residuals) {
      if (residual.series != s) continue;
      const MeasuredSeries::Point& point = series[s].points[residual.point];
      text +=
          fmt::format("{:>24} {:>14.1f} {:>14.1f} {:>22.3f}{}\n", point.label, point.seconds * 1e6,
                      residual.predicted_s * 1e6, residual.predicted_s / point.seconds,
                      residual.used ? "" : "  not fitted");
    }
  }
  return text;
}

}  // namespace refit
