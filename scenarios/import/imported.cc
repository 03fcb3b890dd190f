#include "scenarios/import/imported.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/text_file.h"
#include "base/units.h"
#include "base/yaml.h"
#include "models/import/model_file.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

constexpr std::size_t kMostClusterBytes = std::size_t{1} << 20;

bool is_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json") ||
         text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".safetensors");
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

ImportedPart* part_called(Imported& imported, std::string_view name) {
  if (name == "training") return &imported.training;
  if (name == "generation") return &imported.generation;
  if (name == "plan") return &imported.plan;
  if (name == "runtime") return &imported.runtime;
  if (name == "model") return &imported.model;
  return nullptr;
}

// What --set says goes before the file.
void apply_answers(Imported& imported, const ImportAnswers& answers) {
  for (const std::string& word : answers.set) {
    const std::size_t equals = word.find('=');
    const std::size_t dot = word.find('.');
    const bool has_both = equals != std::string::npos && dot != std::string::npos && dot < equals;
    ImportedPart* part = has_both ? part_called(imported, word.substr(0, dot)) : nullptr;
    if (part == nullptr)
      throw Error(ErrorCode::bad_input,
                  fmt::format("--set {}: expected KEY=VALUE with a key of a scenario, such as "
                              "generation.tensor=8; parts are model, training, generation, plan "
                              "and runtime",
                              word));
    set_key(*part, word.substr(dot + 1, equals - dot - 1), word.substr(equals + 1), "--set");
  }
  if (!answers.model) return;
  std::string model = *answers.model;
  if (is_path(model) && !answers.folder.empty() && !std::filesystem::path(model).is_absolute())
    model = std::filesystem::proximate(model, answers.folder).string();
  set_key(imported.model, "name", yaml_text(model), "--model");
}

// The lines of a text, each deeper by two spaces.
std::string indented(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) result += "  " + text.substr(at, end - at);
    result += "\n";
    at = end + 1;
  }
  return result;
}

// `cluster:` with the text of a cluster below it; the file may have that line itself.
std::string cluster_lines(const std::string& text, const std::string& name) {
  const YamlNode root = YamlNode::parse_text(text, name);
  if (root.is_map() && root.find("cluster")) return text.ends_with('\n') ? text : text + "\n";
  return "cluster:\n" + indented(text);
}

std::int64_t gpus_of(const Imported& imported) {
  const auto last_of = [](const ImportedPart& part, std::int64_t from) {
    return integer_key(part, "first_gpu").value_or(from) + integer_key(part, "gpus").value_or(0);
  };
  const std::int64_t training = last_of(imported.training, 0);
  return std::max(training, last_of(imported.generation, training));
}

// A machine of the catalog, as many nodes of it as the file or the person counts.
std::string catalog_cluster_lines(const Imported& imported, const ImportAnswers& answers) {
  const NodeGroupSpec group = catalog_cluster(*answers.cluster).group;
  const std::int64_t per_node = group.gpus_per_node;
  const std::int64_t gpus = gpus_of(imported);
  std::int64_t nodes = answers.nodes.value_or(0);
  if (!answers.nodes) nodes = (gpus + per_node - 1) / per_node;
  const bool several_nodes = imported.nodes.value_or(1) > 1;
  if (several_nodes && imported.gpus_per_node && *imported.gpus_per_node != per_node) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: nodes have {} GPUs ({}), but those of {} have {}; choose machines "
                            "of that size (refit clusters lists them)",
                            imported.file, *imported.gpus_per_node, imported.gpus_per_node_source,
                            *answers.cluster, per_node));
  }
  if (answers.nodes && nodes * per_node < gpus) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: needs {} GPUs, but --nodes {} of {} have {}; use {} nodes or more",
                            imported.file, gpus, nodes, *answers.cluster, nodes * per_node,
                            (gpus + per_node - 1) / per_node));
  }
  std::string text = fmt::format("cluster:\n  catalog: {}\n  nodes: {}{}\n", *answers.cluster,
                                 nodes, answers.nodes ? "" : "  # as many as the GPUs below need");
  // Segments align jobs to NVLink domains that span nodes; elsewhere there is nothing to align to.
  const bool spans_nodes = group.nvlink_domain_gpus > per_node;
  if (imported.segment_nodes && spans_nodes) {
    text += fmt::format("  nvlink_domain_gpus: {}  # segments of {} nodes\n",
                        *imported.segment_nodes * per_node, *imported.segment_nodes);
  }
  return text;
}

std::string cluster_part(const Imported& imported, const ImportAnswers& answers) {
  if (answers.cluster_yaml) return cluster_lines(*answers.cluster_yaml, "the cluster");
  if (!is_path(*answers.cluster)) return catalog_cluster_lines(imported, answers);
  if (answers.nodes)
    throw Error(ErrorCode::bad_input,
                fmt::format("--nodes {}: {} says itself how many nodes there are; change it there",
                            *answers.nodes, shown(*answers.cluster, 200)));
  return cluster_lines(read_text_file(*answers.cluster, kMostClusterBytes), *answers.cluster);
}

std::string key_lines(const std::string& name, const ImportedPart& part) {
  if (part.empty()) return {};
  std::string text = name + ":\n";
  for (const ImportedKey& key : part)
    text += fmt::format("  {}: {}{}\n", key.key, key.value,
                        key.source.empty() ? "" : "  # " + key.source);
  return text;
}

std::string model_part(const ImportedPart& part) {
  if (part.size() > 1) return key_lines("model", part);
  const ImportedKey& name = part.front();
  return fmt::format("model: {}{}\n", name.value, name.source.empty() ? "" : "  # " + name.source);
}

// All at once, so that one more call is enough.
void require_answers(const Imported& imported, const ImportAnswers& answers) {
  std::vector<std::string> asked;
  if (find_key(imported.model, "name") == nullptr) {
    asked.push_back("model: say --model NAME (refit models lists them) or --model config.json");
  }
  if (!answers.cluster && !answers.cluster_yaml)
    asked.push_back("cluster: say --cluster NAME (refit clusters lists them) or --cluster x.yaml");
  for (const std::string& line : imported.asked) {
    const std::string key = line.substr(0, line.find(':'));
    if (!answered(answers, key)) asked.push_back(line + fmt::format("; say --set {}=...", key));
  }
  if (asked.empty()) return;
  throw Error(ErrorCode::bad_input,
              fmt::format("{}: the {} {} not say, and nobody should guess:\n  {}", imported.file,
                          imported.format, imported.format.ends_with('s') ? "do" : "does",
                          fmt::join(asked, "\n  ")));
}

// On one line, without what YAML refuses even in comments.
std::string printable(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return shown(text, text.size());
}

std::string comment_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "#   " + printable(line) + "\n";
  return text;
}

// Names, without what follows the size, whose models have the shapes of one in the catalog, by
// their config.json.
struct SameShapes {
  std::string_view name;
  std::string_view catalog;
};
constexpr SameShapes kSameShapes[] = {{"deepseek-r1-distill-llama-8b", "llama-3.1-8b"},
                                      {"deepseek-r1-distill-llama-70b", "llama-3.1-70b"},
                                      {"deepseek-r1-distill-qwen-7b", "qwen2.5-7b"},
                                      {"deepseek-r1-distill-qwen-14b", "qwen2.5-14b"},
                                      {"deepseek-r1-distill-qwen-32b", "qwen2.5-32b"},
                                      {"deepseek-v3.1", "deepseek-v3"},
                                      {"llama-3-8b", "llama-3.1-8b"},
                                      {"llama-3-70b", "llama-3.1-70b"},
                                      {"llama-3.3-70b", "llama-3.1-70b"},
                                      {"minimax-m2.5", "minimax-m2"},
                                      {"minimax-m2.7", "minimax-m2"},
                                      {"qwen2-0.5b", "qwen2.5-0.5b"},
                                      {"qwen2-1.5b", "qwen2.5-1.5b"},
                                      {"qwen2-7b", "qwen2.5-7b"},
                                      {"qwen2-72b", "qwen2.5-72b"},
                                      {"qwen2.5-math-1.5b", "qwen2.5-1.5b"},
                                      {"qwen2.5-math-7b", "qwen2.5-7b"},
                                      {"qwen2.5-math-72b", "qwen2.5-72b"},
                                      {"qwen2.5-coder-7b", "qwen2.5-7b"},
                                      {"qwen2.5-coder-14b", "qwen2.5-14b"},
                                      {"qwen2.5-coder-32b", "qwen2.5-32b"},
                                      {"qwen3.6-27b", "qwen3.5-27b"},
                                      {"qwen3.6-35b-a3b", "qwen3.5-35b-a3b"}};

std::string with_its_shapes(const std::string& name) {
  for (const SameShapes& same : kSameShapes) {
    if (same.name == name) return std::string(same.catalog);
  }
  return name;
}

}  // namespace

void set_key(ImportedPart& part, const std::string& key, const std::string& value,
             const std::string& source) {
  const std::string line = printable(source);
  for (ImportedKey& there : part) {
    if (there.key == key) {
      there = {key, value, line};
      return;
    }
  }
  part.push_back({key, value, line});
}

const ImportedKey* find_key(const ImportedPart& part, const std::string& key) {
  const auto found =
      std::find_if(part.begin(), part.end(), [&](const ImportedKey& k) { return k.key == key; });
  return found == part.end() ? nullptr : &*found;
}

std::optional<std::int64_t> integer_key(const ImportedPart& part, const std::string& key) {
  const ImportedKey* found = find_key(part, key);
  if (found == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const char* end = found->value.data() + found->value.size();
  const auto [stop, error] = std::from_chars(found->value.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::string> answered(const ImportAnswers& answers, const std::string& key) {
  std::optional<std::string> value;
  for (const std::string& word : answers.set) {
    if (word.starts_with(key + "=")) value = word.substr(key.size() + 1);
  }
  return value;
}

std::optional<std::string> catalog_name_of(const std::string& hub_name) {
  std::string name = lower(hub_name.substr(hub_name.rfind('/') + 1));
  if (name.starts_with("nvidia-")) name = name.substr(7);
  if (name.starts_with("meta-")) name = name.substr(5);
  // What follows the size in names of fine-tuned and re-packed models; shapes are the same.
  static constexpr std::string_view kSuffixes[] = {"-instruct", "-base", "-bf16",     "-chat",
                                                   "-it",       "-fp8",  "-thinking", "-hf",
                                                   "-2507",     "-0528", "-0324"};
  for (bool is_changed = true; is_changed;) {
    const std::vector<std::string> known = catalog_models();
    const std::string same = with_its_shapes(name);
    if (std::find(known.begin(), known.end(), same) != known.end()) return same;
    is_changed = false;
    for (const std::string_view suffix : kSuffixes) {
      if (!name.ends_with(suffix)) continue;
      name.resize(name.size() - suffix.size());
      is_changed = true;
      break;
    }
  }
  return std::nullopt;
}

std::optional<ModelSpec> model_of(const Imported& imported, const ImportAnswers& answers) {
  std::string name;
  if (const ImportedKey* key = find_key(imported.model, "name")) name = key->value;
  if (const auto set = answered(answers, "model.name")) name = *set;
  if (answers.model) name = *answers.model;
  if (name.empty()) return std::nullopt;
  return is_path(name) ? load_model(name) : catalog_model(name);
}

void set_gpus(Imported& imported, std::int64_t training, std::int64_t generation, bool colocated,
              const std::string& source) {
  set_key(imported.training, "gpus", fmt::format("{}", training), source);
  set_key(imported.generation, "gpus", fmt::format("{}", generation), source);
  if (colocated) set_key(imported.generation, "first_gpu", "0", "on the GPUs of training");
}

std::string scenario_text(Imported imported, const ImportAnswers& answers) {
  apply_answers(imported, answers);
  require_answers(imported, answers);
  std::string text =
      fmt::format("# Made from the {} {}.\n", imported.format, printable(imported.file));
  if (!imported.left_out.empty())
    text += "# Not in this scenario, though the file says it:\n" + comment_lines(imported.left_out);
  text += fmt::format("scenario: {}\n", yaml_text(imported.title));
  if (!imported.assumptions.empty()) {
    text += "assumptions:\n";
    for (const std::string& line : imported.assumptions)
      text += fmt::format("  - {}\n", yaml_text(line));
  }
  text += cluster_part(imported, answers);
  text += model_part(imported.model);
  for (const ImportedKey& key : imported.scenario)
    text += fmt::format("{}: {}  # {}\n", key.key, key.value, key.source);
  text += key_lines("training", imported.training);
  text += key_lines("generation", imported.generation);
  text += key_lines("plan", imported.plan);
  text += key_lines("runtime", imported.runtime);
  return text;
}

std::string yaml_text(const std::string& text) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
           c == '/' || c == ' ';
  };
  const bool all_plain = std::all_of(text.begin(), text.end(), is_plain);
  const bool starts_well = !text.empty() && std::isalpha(static_cast<unsigned char>(text.front()));
  if (all_plain && starts_well && text.back() != ' ') return text;
  std::string quoted = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace refit
