#include "models/megatron_grids.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "models/nearest_fit.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

void check_degree(const char* key, int degree, int gpus) {
  if (degree < 1) refuse(fmt::format("{}: {} is not a degree; use 1 or more", key, degree));
  if (gpus % degree == 0) return;
  std::vector<int> divisors;
  for (int d = 1; d <= gpus && divisors.size() < 16; ++d) {
    if (gpus % d == 0) divisors.push_back(d);
  }
  refuse(fmt::format("{}: {} does not divide {} ranks; use one of {}", key, degree, gpus,
                     fmt::join(divisors, ", ")));
}

void check_product(const char* key, int a, int b, const MegatronOptions& options,
                   const std::string& hint = "") {
  const std::int64_t product = std::int64_t{a} * b;
  const int stage = options.gpus / options.pipeline;
  if (a >= 1 && b >= 1 && stage % product == 0) return;
  const int wrong = static_cast<int>(std::min(product, std::int64_t{stage} + 1));
  refuse(fmt::format(
      "{}: {} ranks do not divide the {} ranks of a pipeline stage ({} ranks / pipeline {}); use "
      "{}{}",
      key, product, stage, options.gpus, options.pipeline,
      nearest_fit(wrong, stage, [&](int n) { return stage % n == 0; }), hint));
}

// tp, cp, ep, dp, pp in the order of ranks, fastest first.
using Axes = std::array<std::string, 5>;
const Axes kAxes = {"tp", "cp", "ep", "dp", "pp"};

Axes read_order(const std::string& order) {
  Axes axes;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= order.size();) {
    const std::size_t end = std::min(order.find('-', at), order.size());
    const std::string name = order.substr(at, end - at);
    const bool known = std::find(kAxes.begin(), kAxes.end(), name) != kAxes.end();
    const bool twice = std::find(axes.begin(), axes.end(), name) != axes.end();
    if (!known || twice) {
      refuse(
          fmt::format("order: '{}' in '{}' is {}; write tp, cp, ep, dp and pp once each, fastest "
                      "first: tp-cp-ep-dp-pp",
                      name, order, known ? "there twice" : "no axis"));
    }
    axes[count++] = name;
    at = end + 1;
  }
  if (count != axes.size()) {
    refuse(
        fmt::format("order: '{}' has {} axes; write tp, cp, ep, dp and pp once each, fastest "
                    "first: tp-cp-ep-dp-pp",
                    order, count));
  }
  return axes;
}

struct GridAxis {
  const char* name;  // in the mesh
  const char* axis;  // in the order
  int size;
};

// Strides follow the order; axes that the grid does not have count as 1.
Mesh grid(Rank first, const Axes& order, const std::array<GridAxis, 4>& axes) {
  std::vector<MeshAxis> mesh;
  for (const GridAxis& axis : axes) {
    int stride = 1;
    for (const std::string& faster : order) {
      if (faster == axis.axis) break;
      for (const GridAxis& other : axes) stride *= faster == other.axis ? other.size : 1;
    }
    mesh.push_back({axis.name, axis.size, stride});
  }
  return Mesh(first, std::move(mesh));
}

}  // namespace

MegatronGrids megatron_grids(const ModelSpec& model, const MegatronOptions& options) {
  check_degree("tensor", options.tensor, options.gpus);
  check_degree("pipeline", options.pipeline, options.gpus);
  check_product("tensor x context", options.tensor, options.context, options);
  // A dense model has the grid of one expert, cut as everything else.
  const int ep = model.experts > 0 ? options.expert : 1;
  const int etp =
      model.experts > 0 ? options.expert_tensor.value_or(options.tensor) : options.tensor;
  check_product("expert x expert_tensor", ep, etp, options, expert_tensor_hint(model, options));

  const int stage = options.gpus / options.pipeline;
  const int dp = stage / (options.tensor * options.context), edp = stage / (ep * etp);
  const Axes order = read_order(options.order);
  MegatronGrids grids{grid(options.first, order,
                           {{{"pp", "pp", options.pipeline},
                             {"dp", "dp", dp},
                             {"cp", "cp", options.context},
                             {"tp", "tp", options.tensor}}}),
                      grid(options.first, order,
                           {{{"pp", "pp", options.pipeline},
                             {"edp", "dp", edp},
                             {"ep", "ep", ep},
                             {"etp", "tp", etp}}})};
  const int dense = grids.dense.axes()[0].stride, experts = grids.experts.axes()[0].stride;
  if (options.pipeline > 1 && (dense != experts || (order.back() != "pp" && dp != edp))) {
    refuse(fmt::format(
        "order: in {}, stages lie {} ranks apart for dense weights and {} for experts, with {} and "
        "{} copies; end it with pp, or make expert x expert_tensor {} as tensor x context",
        options.order, dense, experts, dp, edp, options.tensor * options.context));
  }
  return grids;
}

std::string expert_tensor_hint(const ModelSpec& model, const MegatronOptions& options) {
  if (model.experts == 0 || options.expert_tensor || options.tensor == 1) return "";
  return fmt::format("; expert_tensor is tensor ({}) unless it is written; write expert_tensor: 1",
                     options.tensor);
}

}  // namespace refit
