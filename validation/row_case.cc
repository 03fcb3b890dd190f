#include "validation/row_case.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "models/import/hf_config.h"
#include "scenarios/scenario.h"
#include "validation/detail/cell.h"
#include "validation/detail/delta_row.h"
#include "validation/detail/machines.h"
#include "validation/detail/row_model.h"
#include "validation/detail/row_precision.h"
#include "validation/detail/row_sides.h"
#include "validation/detail/row_system.h"
#include "validation/detail/words.h"

namespace refit {
namespace {

using detail::MachineKinds;
using detail::Machines;
using detail::in_quotes;
using detail::RowLayouts;
using detail::RowModel;
using detail::RowPrecision;
using detail::RowSide;
using detail::RowSides;

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::string side_yaml(const char* name, const RowSide& side, const std::string& precision) {
  std::string text = fmt::format("{}:\n  engine: {}\n  gpus: {}\n", name, side.engine, side.gpus);
  for (const std::string& key : side.keys) text += "  " + key + "\n";
  if (!precision.empty()) text += "  precision: " + precision + "\n";
  return text;
}

// What all ways to write a row share.
struct Draft {
  const PublishedRow& row;
  std::string system;
  RowModel model;
  RowSides sides;
  std::string cluster;  // YAML
  std::vector<std::string> assumptions;
};

RowCase write_case(const Draft& draft, const RowPrecision& precision, bool mtp) {
  RowCase out{draft.system, {}, draft.assumptions, false};
  append(out.assumptions, precision.assumptions);
  if (mtp) out.assumptions.emplace_back("The multi-token-prediction module is sent, too.");
  std::string text = fmt::format(
      "scenario: {}\n", in_quotes(draft.row.id + ": " + draft.row.model + ", " + draft.row.method));
  if (!out.assumptions.empty()) text += "assumptions:\n";
  for (const std::string& line : out.assumptions) text += "  - " + in_quotes(line) + "\n";
  text += draft.cluster;
  text += fmt::format("model:\n  name: {}\n", draft.model.name);
  if (!precision.model_dtype.empty()) text += fmt::format("  dtype: {}\n", precision.model_dtype);
  if (mtp) text += "  mtp: true\n";
  text += side_yaml("training", draft.sides.training, precision.training);
  text += side_yaml("generation", draft.sides.generation, precision.generation);
  out.scenario_yaml = std::move(text);
  return out;
}

// The column that a refused scenario comes from.
RowSkip refused(const std::string& message) {
  const std::string field = detail::has_any(message, {"blockwise", "mxfp"})         ? "dtype"
                            : detail::has_any(message, {": training", "training."}) ? "train_layout"
                            : detail::has_any(message, {": cluster", "cluster."})   ? "interconnect"
                                                                                  : "infer_layout";
  return {field, message};
}

// A way to write the row that the scenario reader takes.
struct Tried {
  RowPrecision precision;
  bool mtp = false;
  double unique_bytes = 0;
};

// The first precision that the layouts take.
std::variant<Tried, RowSkip> try_precisions(const Draft& draft,
                                            const std::vector<RowPrecision>& precisions, bool mtp) {
  std::optional<RowSkip> skip;
  for (const RowPrecision& precision : precisions) {
    try {
      const Scenario scenario =
          parse_scenario(write_case(draft, precision, mtp).scenario_yaml, draft.row.id);
      return Tried{precision, mtp, static_cast<double>(scenario.refit.unique_bytes())};
    } catch (const Error& error) {
      if (!skip) skip = refused(error.what());
    }
  }
  return *skip;
}

// Whether a checkpoint's prediction module belongs to the bytes that the row states.
double distance(const Tried& tried, const PublishedRow& row) {
  return row.bytes_gb ? std::abs(tried.unique_bytes / 1e9 / *row.bytes_gb - 1) : 0;
}

constexpr double kNear = 0.005;      // closer than any prediction module is to nothing
constexpr double kSameBytes = 0.03;  // rounding of published sizes

}  // namespace

std::variant<RowCase, RowSkip> row_case(const PublishedRow& row) {
  if (!row.unreadable.empty()) {
    const auto& [column, right] = *row.unreadable.begin();
    return RowSkip{column, right};
  }
  if (detail::is_between_clusters(row)) return detail::delta_row_case(row);
  auto system = detail::row_system(row);
  if (auto* skip = std::get_if<RowSkip>(&system)) return *skip;
  auto precisions = detail::row_precisions(row);
  if (auto* skip = std::get_if<RowSkip>(&precisions)) return *skip;
  auto model = detail::row_model(row);
  if (auto* skip = std::get_if<RowSkip>(&model)) return *skip;
  const std::string& preset = std::get<std::string>(system);
  auto layouts = detail::row_layouts(row, preset);
  if (auto* skip = std::get_if<RowSkip>(&layouts)) return *skip;
  auto kinds = detail::machine_kinds(row, std::get<RowLayouts>(layouts).from_host);
  if (auto* skip = std::get_if<RowSkip>(&kinds)) return *skip;
  const auto& machine_kinds = std::get<MachineKinds>(kinds);
  const ModelSpec spec = catalog_model(std::get<RowModel>(model).name);
  auto sides = detail::row_sides(row, preset, std::get<RowLayouts>(layouts), spec, machine_kinds);
  if (auto* skip = std::get_if<RowSkip>(&sides)) return *skip;

  Draft draft{.row = row,
              .system = preset,
              .model = std::get<RowModel>(std::move(model)),
              .sides = std::get<RowSides>(std::move(sides)),
              .cluster = {},
              .assumptions = {}};
  append(draft.assumptions, draft.model.assumptions);
  if (const std::string said = detail::system_assumption(row, draft.system); !said.empty()) {
    draft.assumptions.push_back(said);
  }
  append(draft.assumptions, draft.sides.assumptions);
  append(draft.assumptions, machine_kinds.assumptions);
  const Machines generation =
      machines(machine_kinds.generation, draft.sides.generation.gpus, row.infer_nodes,
               draft.sides.generation.nvlink_domains, "generation", draft.assumptions);
  if (draft.sides.in_place) {
    draft.sides.generation.keys.emplace_back("first_gpu: 0");
    draft.cluster = cluster_yaml(generation);
  } else {
    const Machines training =
        machines(machine_kinds.training, draft.sides.training.gpus, row.train_nodes,
                 draft.sides.training.nvlink_domains, "training", draft.assumptions);
    const int first = first_generation_gpu(training);
    if (first != training.gpus) {
      draft.sides.generation.keys.push_back(fmt::format("first_gpu: {}", first));
    }
    draft.cluster = cluster_yaml(training, generation);
    if (training.domain_gpus > training.gpus_per_node && !training.said_domains) {
      draft.assumptions.push_back(
          fmt::format("NVLink domains have {} GPUs, filled in order.", training.domain_gpus));
    }
  }

  const auto& ways = std::get<std::vector<RowPrecision>>(precisions);
  auto tried = try_precisions(draft, ways, false);
  if (auto* skip = std::get_if<RowSkip>(&tried)) return *skip;
  Tried best = std::get<Tried>(std::move(tried));
  if (distance(best, row) > kNear &&
      catalog_model(draft.model.name, {.mtp = true}).bytes() > spec.bytes()) {
    auto with_module = try_precisions(draft, ways, true);
    auto* other = std::get_if<Tried>(&with_module);
    if (other && distance(*other, row) < distance(best, row)) best = std::move(*other);
  }
  if (distance(best, row) > kSameBytes) {
    draft.assumptions.push_back(fmt::format("The catalog's {} has {}, the row {:.4g} GB.",
                                            draft.model.name, format_bytes(best.unique_bytes),
                                            *row.bytes_gb));
  }
  return write_case(draft, best.precision, best.mtp);
}

}  // namespace refit
