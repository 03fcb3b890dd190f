#include "scenarios/import/m2n_system.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/yaml.h"

namespace refit {
namespace {

constexpr std::int64_t kMost = 1'000'000;

struct Side {
  std::int64_t gpus = 0, tensor = 1, context = 1, expert = 1, pipeline = 1, data = 1, fsdp = 1;
};

Side read_side(const YamlNode& node) {
  const auto degree = [&](const char* key) {
    const auto found = node.find(key);
    return found ? found->integer(1, kMost) : 1;
  };
  Side side;
  side.gpus = node.at("num_gpus").integer(1, kMost);
  side.tensor = degree("tp_size");
  side.context = degree("cp_size");
  side.expert = degree("ep_size");
  side.pipeline = degree("pp_size");
  side.data = degree("dp_size");
  side.fsdp = degree("fsdp_size");
  if (side.gpus % side.pipeline != 0)
    node.at("pp_size").fail(
        fmt::format("{} does not divide num_gpus {}", side.pipeline, side.gpus));
  return side;
}

void copy(ImportedPart& part, const char* key, std::int64_t degree, const std::string& source) {
  if (degree > 1) set_key(part, key, fmt::format("{}", degree), source);
}

void say_contradictions(const char* name, const Side& side, bool is_training, Imported& out) {
  if (side.fsdp != 1)
    out.left_out.push_back(fmt::format("{}.fsdp_size: {}; the bench ignores it", name, side.fsdp));
  if (side.tensor > kMost / side.context) return;
  const std::int64_t cut = side.tensor * side.context;
  const std::int64_t stage = side.gpus / side.pipeline;
  if (is_training && cut <= stage && side.data != stage / cut)
    out.left_out.push_back(fmt::format(
        "{}.dp_size: {}, but {} GPUs / (pp {} x tp {} x cp {}) are {} copies of dense "
        "weights, which the bench takes, too",
        name, side.data, side.gpus, side.pipeline, side.tensor, side.context, stage / cut));
  if (!is_training && cut * side.data != stage)
    out.left_out.push_back(
        fmt::format("{}.dp_size: {}, but {} GPUs / (pp {} x tp {} x cp {}) are "
                    "{} copies; num_gpus counts",
                    name, side.data, side.gpus, side.pipeline, side.tensor, side.context,
                    cut <= stage ? stage / cut : 0));
}

// Layer l is on stage l * stages / layers; equal shares need no list.
void set_stages(ImportedPart& part, const char* key, std::int64_t stages,
                const std::optional<ModelSpec>& model) {
  if (!model || stages <= 1 || stages > model->layers || model->layers % stages == 0) return;
  std::vector<int> sizes(static_cast<std::size_t>(stages), 0);
  for (int layer = 0; layer < model->layers; ++layer)
    ++sizes[static_cast<std::size_t>(layer * stages / model->layers)];
  set_key(part, key, fmt::format("[{}]", fmt::join(sizes, ", ")),
          "the bench puts layer l on stage l x stages / layers");
}

}  // namespace

Imported read_m2n_system(const std::string& json, const std::string& file,
                         const ImportAnswers& answers) {
  const YamlNode root = YamlNode::parse_text(json, file);  // JSON is YAML, with places
  if (!root.is_map() || !root.find("train") || !root.find("generation"))
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: no system file of NCCL M2N: it has no `train` and `generation`", file));
  const Side training = read_side(root.at("train"));
  const Side generation = read_side(root.at("generation"));
  Imported out;
  out.file = file;
  out.format = "NCCL M2N system file";
  out.title = std::filesystem::path(file).stem().string();
  const std::optional<ModelSpec> model = model_of(out, answers);

  set_key(out.training, "engine", "megatron", "cuts as the bench does");
  copy(out.training, "tensor", training.tensor, "train.tp_size");
  copy(out.training, "context", training.context, "train.cp_size");
  copy(out.training, "pipeline", training.pipeline, "train.pp_size");
  copy(out.training, "expert", training.expert, "train.ep_size");
  if (training.tensor > 1 && training.expert > 1)
    set_key(out.training, "expert_tensor", "1", "the bench fixes it");
  set_stages(out.training, "stage_layers", training.pipeline, model);

  set_key(out.generation, "engine", "vllm", "cuts as the bench does");
  copy(out.generation, "tensor", generation.tensor, "generation.tp_size");
  copy(out.generation, "pipeline", generation.pipeline, "generation.pp_size");
  if (generation.expert > 1) {
    if (generation.expert % generation.tensor != 0)
      root.at("generation")
          .at("ep_size")
          .fail(fmt::format(
              "{} is no multiple of tp_size {}; vLLM divides experts among whole engines",
              generation.expert, generation.tensor));
    copy(out.generation, "data", generation.expert / generation.tensor,
         "generation.ep_size over tp_size");
    set_key(out.generation, "expert_parallel", "true", "generation.ep_size");
  }
  set_stages(out.generation, "pipeline_partition", generation.pipeline, model);
  if (generation.context > 1)
    out.left_out.push_back(
        fmt::format("generation.cp_size: {}; its ranks are copies, as engines "
                    "are, and counted as such",
                    generation.context));
  set_gpus(out, training.gpus, generation.gpus, false, "num_gpus");
  say_contradictions("train", training, true, out);
  say_contradictions("generation", generation, false, out);
  out.assumptions.push_back(
      "key and value heads fewer than tp_size are copied, as engines do; the bench cuts rows");
  out.left_out.push_back(
      "nodes: the file has none; the bench's --gpus-per-node defaults to 8, whatever nodes have; "
      "--cluster says which");
  if (training.gpus == 128 && training.pipeline == 8 && training.expert == 16 &&
      generation.gpus == 128 && generation.tensor == 8)
    out.left_out.push_back(
        "the README of NCCL M2N has its published run of this size as EP16 DP2 PP4, this file has "
        "EP16 PP8");
  if (const auto comment = root.find("_comment"))
    if (comment->is_scalar()) out.assumptions.push_back(comment->text());
  return out;
}

}  // namespace refit
