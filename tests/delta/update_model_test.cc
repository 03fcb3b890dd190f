#include <random>

#include <catch2/catch.hpp>

#include "delta/entropy.h"
#include "delta/update_model.h"

namespace refit {
namespace {

using Elements = std::vector<std::uint16_t>;

Elements cast(const UpdatedShard& shard) {
  Elements bf16(static_cast<std::size_t>(shard.size()));
  shard.cast(bf16);
  return bf16;
}

double changed_share(const UpdateModel& model, int steps) {
  const ElementRun run{0, 1 << 19};
  UpdatedShard shard(model, 0, {&run, 1});
  for (int s = 1; s < steps; ++s) shard.step();
  const Elements before = cast(shard);
  shard.step();
  return measure_entropy(before, cast(shard)).change_rate();
}

UpdateModel with_rate(double learning_rate) {
  UpdateModel model;
  model.learning_rate = learning_rate;
  return model;
}

}  // namespace

TEST_CASE("update model: however a tensor is cut, every element has the same bits", "[delta]") {
  UpdateModel model;
  model.signal = 0.1;
  model.row_elements = 100;
  for (const bool is_steady : {true, false}) {
    model.is_steady = is_steady;
    const ElementRun whole{0, 1000};
    const std::vector<ElementRun> odd{{7, 150}, {900, 100}};  // as a strided box of a shard is
    UpdatedShard all(model, 3, {&whole, 1}), part(model, 3, odd);
    for (int s = 0; s < 3; ++s) {
      const Elements expected = cast(all), got = cast(part);
      REQUIRE((Elements(expected.begin() + 7, expected.begin() + 157) ==
               Elements(got.begin(), got.begin() + 150)));
      REQUIRE((Elements(expected.begin() + 900, expected.end()) ==
               Elements(got.begin() + 150, got.end())));
      all.step();
      part.step();
    }
    // Another tensor, another seed: other weights.
    REQUIRE(
        (cast(UpdatedShard(model, 4, {&whole, 1})) != cast(UpdatedShard(model, 3, {&whole, 1}))));
    UpdateModel other = model;
    other.seed = 1;
    REQUIRE(
        (cast(UpdatedShard(other, 3, {&whole, 1})) != cast(UpdatedShard(model, 3, {&whole, 1}))));
  }
}

TEST_CASE(
    "update model: as many weights change as in published runs, and fewer as training goes on",
    "[delta]") {
  // Published: 0.6 to 1.2 % per step at 1e-6 (NeMo-DCR). Adam's first step is the whole learning
  // rate for every weight, later ones 0.18 of it on average: so the first changes most.
  UpdateModel begin;
  begin.is_steady = false;
  const double first = changed_share(begin, 1), fifth = changed_share(begin, 5);
  const double steady = changed_share(with_rate(1e-6), 1);
  REQUIRE(first > fifth);
  REQUIRE(fifth > steady);
  REQUIRE(steady ==
          Approx(0.0106).epsilon(0.08));  // 128 rows' deviations differ by 3 % of their mean
}

TEST_CASE("update model: the closed form predicts the share of a steady step within 10 %",
          "[delta]") {
  for (const double rate : {5e-7, 1e-6, 5e-6}) {
    CAPTURE(rate);
    const UpdateModel model = with_rate(rate);
    REQUIRE(steady_change_rate(model) == Approx(changed_share(model, 1)).epsilon(0.1));
  }
  UpdateModel model;
  model.signal = 0.15;
  REQUIRE(steady_change_rate(model) == Approx(changed_share(model, 1)).epsilon(0.1));
}

TEST_CASE("update model: the closed form is the mean step over the distance of BF16 values",
          "[delta]") {
  // beta1 0 and no signal: the mean step is sqrt(2 / pi) of the rate. One row's deviation, and a
  // rate so small that only subnormal shares saturate: p = E|D| * sum over octaves of share * 2^(7
  // - exponent), and each octave [2^e, 2^(e+1)) of a density nearly constant at 2/(sigma sqrt(2
  // pi)) near zero adds the same 2^7 * 0.798 / sigma * E|D| = 102 / sigma * E|D|; halving the rate
  // then adds one octave of half the step: 2 p(rate / 2) - p(rate) = 102 * E|D| / sigma.
  UpdateModel model;
  model.beta1 = 0;
  model.row_spread = 0;
  model.learning_rate = 1e-7;
  UpdateModel half = model;
  half.learning_rate = 0.5e-7;
  const double mean_step = 1e-7 * 0.797885;
  REQUIRE(2 * steady_change_rate(half) - steady_change_rate(model) ==
          Approx(102.13 * mean_step / 0.02).epsilon(0.02));
}

TEST_CASE("update model: injection is uniform and changes only neighbours", "[delta]") {
  Elements before(1 << 18, 0x3c00);
  before[0] = 0x8000;
  Elements after = before;
  inject_uniform(5, 0.03, 0, after);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    ++changed;
    REQUIRE((after[i] == before[i] + 1 || after[i] + 1 == before[i]));
  }
  // 0.03 * 2^18 = 7864, standard deviation 87.
  REQUIRE(changed > 7500);
  REQUIRE(changed < 8230);
  // A part alone gets what it gets in the whole.
  Elements tail(before.begin() + 1000, before.end());
  inject_uniform(5, 0.03, 1000, tail);
  REQUIRE((tail == Elements(after.begin() + 1000, after.end())));
}

}  // namespace refit
