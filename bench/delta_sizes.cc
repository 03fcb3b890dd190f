// Bytes per changed weight by codec, in Markdown: the tables of docs/delta.md. Not a measurement of
// time: the same on every machine.

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "delta/baselines/baseline.h"
#include "delta/entropy.h"
#include "delta/segment_codec.h"
#include "delta/update_model.h"

namespace {

using namespace refit;

constexpr std::int64_t kElements = 8 << 20;

struct Pair {
  std::vector<std::uint16_t> before, after;
};

// The weights before and after the last of so many steps. A segment at a time, to save memory.
Pair updated(const UpdateModel& model, int steps) {
  constexpr auto kPart = static_cast<std::int64_t>(kMostSegmentElements);
  Pair pair{std::vector<std::uint16_t>(kElements), std::vector<std::uint16_t>(kElements)};
  for (std::int64_t first = 0; first < kElements; first += kPart) {
    const ElementRun run{first, kPart};
    UpdatedShard shard(model, 0, {&run, 1});
    for (int s = 1; s < steps; ++s) shard.step();
    shard.cast(
        std::span(pair.before).subspan(static_cast<std::size_t>(first), kMostSegmentElements));
    shard.step();
    shard.cast(
        std::span(pair.after).subspan(static_cast<std::size_t>(first), kMostSegmentElements));
  }
  return pair;
}

Pair injected(double rate) {
  Pair pair = updated(UpdateModel{}, 1);
  pair.after = pair.before;
  inject_uniform(1, rate, 0, pair.after);
  return pair;
}

double segments_bytes(const Pair& pair, DeltaMode mode) {
  double bytes = 0;
  for (std::size_t first = 0; first < pair.before.size(); first += kMostSegmentElements) {
    const auto part = [&](const std::vector<std::uint16_t>& elements) {
      return std::as_bytes(std::span(elements).subspan(first, kMostSegmentElements));
    };
    bytes += static_cast<double>(
        encode_segment(part(pair.before), part(pair.after), 2, mode).payload.size());
  }
  return bytes;
}

double baseline_bytes(const Pair& pair, Baseline baseline) {
  return static_cast<double>(encode_baseline(baseline, pair.before, pair.after).size());
}

struct Row {
  std::string name;
  std::function<Pair()> make;
};

void print_scenarios(const std::vector<Row>& rows) {
  fmt::print(
      "| update | changed | index + value | slime XOR | NeMo overwrite | NeMo XOR | saves | rice | "
      "its "
      "limit | conditioned | its limit |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows) {
    const Pair pair = row.make();
    const DeltaEntropy limit = measure_entropy(pair.before, pair.after);
    const double n = limit.changed;
    const double overwrite = baseline_bytes(pair, Baseline::nemo_overwrite) / n;
    const double mask = baseline_bytes(pair, Baseline::nemo_xor) / n;
    fmt::print(
        "| {} | {:.2f} % | {:.2f} | {:.2f} | {:.3f} | {:.3f} | {:.1f} % | {:.3f} | {:.3f} | "
        "{:.3f} | {:.3f} |\n",
        row.name, 100 * limit.change_rate(), baseline_bytes(pair, Baseline::index_value) / n,
        baseline_bytes(pair, Baseline::slime_xor) / n, overwrite, mask,
        100 * (1 - mask / overwrite), segments_bytes(pair, DeltaMode::rice) / n, limit.rice() / 8,
        segments_bytes(pair, DeltaMode::conditioned) / n, limit.conditioned() / 8);
  }
}

// As rows of the table in delta/size_model.cc.
void print_model() {
  for (double rate = 1e-8; rate < 2e-2; rate *= 2) {
    UpdateModel model;
    model.learning_rate = rate;
    const Pair pair = updated(model, 1);
    const double n = measure_entropy(pair.before, pair.after).changed;
    fmt::print("    {{{:.3e}, {{{:.4f}, {:.4f}, {:.4f}, {:.4f}}}}},\n",
               n / static_cast<double>(kElements), segments_bytes(pair, DeltaMode::rice) / n,
               segments_bytes(pair, DeltaMode::conditioned) / n,
               baseline_bytes(pair, Baseline::nemo_xor) / n,
               baseline_bytes(pair, Baseline::nemo_overwrite) / n);
  }
}

Row adam(const std::string& name, UpdateModel model, int steps = 1) {
  return {name, [model, steps] { return updated(model, steps); }};
}

UpdateModel with_rate(double learning_rate) {
  UpdateModel model;
  model.learning_rate = learning_rate;
  return model;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--model") == 0) {
    print_model();
    return 0;
  }
  UpdateModel signal, fast = with_rate(3e-6), begin;
  signal.signal = 0.15;
  fast.beta2 = 0.95;
  begin.is_steady = false;
  print_scenarios({
      adam("begins from BF16, 1e-6, step 1", begin, 1),
      adam("the same, step 5", begin, 5),
      adam("the same, step 20", begin, 20),
      adam("the same, step 60", begin, 60),
      adam("steady, 5e-7", with_rate(5e-7)),
      adam("**steady, 1e-6**", with_rate(1e-6)),
      adam("steady, 1e-6, signal 0.15", signal),
      adam("steady, 2e-6", with_rate(2e-6)),
      adam("steady, 3e-6, beta2 0.95", fast),
      adam("steady, 5e-6", with_rate(5e-6)),
      {"uniform, 1 %", [] { return injected(0.01); }},
      {"uniform, 3 %", [] { return injected(0.03); }},
      {"uniform, 5 %", [] { return injected(0.05); }},
  });
  return 0;
}
