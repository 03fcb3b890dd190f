#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refit {

// What the weights are like and how they are trained: as much as decides which of their BF16 copies
// change in a step. Weights are normal, a row's deviation is log-normal, gradients are noise with a
// constant part.
struct UpdateModel {
  std::uint64_t seed = 0;
  double sigma = 0.02;  // of the weights: the mean over rows
  double row_spread = 0.35;
  std::int64_t row_elements = 4096;
  double learning_rate = 1e-6;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double signal = 0;  // the gradient's constant part over the deviation of its noise
  // Steady: Adam's moments are warm and the fp32 masters anywhere between two BF16 values, as after
  // many steps. Otherwise training begins: moments are zero and masters lie on BF16 values.
  bool is_steady = true;
};

// Neighbouring elements of a tensor, by global index.
struct ElementRun {
  std::int64_t first = 0, count = 0;
};

// Adam on a shard. An element's weight and gradients are a function of the model, the tensor, the
// element's global index and the step alone, so that however a tensor is cut, every rank has the
// bits that one rank with all of it would have.
class UpdatedShard {
 public:
  UpdatedShard(const UpdateModel& model, std::int64_t tensor, std::span<const ElementRun> runs);

  std::int64_t size() const { return static_cast<std::int64_t>(masters_.size()); }

  void step();

  // The weights rounded to BF16, to nearest and ties to even; as many as `size`.
  void cast(std::span<std::uint16_t> bf16) const;

 private:
  UpdateModel model_;
  std::int64_t tensor_ = 0;
  std::int64_t steps_ = 0;
  std::vector<ElementRun> runs_;
  // By element, run after run: the weight, and Adam's first and second moments.
  std::vector<float> masters_, means_, squares_;
};

// The share of BF16 weights that a step changes in the steady state, in closed form: the mean step
// over the distance between neighbouring BF16 values, in each octave of weights.
double steady_change_rate(const UpdateModel& model);

// Moves each element with probability `rate` to a neighbouring bit pattern: uniform over elements,
// as the stress tests of published systems do. A function of the seed and the global index, which
// of the first element is `first`.
void inject_uniform(std::uint64_t seed, double rate, std::int64_t first,
                    std::span<std::uint16_t> elements);

}  // namespace refit
