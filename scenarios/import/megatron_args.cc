#include "scenarios/import/megatron_args.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/units.h"
#include "models/import/hf_config.h"
#include "scenarios/import/megatron_model.h"
#include "scenarios/import/shell_words.h"
#include "scenarios/import/sourced_script.h"

namespace refit {
namespace {

constexpr std::int64_t kMost = 1'000'000;
const std::string kModel = "model.name";
constexpr std::int64_t kSlimeGpusPerNode = 8;  // default of --actor-num-gpus-per-node

// The flags, read with the line in front of each complaint.
class Args {
 public:
  Args(ShellFlags flags, std::string file, Imported& out)
      : flags_(std::move(flags)), file_(std::move(file)), out_(out) {}

  bool has(const char* flag) { return flags_.has(flag); }
  const std::vector<ShellFlags::Flag>& all() const { return flags_.all(); }

  // Nothing if it is not there, or if the script leaves its variable open: then `key` is asked for,
  // but of a model, which has a name besides, only noted.
  std::optional<std::string> text(const char* flag, const std::string& key) {
    const ShellFlags::Flag* found = flags_.find(flag);
    if (found == nullptr) return std::nullopt;
    if (found->values.empty() || found->values.front().empty())
      fail(*found, "expected a value behind it");
    if (const auto variable = open_variable(found->values.front())) {
      if (key == kModel) {
        out_.left_out.push_back(fmt::format(
            "{} is {}, which the file does not set; not compared with the model", flag, *variable));
      } else {
        out_.asked.push_back(
            fmt::format("{}: {} is {}, which the file does not set", key, flag, *variable));
      }
      return std::nullopt;
    }
    return found->values.front();
  }

  std::optional<std::int64_t> integer(const char* flag, const std::string& key,
                                      std::int64_t least = 1) {
    const auto word = text(flag, key);
    if (!word || *word == "None") return std::nullopt;
    std::int64_t value = 0;
    const char* end = word->data() + word->size();
    const auto [stop, error] = std::from_chars(word->data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > kMost)
      fail(*flags_.find(flag),
           fmt::format("expected an integer from {} to {}, got '{}'", least, kMost, shown(*word)));
    return value;
  }

  // The end of a path, whatever its folder is; nothing if the script leaves it open.
  std::string last_part(const char* flag) {
    const ShellFlags::Flag* found = flags_.find(flag);
    if (found == nullptr || found->values.empty()) return {};
    const std::string& path = found->values.front();
    const std::string whole = path.substr(0, path.find_last_not_of('/') + 1);
    const std::string last = whole.substr(whole.rfind('/') + 1);
    return open_variable(last) ? std::string() : last;
  }

  // Copies a number to a key of a side.
  std::int64_t copy(const char* flag, const char* side, ImportedPart& part, const char* key) {
    const auto value = integer(flag, fmt::format("{}.{}", side, key));
    if (value) set_key(part, key, fmt::format("{}", *value), flag);
    return value.value_or(1);
  }

  [[noreturn]] void fail(const ShellFlags::Flag& flag, const std::string& message) const {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}:{}: {}: {}", file_, flag.line, flag.name, message));
  }
  [[noreturn]] void fail(const char* flag, const std::string& message) {
    fail(*flags_.find(flag), message);
  }

 private:
  ShellFlags flags_;
  std::string file_;
  Imported& out_;
};

void read_stages(Args& args, const MegatronNumbers& numbers, std::int64_t pipeline, Imported& out) {
  ImportedPart& part = out.training;
  for (const auto& [flag, key] :
       {std::pair("--decoder-first-pipeline-num-layers", "first_stage_layers"),
        std::pair("--decoder-last-pipeline-num-layers", "last_stage_layers")}) {
    if (const auto layers = args.integer(flag, fmt::format("training.{}", key), 0))
      set_key(part, key, fmt::format("{}", *layers), flag);
  }
  if (args.has("--account-for-embedding-in-pipeline-split"))
    set_key(part, "account_for_embedding", "true", "--account-for-embedding-in-pipeline-split");
  if (args.has("--account-for-loss-in-pipeline-split"))
    set_key(part, "account_for_loss", "true", "--account-for-loss-in-pipeline-split");
  const char* const layout = "--pipeline-model-parallel-layout";
  if (const auto text = args.text(layout, "training.pipeline_layout"))
    set_key(part, "pipeline_layout", yaml_text(*text), layout);
  for (const char* flag : {"--hybrid-override-pattern", "--hybrid-layer-pattern"}) {
    if (const auto text = args.text(flag, "training.hybrid_pattern"))
      set_key(part, "hybrid_pattern", yaml_text(*text), flag);
  }
  const char* const chunks = "--num-virtual-stages-per-pipeline-rank";
  const char* const per_chunk = "--num-layers-per-virtual-pipeline-stage";
  if (const auto count = args.integer(chunks, "training.virtual_pipeline")) {
    set_key(part, "virtual_pipeline", fmt::format("{}", *count), chunks);
  } else if (const auto layers = args.integer(per_chunk, "training.virtual_pipeline")) {
    const std::int64_t all = numbers.layers.value_or(0);
    if (all > 0 && all % (pipeline * *layers) == 0) {
      set_key(part, "virtual_pipeline", fmt::format("{}", all / pipeline / *layers),
              fmt::format("{} {} of {} layers on {} stages", per_chunk, *layers, all, pipeline));
    } else {
      out.asked.push_back(fmt::format("training.virtual_pipeline: {} {} does not divide the layers",
                                      per_chunk, *layers));
    }
  }
}

// Rows of the vocabulary are padded for training, which surprises whoever compares shapes.
void read_padding(Args& args, const MegatronNumbers& numbers, std::int64_t tensor, Imported& out) {
  const char* const flag = "--make-vocab-size-divisible-by";
  const auto given = args.integer(flag, "training.vocab_padding");
  const std::int64_t unit = given.value_or(128) * tensor;
  std::string source = given ? flag : "Megatron's default of 128";
  if (numbers.vocab) {
    source += fmt::format(": {} rows are held as {}", format_count(*numbers.vocab),
                          format_count((*numbers.vocab + unit - 1) / unit * unit));
  }
  set_key(out.training, "vocab_padding", given ? fmt::format("{}", *given) : "megatron", source);
}

void read_training(Args& args, const MegatronNumbers& numbers, Imported& out) {
  ImportedPart& part = out.training;
  const bool is_fsdp = args.has("--use-megatron-fsdp") || args.has("--use-custom-fsdp");
  set_key(part, "engine", is_fsdp ? "megatron_fsdp" : "megatron",
          is_fsdp ? "--use-megatron-fsdp" : "flags of Megatron-LM");
  const std::int64_t tensor = args.copy("--tensor-model-parallel-size", "training", part, "tensor");
  const std::int64_t pipeline =
      args.copy("--pipeline-model-parallel-size", "training", part, "pipeline");
  args.copy("--context-parallel-size", "training", part, "context");
  args.copy("--expert-model-parallel-size", "training", part, "expert");
  args.copy("--expert-tensor-parallel-size", "training", part, "expert_tensor");
  const bool has_experts = numbers.experts.value_or(0) > 0 || find_key(part, "expert") != nullptr;
  if (has_experts && tensor > 1 && !args.has("--expert-tensor-parallel-size")) {
    set_key(part, "expert_tensor", fmt::format("{}", tensor),
            "no --expert-tensor-parallel-size: Megatron takes that of tensor");
  }
  if (args.has("--use-tp-pp-dp-mapping"))
    set_key(part, "order", "tp-cp-ep-pp-dp", "--use-tp-pp-dp-mapping");
  read_stages(args, numbers, pipeline, out);
  read_padding(args, numbers, tensor, out);
  if (args.has("--fp16")) set_key(part, "precision", "fp16", "--fp16");
  if (args.has("--fp8-param-gather")) {
    const auto recipe = args.text("--fp8-recipe", "training.precision");
    if (recipe == "blockwise" || recipe == "mxfp8") {
      set_key(part, "precision", *recipe == "mxfp8" ? "mxfp8" : "fp8_blockwise",
              "--fp8-param-gather");
    } else {
      out.left_out.push_back("--fp8-param-gather: weights have scales that no scenario knows");
    }
  }
}

bool is_asked(const Imported& out, const std::string& key) {
  return std::any_of(out.asked.begin(), out.asked.end(),
                     [&](const std::string& line) { return line.starts_with(key + ":"); });
}

// How many ranks train: slime says nodes, torchrun nodes and processes.
std::optional<std::int64_t> training_gpus(Args& args, Imported& out) {
  for (const auto& [nodes_flag, gpus_flag, other, otherwise] :
       {std::tuple("--actor-num-nodes", "--actor-num-gpus-per-node", "", kSlimeGpusPerNode),
        std::tuple("--nnodes", "--nproc-per-node", "--nproc-per-node", std::int64_t{0})}) {
    const auto nodes = args.integer(nodes_flag, "training.gpus");
    if (!nodes) continue;
    const auto given = args.integer(gpus_flag, "training.gpus");
    const std::int64_t per_node = given.value_or(otherwise);
    if (per_node == 0) continue;
    out.nodes = *nodes;
    out.gpus_per_node = per_node;
    out.gpus_per_node_source = given ? gpus_flag : fmt::format("slime's default of {}", gpus_flag);
    if (!given)
      out.assumptions.push_back(fmt::format("no {}: slime takes {}", gpus_flag, per_node));
    return *nodes * per_node;
  }
  if (const auto world = args.integer("--world-size", "training.gpus")) return world;
  if (!is_asked(out, "training.gpus"))
    out.asked.push_back("training.gpus: no flag says how many ranks train");
  return std::nullopt;
}

void read_rollout_gpus(Args& args, std::optional<std::int64_t> training, Imported& out) {
  const bool colocated = args.has("--colocate");
  const auto given = args.integer("--rollout-num-gpus", "generation.gpus");
  if (colocated && training) {
    if (given && *given != *training)
      args.fail("--rollout-num-gpus", fmt::format("{} with --colocate, but training has {} GPUs; "
                                                  "leave it out",
                                                  *given, *training));
    set_gpus(out, *training, *training, true, "--actor-num-nodes x --actor-num-gpus-per-node");
    return;
  }
  if (training)
    set_key(out.training, "gpus", fmt::format("{}", *training),
            "--actor-num-nodes x --actor-num-gpus-per-node");
  if (given) {
    set_key(out.generation, "gpus", fmt::format("{}", *given), "--rollout-num-gpus");
    if (out.nodes && out.gpus_per_node)
      out.nodes = *out.nodes + (*given + *out.gpus_per_node - 1) / *out.gpus_per_node;
  } else if (!is_asked(out, "generation.gpus")) {
    out.asked.push_back("generation.gpus: neither --colocate nor --rollout-num-gpus says it");
  }
}

// slime and miles generate with SGLang.
void read_rollout(Args& args, std::optional<std::int64_t> training, Imported& out) {
  ImportedPart& part = out.generation;
  set_key(part, "engine", "sglang", "slime and miles generate with SGLang");
  read_rollout_gpus(args, training, out);
  const auto per_engine = args.integer("--rollout-num-gpus-per-engine", "generation.tensor");
  std::int64_t pipeline = 1;
  for (const char* flag : {"--sglang-pipeline-parallel-size", "--sglang-pp-size"}) {
    if (args.has(flag)) pipeline = args.copy(flag, "generation", part, "pipeline");
  }
  if (per_engine.value_or(1) % pipeline != 0)
    args.fail("--rollout-num-gpus-per-engine",
              fmt::format("{} is no multiple of {} pipeline stages", *per_engine, pipeline));
  set_key(part, "tensor", fmt::format("{}", per_engine.value_or(1) / pipeline),
          per_engine ? "--rollout-num-gpus-per-engine" : "slime's default of one GPU per engine");
  for (const char* flag : {"--sglang-ep-size", "--sglang-expert-parallel-size", "--sglang-ep"}) {
    if (args.has(flag)) args.copy(flag, "generation", part, "expert");
  }
  const bool is_shared = args.has("--sglang-enable-dp-attention");
  for (const char* flag : {"--sglang-dp-size", "--sglang-data-parallel-size"}) {
    if (!args.has(flag)) continue;
    if (is_shared) {
      args.copy(flag, "generation", part, "attention_data");
    } else if (args.integer(flag, "generation.attention_data").value_or(1) > 1) {
      out.left_out.push_back(fmt::format(
          "{} without --sglang-enable-dp-attention: copies of engines, which gpus counts here",
          flag));
    }
  }
  if (args.has("--sglang-enable-dp-lm-head"))
    set_key(part, "dp_lm_head", "true", "--sglang-enable-dp-lm-head");
  if (args.has("--sglang-moe-dense-tp-size"))
    args.copy("--sglang-moe-dense-tp-size", "generation", part, "dense_tensor");
  for (const char* flag : {"--sglang-moe-a2a-backend", "--sglang-all2all-backend"}) {
    if (const auto word = args.text(flag, "generation.all2all_backend"))
      set_key(part, "all2all_backend", yaml_text(*word), flag);
  }
  if (args.has("--sglang-enable-deepep-moe"))
    set_key(part, "all2all_backend", "deepep", "--sglang-enable-deepep-moe");
  if (const auto copies =
          args.integer("--sglang-ep-num-redundant-experts", "generation.redundant_experts", 0))
    set_key(part, "redundant_experts", fmt::format("{}", *copies),
            "--sglang-ep-num-redundant-experts");
}

bool is_of_slime(const std::vector<ShellFlags::Flag>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const ShellFlags::Flag& flag) {
    return flag.name.starts_with("--rollout-num") || flag.name.starts_with("--actor-num") ||
           flag.name.starts_with("--sglang-");
  });
}

// Flags that sound as if they said who holds what, and that nobody asked for.
void report_unknown(const Args& args, Imported& out) {
  static constexpr std::string_view kHarmless[] = {"--sequence-parallel", "--fp8-format",
                                                   "--fp8-recipe", "--overlap", "--optimizer"};
  for (const ShellFlags::Flag& flag : args.all()) {
    const auto has = [&](std::string_view part) {
      return flag.name.find(part) != std::string::npos;
    };
    const bool is_harmless =
        std::any_of(std::begin(kHarmless), std::end(kHarmless),
                    [&](std::string_view start) { return flag.name.starts_with(start); });
    const bool matters = has("parallel") || has("pipeline") || has("-tp-size") || has("-ep-") ||
                         has("-dp-") || has("-pp-") || has("num-gpus") || has("fsdp") ||
                         has("quantization") || has("redundant") || has("fp8") || has("lora");
    const bool is_of_ray = flag.name == "--num-gpus";  // `ray start --num-gpus 8`
    if (flag.asked || is_harmless || is_of_ray || !matters) continue;
    out.left_out.push_back(fmt::format("{} {} (line {}): not understood", flag.name,
                                       flag.values.empty() ? "" : flag.values.front(), flag.line));
  }
}

// Where the numbers stand in a file that is not here, the name of the checkpoint may say it.
void name_by_checkpoint(Args& args, const MegatronNumbers& numbers, Imported& out) {
  const std::string name = args.last_part("--hf-checkpoint");
  if (name.empty() || numbers.layers || find_key(out.model, "name") != nullptr) return;
  if (const auto known = catalog_name_of(name))
    set_key(out.model, "name", *known, "--hf-checkpoint " + name);
}

MegatronNumbers read_numbers(Args& args) {
  MegatronNumbers numbers;
  const auto read = [&](const char* flag) { return args.integer(flag, kModel); };
  numbers.layers = read("--num-layers");
  numbers.hidden = read("--hidden-size");
  numbers.heads = read("--num-attention-heads");
  numbers.query_groups = read("--num-query-groups");
  numbers.vocab = read("--vocab-size");
  numbers.experts = read("--num-experts");
  numbers.expert_width = read("--moe-ffn-hidden-size");
  numbers.is_latent = args.has("--multi-latent-attention");
  for (const std::string_view flag : megatron_size_flags()) {
    if (const auto size = args.integer(std::string(flag).c_str(), kModel, 0))
      numbers.sizes.emplace(flag, *size);
  }
  for (const std::string_view flag : megatron_switch_flags()) {
    if (args.has(std::string(flag).c_str())) numbers.switches.emplace(flag);
  }
  // Megatron's experts are as wide as its other networks unless told otherwise.
  const auto width = numbers.sizes.find("--ffn-hidden-size");
  if (numbers.experts && !numbers.expert_width && width != numbers.sizes.end())
    numbers.expert_width = width->second;
  if (const auto freq = args.text("--moe-layer-freq", kModel)) {
    if (!numbers.layers) args.fail("--moe-layer-freq", "there is no --num-layers");
    try {
      numbers.expert_layers = read_moe_layer_freq(*freq, static_cast<int>(*numbers.layers));
    } catch (const Error& error) {
      args.fail("--moe-layer-freq", error.what());
    }
  }
  return numbers;
}

}  // namespace

Imported read_megatron_args(std::string_view text, const std::string& file,
                            const ImportAnswers& answers, const SourcedText& source) {
  Imported out;
  out.file = file;
  out.title = std::filesystem::path(file).stem().string();
  Args args(ShellFlags(shell_words(text, file, source)), file, out);
  const bool is_slime = is_of_slime(args.all());
  out.format = is_slime ? "slime or miles flags" : "Megatron flags";
  const MegatronNumbers numbers = read_numbers(args);
  const bool is_megatron = numbers.layers || args.has("--tensor-model-parallel-size") ||
                           args.has("--pipeline-model-parallel-size");
  if (!is_megatron && !is_slime)
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: no flags of Megatron in it, such as --tensor-model-parallel-size", file));
  name_megatron_model(numbers, answers, out);
  name_by_checkpoint(args, numbers, out);
  if (const auto mtp = args.integer("--mtp-num-layers", "model.mtp", 0)) {
    if (*mtp > 0) set_key(out.model, "mtp", "true", "--mtp-num-layers");
  }
  read_training(args, numbers, out);
  const std::optional<std::int64_t> gpus = training_gpus(args, out);
  if (is_slime) {
    read_rollout(args, gpus, out);
  } else {
    if (gpus) set_key(out.training, "gpus", fmt::format("{}", *gpus), "ranks of the launcher");
    out.asked.insert(out.asked.end(),
                     {"generation.engine: Megatron's flags are of training; vllm or sglang",
                      "generation.gpus: of generation", "generation.tensor: of generation"});
  }
  report_unknown(args, out);
  return out;
}

Imported load_megatron_args(const std::string& text, const std::string& file,
                            const ImportAnswers& answers) {
  std::vector<std::string> missing;
  Imported out = read_megatron_args(text, file, answers, sourced_beside(file, missing));
  for (const std::string& path : missing) {
    if (path.ends_with(".sh"))
      out.left_out.push_back(
          fmt::format("source {}: not found beside this script, so its flags are not read; put "
                      "its text in front of the script's",
                      shown(path, 200)));
  }
  return out;
}

}  // namespace refit
