#include "delta/update_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace refit {
namespace {

// What a random number is for; so no two uses share one.
enum class Draw : std::uint64_t { row = 1, weight, mean, gradient, signal, injection };

// splitmix64's finaliser over a counter.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// One stream of numbers per use, tensor and step; within it, by index.
std::uint64_t stream(std::uint64_t seed, Draw draw, std::int64_t tensor, std::int64_t step) {
  std::uint64_t key = mixed(seed + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(draw));
  key = mixed(key + 0xd1b54a32d192ed03u * static_cast<std::uint64_t>(tensor));
  return mixed(key + 0x8cb92ba72f3d8dd7u * static_cast<std::uint64_t>(step));
}

std::uint64_t random_bits(std::uint64_t stream_key, std::int64_t index) {
  return mixed(stream_key + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(index));
}

// Sums of uniform numbers rather than logarithms and cosines, which are not the same bit by bit in
// all mathematical libraries. Of four 16-bit numbers: enough for a gradient.
float noise(std::uint64_t bits) {
  const auto sum = static_cast<std::int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                             ((bits >> 32) & 0xffff) + (bits >> 48));
  return static_cast<float>(sum - 131070) * (1.0f / 37837.2f);  // 65536 * sqrt(4 / 12)
}

// Of twelve 32-bit numbers, whose variance is 1: fine enough for weights near zero.
double normal(std::uint64_t stream_key, std::int64_t index) {
  double sum = -6;
  for (std::int64_t part = 0; part < 6; ++part) {
    const std::uint64_t bits = random_bits(stream_key, 6 * index + part);
    sum += static_cast<double>(bits >> 32) * 0x1p-32 +
           static_cast<double>(bits & 0xffffffffu) * 0x1p-32;
  }
  return sum;
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

double row_sigma(const UpdateModel& model, std::int64_t tensor, std::int64_t row) {
  const double deviate = normal(stream(model.seed, Draw::row, tensor, 0), row);
  return model.sigma *
         std::exp(model.row_spread * deviate - model.row_spread * model.row_spread / 2);
}

// Of the first moment when Adam is warm, over the gradient's noise.
double moment_deviation(const UpdateModel& model) {
  return std::sqrt((1 - model.beta1) / (1 + model.beta1));
}

double signed_signal(const UpdateModel& model, std::int64_t tensor, std::int64_t index) {
  if (model.signal == 0) return 0;
  const bool positive = (random_bits(stream(model.seed, Draw::signal, tensor, 0), index) & 1) != 0;
  return positive ? model.signal : -model.signal;
}

// The share of normal weights of this deviation that change when the mean step is `step`.
double change_rate(double sigma, double step) {
  double rate = 0;
  for (int exponent = 4; exponent > -126; --exponent) {
    const double low = std::ldexp(1, exponent), ulp = std::ldexp(1, exponent - 7);
    const double scale = sigma * std::numbers::sqrt2;
    const double share = std::erf(2 * low / scale) - std::erf(low / scale);
    rate += share * std::min(1.0, step / ulp);
  }
  return rate;
}

}  // namespace

UpdatedShard::UpdatedShard(const UpdateModel& model, std::int64_t tensor,
                           std::span<const ElementRun> runs)
    : model_(model), tensor_(tensor), runs_(runs.begin(), runs.end()) {
  const std::uint64_t weights = stream(model.seed, Draw::weight, tensor, 0);
  const std::uint64_t means = stream(model.seed, Draw::mean, tensor, 0);
  for (const ElementRun& run : runs_) {
    std::int64_t row = -1;
    double sigma = 0;
    for (std::int64_t index = run.first; index < run.first + run.count; ++index) {
      if (index / model.row_elements != row) {
        row = index / model.row_elements;
        sigma = row_sigma(model, tensor, row);
      }
      const auto weight = static_cast<float>(sigma * normal(weights, index));
      masters_.push_back(model.is_steady ? weight : from_bf16(to_bf16(weight)));
      means_.push_back(model.is_steady
                           ? static_cast<float>(moment_deviation(model) * normal(means, index) +
                                                signed_signal(model, tensor, index))
                           : 0.0f);
    }
  }
  squares_.resize(masters_.size(),
                  model.is_steady ? static_cast<float>(1 + model.signal * model.signal) : 0.0f);
}

void UpdatedShard::step() {
  ++steps_;
  const auto beta1 = static_cast<float>(model_.beta1), beta2 = static_cast<float>(model_.beta2);
  const auto epsilon = static_cast<float>(model_.epsilon);
  const auto rate = static_cast<float>(model_.learning_rate);
  // Moments that began at zero are too small by these.
  float mean_scale = 1, square_scale = 1;
  if (!model_.is_steady) {
    const auto steps = static_cast<double>(steps_);
    mean_scale = static_cast<float>(1 / (1 - std::pow(model_.beta1, steps)));
    square_scale = static_cast<float>(1 / (1 - std::pow(model_.beta2, steps)));
  }
  const std::uint64_t gradients = stream(model_.seed, Draw::gradient, tensor_, steps_);
  std::size_t i = 0;
  for (const ElementRun& run : runs_) {
    for (std::int64_t index = run.first; index < run.first + run.count; ++index, ++i) {
      const float gradient = noise(random_bits(gradients, index)) +
                             static_cast<float>(signed_signal(model_, tensor_, index));
      means_[i] = beta1 * means_[i] + (1 - beta1) * gradient;
      squares_[i] = beta2 * squares_[i] + (1 - beta2) * gradient * gradient;
      masters_[i] -=
          rate * (means_[i] * mean_scale) / (std::sqrt(squares_[i] * square_scale) + epsilon);
    }
  }
}

void UpdatedShard::cast(std::span<std::uint16_t> bf16) const {
  REFIT_CHECK(bf16.size() == masters_.size());
  for (std::size_t i = 0; i < bf16.size(); ++i) bf16[i] = to_bf16(masters_[i]);
}

double steady_change_rate(const UpdateModel& model) {
  // The mean of |first moment|, which is normal around the signal, over the root of the second.
  const double deviation = moment_deviation(model), signal = std::abs(model.signal);
  const double mean = deviation * std::sqrt(2 / std::numbers::pi) *
                          std::exp(-signal * signal / (2 * deviation * deviation)) +
                      signal * std::erf(signal / (deviation * std::numbers::sqrt2));
  const double step = model.learning_rate * mean / std::sqrt(1 + signal * signal);
  // Over the rows' deviations, by a sum on a fine grid.
  double rate = 0, weight = 0;
  for (double deviate = -4; deviate <= 4; deviate += 0.25) {
    const double sigma = model.sigma * std::exp(model.row_spread * deviate -
                                                model.row_spread * model.row_spread / 2);
    const double density = std::exp(-deviate * deviate / 2);
    rate += density * change_rate(sigma, step);
    weight += density;
  }
  return rate / weight;
}

void inject_uniform(std::uint64_t seed, double rate, std::int64_t first,
                    std::span<std::uint16_t> elements) {
  const std::uint64_t key = stream(seed, Draw::injection, 0, 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t bits = random_bits(key, first + static_cast<std::int64_t>(i));
    if (static_cast<double>(bits >> 11) * 0x1p-53 >= rate) continue;
    // At zero, down would be a change of sign and size alike.
    const bool up = (bits & 1) != 0 || (elements[i] & 0x7fff) == 0;
    elements[i] = static_cast<std::uint16_t>(elements[i] + (up ? 1 : -1));
  }
}

}  // namespace refit
