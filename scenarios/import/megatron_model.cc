#include "scenarios/import/megatron_model.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "models/import/hf_config.h"
#include "scenarios/import/megatron_args.h"

namespace refit {
namespace {

std::vector<bool> expert_layers_of(const ModelSpec& model) {
  std::vector<bool> has(static_cast<std::size_t>(model.layers), false);
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.role == Role::routed_expert && tensor.layer && !tensor.mtp)
      has[static_cast<std::size_t>(*tensor.layer)] = true;
  }
  return has;
}

std::int64_t expert_width_of(const ModelSpec& model) {
  for (const TensorSpec& tensor : model.tensors) {
    if (tensor.role == Role::routed_expert && tensor.part == "down") return tensor.dims.back().size;
  }
  return 0;
}

// The flag whose number the model does not have, with both; empty if it has all.
std::string difference(const MegatronNumbers& numbers, const ModelSpec& model) {
  const auto differs = [](std::optional<std::int64_t> said, std::int64_t has) {
    return said && *said != has;
  };
  const auto words = [](const char* flag, std::optional<std::int64_t> said, std::int64_t has) {
    return fmt::format("{} is {}, but the model has {}", flag, *said, has);
  };
  if (differs(numbers.layers, model.layers))
    return words("--num-layers", numbers.layers, model.layers);
  if (differs(numbers.hidden, model.hidden))
    return words("--hidden-size", numbers.hidden, model.hidden);
  // Some write the vocabulary as it is padded.
  if (numbers.vocab && (*numbers.vocab < model.vocab || *numbers.vocab > model.vocab + 65'536))
    return words("--vocab-size", numbers.vocab, model.vocab);
  if (numbers.experts.value_or(model.experts) != model.experts)
    return words("--num-experts", numbers.experts, model.experts);
  const std::int64_t width = expert_width_of(model);
  if (width > 0 && differs(numbers.expert_width, width))
    return words("--moe-ffn-hidden-size", numbers.expert_width, width);
  if (!numbers.is_latent && model.heads.kv_heads > 0) {
    if (differs(numbers.heads, model.heads.q_heads))
      return words("--num-attention-heads", numbers.heads, model.heads.q_heads);
    if (differs(numbers.query_groups, model.heads.kv_heads))
      return words("--num-query-groups", numbers.query_groups, model.heads.kv_heads);
  }
  if (!numbers.expert_layers.empty() && expert_layers_of(model) != numbers.expert_layers) {
    const auto count = [](const std::vector<bool>& layers) {
      return std::count(layers.begin(), layers.end(), true);
    };
    return fmt::format(
        "--moe-layer-freq has experts in {} layers, but the model in {}, or in "
        "others",
        count(numbers.expert_layers), count(expert_layers_of(model)));
  }
  return size_difference(numbers, model);
}

std::int64_t integer_at(const std::string& text, std::size_t& at) {
  std::int64_t value = -1;
  const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc()) value = -1;
  at = static_cast<std::size_t>(stop - text.data());
  return value;
}

[[noreturn]] void fail_freq(const std::string& text) {
  throw Error(
      ErrorCode::bad_input,
      fmt::format("expected a number, or lists such as [0]*3+[1]*58, got '{}'", shown(text)));
}

}  // namespace

std::vector<bool> read_moe_layer_freq(const std::string& original, int layers) {
  std::string text;
  for (const char c : original) {
    if (c != ' ' && c != '(' && c != ')' && c != '\'' && c != '"') text += c;
  }
  std::vector<bool> pattern;
  std::size_t at = 0;
  if (text.find('[') == std::string::npos) {
    const std::int64_t every = integer_at(text, at);
    if (every < 1 || at != text.size()) fail_freq(original);
    for (int i = 0; i < layers; ++i) pattern.push_back(i % every == 0);
    return pattern;
  }
  while (at < text.size()) {
    if (text[at] != '[') fail_freq(original);
    std::vector<bool> list;
    for (++at; at < text.size() && text[at] != ']';) {
      const std::int64_t bit = integer_at(text, at);
      if (bit != 0 && bit != 1) fail_freq(original);
      list.push_back(bit == 1);
      if (at < text.size() && text[at] == ',') ++at;
    }
    if (at >= text.size()) fail_freq(original);
    ++at;
    std::int64_t times = 1;
    if (at < text.size() && text[at] == '*') times = integer_at(text, ++at);
    if (times < 0) fail_freq(original);
    const auto length = static_cast<std::int64_t>(pattern.size());
    const auto more = static_cast<std::int64_t>(list.size());
    if (more > 0 && times > (layers - length) / more) {
      throw Error(ErrorCode::bad_input, fmt::format("has more entries than the {} layers: '{}'",
                                                    layers, shown(original)));
    }
    for (std::int64_t i = 0; more > 0 && i < times; ++i)
      pattern.insert(pattern.end(), list.begin(), list.end());
    if (at == text.size()) break;
    if (text[at] != '+' || ++at == text.size()) fail_freq(original);
  }
  if (pattern.size() != static_cast<std::size_t>(layers)) {
    throw Error(ErrorCode::bad_input, fmt::format("has {} entries, but there are {} layers: '{}'",
                                                  pattern.size(), layers, shown(original)));
  }
  return pattern;
}

void name_megatron_model(const MegatronNumbers& numbers, const ImportAnswers& answers,
                         Imported& out) {
  if (const auto model = model_of(out, answers)) {
    const std::string wrong = difference(numbers, *model);
    if (!wrong.empty())
      throw Error(ErrorCode::bad_input, fmt::format("{}: {} is not the model of these flags: {}",
                                                    out.file, model->name, wrong));
    return;
  }
  if (!numbers.layers || !numbers.hidden) return;
  std::vector<std::string> fitting;
  for (const std::string& name : catalog_models()) {
    if (difference(numbers, catalog_model(name)).empty()) fitting.push_back(name);
  }
  if (fitting.empty()) return;
  const std::string first = fitting.front();
  fitting.erase(fitting.begin());
  set_key(out.model, "name", first,
          fitting.empty() ? "the model of the catalog with these numbers"
                          : fmt::format("has these numbers, as {} has", fmt::join(fitting, ", ")));
}

}  // namespace refit
