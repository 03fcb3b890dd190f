#include "scenarios/import/megatron_args.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "models/import/hf_config.h"
#include "scenarios/import/megatron_flags.h"
#include "scenarios/import/megatron_model.h"
#include "scenarios/import/megatron_training.h"
#include "scenarios/import/shell_words.h"
#include "scenarios/import/slime_rollout.h"
#include "scenarios/import/sourced_script.h"

namespace refit {
namespace {

bool is_of_slime(const std::vector<ShellFlags::Flag>& flags) {
  return std::any_of(flags.begin(), flags.end(), [](const ShellFlags::Flag& flag) {
    return flag.name.starts_with("--rollout-num") || flag.name.starts_with("--actor-num") ||
           flag.name.starts_with("--sglang-");
  });
}

// Flags that sound as if they said who holds what, and that nobody asked for.
void report_unknown(const MegatronFlags& args, Imported& out) {
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
void name_by_checkpoint(MegatronFlags& args, const MegatronNumbers& numbers, Imported& out) {
  const std::string name = args.last_part("--hf-checkpoint");
  if (name.empty() || numbers.layers || find_key(out.model, "name") != nullptr) return;
  if (const auto known = catalog_name_of(name))
    set_key(out.model, "name", *known, "--hf-checkpoint " + name);
}

MegatronNumbers read_numbers(MegatronFlags& args) {
  MegatronNumbers numbers;
  const auto read = [&](const char* flag) { return args.integer(flag, kMegatronModelKey); };
  numbers.layers = read("--num-layers");
  numbers.hidden = read("--hidden-size");
  numbers.heads = read("--num-attention-heads");
  numbers.query_groups = read("--num-query-groups");
  numbers.vocab = read("--vocab-size");
  numbers.experts = read("--num-experts");
  numbers.expert_width = read("--moe-ffn-hidden-size");
  numbers.is_latent = args.has("--multi-latent-attention");
  for (const std::string_view flag : megatron_size_flags()) {
    if (const auto size = args.integer(std::string(flag).c_str(), kMegatronModelKey, 0))
      numbers.sizes.emplace(flag, *size);
  }
  for (const std::string_view flag : megatron_switch_flags()) {
    if (args.has(std::string(flag).c_str())) numbers.switches.emplace(flag);
  }
  // Megatron's experts are as wide as its other networks unless told otherwise.
  const auto width = numbers.sizes.find("--ffn-hidden-size");
  if (numbers.experts && !numbers.expert_width && width != numbers.sizes.end())
    numbers.expert_width = width->second;
  if (const auto freq = args.text("--moe-layer-freq", kMegatronModelKey)) {
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
  MegatronFlags args(ShellFlags(shell_words(text, file, source)), file, out);
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
  read_megatron_training(args, numbers, out);
  const std::optional<std::int64_t> gpus = launched_gpus(args, out);
  if (is_slime) {
    read_slime_rollout(args, gpus, out);
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
