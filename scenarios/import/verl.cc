#include "scenarios/import/verl.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "scenarios/import/hydra_config.h"
#include "scenarios/import/shell_words.h"

namespace refit {
namespace {

constexpr std::int64_t kMost = 1'000'000;
const std::string kActor = "actor_rollout_ref.actor.";
const std::string kMegatron = kActor + "megatron.";
const std::string kRollout = "actor_rollout_ref.rollout.";

// key=value with a dotted key, and a sign or none in front.
bool is_override(const std::string& word) {
  const std::size_t first = word.find_first_not_of("+~");
  if (first == std::string::npos || first > 2) return false;
  const std::size_t end = std::min(word.find('=', first), word.size());
  if (end == word.size() && word.front() != '~') return false;
  const std::string key = word.substr(first, end - first);
  return key.find('.') != std::string::npos && std::all_of(key.begin(), key.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
         });
}

// Others may hold what only their readers understand.
bool is_of_interest(const std::string& word) {
  const std::string_view key =
      std::string_view(word).substr(std::min(word.find_first_not_of("+~"), word.size()));
  for (const std::string_view part : {"actor_rollout_ref.", "trainer.", "rollout."}) {
    if (key.starts_with(part)) return true;
  }
  return false;
}

// ${NAME} of the shell, which the script leaves open, as $NAME: Hydra has references in braces.
std::string without_braces(std::string word) {
  const auto is_of_shell = [](char c) {
    return std::isupper(static_cast<unsigned char>(c)) ||
           std::isdigit(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t at = word.find("${"); at != std::string::npos; at = word.find("${", at + 1)) {
    std::size_t end = at + 2;
    while (end < word.size() && is_of_shell(word[end])) ++end;
    if (end == at + 2 || end == word.size() || word[end] != '}') continue;
    word.erase(end, 1);
    word.erase(at + 1, 1);
  }
  return word;
}

class Overrides {
 public:
  Overrides(std::string_view text, const std::string& file, Imported& out) : out_(out) {
    std::size_t read = 0;
    for (const ShellWord& word : shell_words(text, file)) {
      if (!is_override(word.text)) continue;
      ++read;
      if (!is_of_interest(word.text)) continue;
      try {
        config_.apply(without_braces(word.text), false);
      } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}:{}: {}", file, word.line, error.what()));
      }
    }
    if (read == 0)
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: no overrides of verl in it, such as trainer.nnodes=8", file));
  }

  HydraConfig& config() { return config_; }

  // An integer; nothing if it is missing or null, and asked for if the script leaves it open.
  std::optional<std::int64_t> integer(const std::string& path, const std::string& key,
                                      std::int64_t least = 1) {
    const auto value = config_.find(path);
    if (!value) return std::nullopt;
    if (const auto variable = open_variable(value->text)) {
      out_.asked.push_back(
          fmt::format("{}: {} is {}, which the file does not set", key, path, *variable));
      return std::nullopt;
    }
    return value->integer(least, kMost);
  }

  std::int64_t copy(const std::string& path, const char* side, ImportedPart& part,
                    const char* key) {
    const auto value = integer(path, fmt::format("{}.{}", side, key));
    if (value) set_key(part, key, fmt::format("{}", *value), path);
    return value.value_or(1);
  }

  bool says_any(const std::string& path) const { return config_.node(path) != nullptr; }

 private:
  HydraConfig config_;
  Imported& out_;
};

void read_megatron(Overrides& said, Imported& out) {
  ImportedPart& part = out.training;
  set_key(part, "engine", "megatron", kMegatron + "*");
  const std::int64_t tensor =
      said.copy(kMegatron + "tensor_model_parallel_size", "training", part, "tensor");
  said.copy(kMegatron + "pipeline_model_parallel_size", "training", part, "pipeline");
  said.copy(kMegatron + "context_parallel_size", "training", part, "context");
  const std::int64_t expert =
      said.copy(kMegatron + "expert_model_parallel_size", "training", part, "expert");
  said.copy(kMegatron + "virtual_pipeline_model_parallel_size", "training", part,
            "virtual_pipeline");
  said.copy(kMegatron + "expert_tensor_parallel_size", "training", part, "expert_tensor");
  if (expert > 1 && tensor > 1 && find_key(part, "expert_tensor") == nullptr) {
    set_key(part, "expert_tensor", fmt::format("{}", tensor),
            "expert_tensor_parallel_size is null: Megatron takes that of tensor");
    out.assumptions.push_back(
        "expert_tensor_parallel_size is null or not there, so experts are cut as tensor says; "
        "whoever means whole experts says 1");
  }
  const std::string more = kMegatron + "override_transformer_config.";
  for (const auto& [name, key] :
       {std::pair("num_layers_in_first_pipeline_stage", "first_stage_layers"),
        std::pair("num_layers_in_last_pipeline_stage", "last_stage_layers")}) {
    if (const auto layers = said.integer(more + name, fmt::format("training.{}", key), 0))
      set_key(part, key, fmt::format("{}", *layers), more + name);
  }
  if (said.config().flag(more + "account_for_embedding_in_pipeline_split", false))
    set_key(part, "account_for_embedding", "true",
            more + "account_for_embedding_in_pipeline_split");
  if (said.config().flag(more + "account_for_loss_in_pipeline_split", false))
    set_key(part, "account_for_loss", "true", more + "account_for_loss_in_pipeline_split");
  if (const auto layout = said.config().find(more + "pipeline_model_parallel_layout"))
    set_key(part, "pipeline_layout", yaml_text(layout->text), layout->path);
}

void read_fsdp(Overrides& said, std::int64_t gpus, Imported& out) {
  ImportedPart& part = out.training;
  const auto strategy = said.config().find(kActor + "strategy");
  set_key(part, "engine", "fsdp", strategy ? strategy->path : "verl's default strategy");
  if (!strategy) out.assumptions.push_back("no actor.strategy: verl trains with FSDP");
  // -1 shards over all ranks; less than all is HSDP, whole copies beside each other.
  const std::string path = kActor + "fsdp_config.fsdp_size";
  const auto size = said.config().find(path);
  if (size && size->text != "-1") {
    const std::int64_t shards = size->integer(1, kMost);
    if (gpus > 0 && gpus % shards != 0)
      size->fail(fmt::format("does not divide {} GPUs; use a divisor, or -1 for all", gpus));
    if (gpus > shards)
      set_key(part, "replicate", fmt::format("{}", gpus / shards), path + " of all GPUs");
  }
  const std::string type_path = kActor + "fsdp_config.model_dtype";
  const auto type = said.config().find(type_path);
  const std::string word = type ? type->text : "fp32";
  if (word == "fp32" || word == "float32") {
    set_key(part, "precision", "fp32", type ? type_path : "verl's default of model_dtype");
    // The gathered tensors are handed over as they are, and cast where they are loaded.
    set_key(out.scenario, "convert", "destination", "verl gathers weights as they are held");
    if (!type)
      out.assumptions.push_back("no fsdp_config.model_dtype: verl holds FSDP's weights in fp32");
  } else if (word == "fp16" || word == "float16") {
    set_key(part, "precision", "fp16", type_path);
  } else if (word != "bf16" && word != "bfloat16") {
    type->fail(fmt::format("unknown type '{}'; known are fp32, bf16, fp16", shown(word)));
  }
  // Ulysses ranks shard the weights like the others.
  said.integer(kActor + "ulysses_sequence_parallel_size", "training.context");
}

void read_rollout(Overrides& said, const ImportAnswers& answers, Imported& out) {
  ImportedPart& part = out.generation;
  const auto name = said.config().find(kRollout + "name");
  std::string engine = answered(answers, "generation.engine").value_or("");
  if (name && engine.empty()) {
    engine = name->text;
    if (engine != "vllm" && engine != "sglang")
      name->fail(
          fmt::format("no layout is known of '{}'; known are vllm and sglang", shown(engine)));
    set_key(part, "engine", engine, name->path);
  } else if (engine.empty()) {
    out.asked.push_back("generation.engine: no rollout.name; vllm or sglang");
  }
  const std::string tensor_path = kRollout + "tensor_model_parallel_size";
  const auto tensor = said.integer(tensor_path, "generation.tensor");
  const auto data = said.integer(kRollout + "data_parallel_size", "generation.data");
  const auto expert = said.integer(kRollout + "expert_parallel_size", "generation.expert");
  if (!tensor && !said.config().find(tensor_path))
    out.assumptions.push_back("no rollout.tensor_model_parallel_size: verl takes 2");
  const std::int64_t cut = tensor.value_or(2);
  said.copy(kRollout + "pipeline_model_parallel_size", "generation", part, "pipeline");
  if (engine == "sglang") {
    // SGLang counts the ranks of a whole engine as tensor; data parallel attention is inside.
    set_key(part, "tensor", fmt::format("{}", cut * data.value_or(1)), tensor_path);
    if (data.value_or(1) > 1)
      set_key(part, "attention_data", fmt::format("{}", *data), kRollout + "data_parallel_size");
    if (expert.value_or(1) > 1)
      set_key(part, "expert", fmt::format("{}", *expert), kRollout + "expert_parallel_size");
    return;
  }
  set_key(part, "tensor", fmt::format("{}", cut), tensor ? tensor_path : "verl's default");
  if (data.value_or(1) > 1)
    set_key(part, "data", fmt::format("{}", *data), kRollout + "data_parallel_size");
  if (expert.value_or(1) > 1) {
    if (*expert != cut * data.value_or(1))
      said.config()
          .find(kRollout + "expert_parallel_size")
          ->fail(fmt::format("{} is not tensor x data = {} x {}, among which vLLM divides experts",
                             *expert, cut, data.value_or(1)));
    set_key(part, "expert_parallel", "true", kRollout + "expert_parallel_size");
  }
}

// nnodes x n_gpus_per_node; the rollout is on the same GPUs unless it has nodes of its own.
std::int64_t read_gpus(Overrides& said, Imported& out) {
  const auto nodes = said.integer("trainer.nnodes", "training.gpus");
  const auto per_node = said.integer("trainer.n_gpus_per_node", "training.gpus");
  if (!nodes) out.assumptions.push_back("no trainer.nnodes: verl takes 1");
  if (!per_node) out.assumptions.push_back("no trainer.n_gpus_per_node: verl takes 8");
  out.nodes = nodes.value_or(1);
  out.gpus_per_node = per_node.value_or(8);
  out.gpus_per_node_source = per_node ? "trainer.n_gpus_per_node" : "verl's default";
  const std::int64_t gpus = *out.nodes * *out.gpus_per_node;
  const auto own_nodes = said.integer("rollout.nnodes", "generation.gpus");
  const auto own_gpus = said.integer("rollout.n_gpus_per_node", "generation.gpus");
  if (!own_nodes && !own_gpus) {
    set_gpus(out, gpus, gpus, true, "trainer.nnodes x trainer.n_gpus_per_node");
    return gpus;
  }
  const std::int64_t generation = own_nodes.value_or(1) * own_gpus.value_or(*out.gpus_per_node);
  set_gpus(out, gpus, generation, false, "trainer.nnodes x trainer.n_gpus_per_node");
  set_key(out.generation, "gpus", fmt::format("{}", generation),
          "rollout.nnodes x rollout.n_gpus_per_node");
  out.nodes = *out.nodes + own_nodes.value_or(1);
  return gpus;
}

void report_unknown(Overrides& said, Imported& out) {
  for (const std::string& part : {kMegatron, kActor + "fsdp_config.", kRollout}) {
    for (const HydraValue& value : said.config().not_asked(part.substr(0, part.size() - 1))) {
      const auto has = [&](const char* word) { return value.path.find(word) != std::string::npos; };
      const bool is_off = value.text == "False" || value.text == "false" || value.text == "1";
      if (is_off || has("offload") || has("max_") || has("sequence_parallel")) continue;
      // How things are computed, not how weights are held.
      if (has("mixed_precision") || has("router_dtype") || has("deallocate_")) continue;
      if (has("parallel") || has("pipeline") || has("precision") || has("quant") || has("dtype") ||
          has("lora") || has("eplb") || has("num_layers") || has("redundan"))
        out.left_out.push_back(
            fmt::format("{}: {}: not understood", shown(value.path, 200), shown(value.text, 80)));
    }
  }
}

}  // namespace

Imported read_verl(std::string_view text, const std::string& file, const ImportAnswers& answers) {
  Imported out;
  out.file = file;
  out.format = "verl overrides";
  out.title = std::filesystem::path(file).stem().string();
  Overrides said(text, file, out);
  if (!said.says_any("actor_rollout_ref") && !said.says_any("trainer"))
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: overrides, but none of verl's: neither actor_rollout_ref nor "
                            "trainer is in it",
                            file));
  // The folder may be open, the name at the end says which model it is.
  const auto model = said.config().find("actor_rollout_ref.model.path");
  if (model && !model->text.empty() &&
      !open_variable(model->text.substr(model->text.rfind('/') + 1))) {
    if (const auto known = catalog_name_of(model->text))
      set_key(out.model, "name", *known, fmt::format("{}: {}", model->path, model->text));
    else
      out.left_out.push_back(
          fmt::format("{}: '{}' is no model of the catalog; its config.json will do", model->path,
                      shown(model->text, 200)));
  }
  const std::int64_t gpus = read_gpus(said, out);
  const auto strategy = said.config().find(kActor + "strategy");
  const bool is_megatron =
      strategy ? strategy->text == "megatron" : said.says_any(kActor + "megatron");
  if (is_megatron) {
    read_megatron(said, out);
  } else {
    read_fsdp(said, gpus, out);
  }
  read_rollout(said, answers, out);
  report_unknown(said, out);
  return out;
}

}  // namespace refit
