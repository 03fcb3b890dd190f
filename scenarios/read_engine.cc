#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "models/block_layout.h"
#include "models/precision.h"
#include "scenarios/detail/read.h"
#include "scenarios/layout_error.h"

namespace refit::detail {
namespace {

constexpr int kMostGpus = 1'000'000;

// A key that is not written has its default: look on.
[[noreturn]] void blame(const YamlNode& node, const std::string& message) {
  const std::size_t colon = message.find(": ");
  if (colon == std::string::npos) node.fail(message);
  const std::string keys = message.substr(0, colon);
  if (const auto only = node.find(keys)) only->fail(message.substr(colon + 2));
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t end = std::min(keys.find(" x ", at), keys.size());
    if (const auto key = node.find(keys.substr(at, end - at))) key->fail(message);
    at = end + 3;
  }
  node.fail(message);
}

}  // namespace

void fail_at_key(const YamlNode& node, const std::string& message) {
  try {
    blame(node, message);
  } catch (const Error& error) {
    throw LayoutError({error.what()});
  }
}

Place read_place(const YamlNode& node, const Ground& ground) {
  const int gpus_in_cluster = ground.gpus_in_cluster;
  const auto written = node.find("first_gpu");
  const int first = written ? static_cast<int>(written->integer(0, kMostGpus)) : ground.next_gpu;
  const YamlNode gpus_node = node.at("gpus");
  const int gpus = static_cast<int>(gpus_node.integer(1, kMostGpus));
  if (written && first >= gpus_in_cluster) {
    written->fail(fmt::format("there is no GPU {}; the cluster has GPUs 0 to {}", first,
                              gpus_in_cluster - 1));
  }
  if (first + gpus > gpus_in_cluster) {
    gpus_node.fail(fmt::format(
        "GPUs {} to {} are asked for, but the cluster has GPUs 0 to {}; add nodes or use fewer",
        first, first + gpus - 1, gpus_in_cluster - 1));
  }
  return {gpus, Rank(first)};
}

EngineSide read_engine(const YamlNode& node, const ModelSpec& model, const Ground& ground) {
  using Reader = EngineSide (*)(const YamlNode&, const ModelSpec&, const Ground&);
  const Reader read = node.at("engine").one_of<Reader>({{"megatron", read_megatron},
                                                        {"fsdp", read_fsdp},
                                                        {"automodel", read_automodel},
                                                        {"megatron_fsdp", read_megatron_fsdp},
                                                        {"vllm", read_vllm},
                                                        {"sglang", read_sglang}});
  EngineSide side = read(node, model, ground);
  const Place place = read_place(node, ground);
  side.facts.engine = node.at("engine").text();
  side.facts.gpus = place.gpus;
  side.facts.first = place.first;
  side.facts.pipeline = side.layouts->stages();
  side.facts.precision = to_string(main_dtype(model));
  if (const auto precision = node.find("precision"))
    side.facts.precision = (precision->is_map() ? precision->at("format") : *precision).text();
  return side;
}

Refit refit_of(const ModelSpec& model, const Parallelism& training, const YamlNode& training_node,
               const Parallelism& generation, const YamlNode& generation_node, const Edge& edge,
               int ranks) {
  // Lay out every tensor once, side by side, so that a degree that does not fit is blamed on its
  // side.
  const Dtype main = main_dtype(model);
  std::vector<std::string> findings;
  const auto try_side = [&](const Parallelism& side, const StoredForm& own, const YamlNode& node) {
    std::set<std::pair<Role, std::string>> seen;  // one finding for the same part of all layers
    for (const TensorSpec& tensor : model.tensors) {
      try {
        const auto parts = side.layout_parts(tensor, side.stage_of(tensor), 1);
        const ElementForm wire =
            wire_form(form_of(tensor, edge.source.precision, main),
                      form_of(tensor, edge.destination.precision, main), edge.convert);
        check_blocks(tensor, form_of(tensor, own.precision, main), wire, parts,
                     {side.gpus(), model.heads});
      } catch (const Error& error) {
        if (!seen.emplace(tensor.role, tensor.part).second) continue;
        try {
          fail_at_key(node, error.what());
        } catch (const LayoutError& pinned) {
          findings.push_back(pinned.what());
        }
      }
    }
  };
  try_side(training, edge.source, training_node);
  try_side(generation, edge.destination, generation_node);
  if (!findings.empty()) throw LayoutError(std::move(findings));
  return make_refit(model, training, generation, ranks, edge);
}

}  // namespace refit::detail
