#include "scenarios/import/areal.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "scenarios/import/hydra_config.h"
#include "scenarios/import/shell_words.h"

namespace refit {
namespace {

constexpr std::int64_t kMost = 1'000'000;

// Degrees by their letter: data, pipeline, tensor (m in old strings), context (s too), expert.
struct Degrees {
  std::map<char, std::int64_t> by_letter;

  std::int64_t of(char letter) const {
    const auto found = by_letter.find(letter);
    return found == by_letter.end() ? 1 : found->second;
  }
  // Experts are dealt out among ranks that there are anyway. Beyond what a cluster can have all
  // products are alike, since those of degrees that each could be need not fit 64 bits.
  std::int64_t ranks(std::string_view letters = "dptc") const {
    std::int64_t product = 1;
    for (const char letter : letters) product = std::min(product * of(letter), kMost + 1);
    return product;
  }
};

class Parser {
 public:
  Parser(std::string text, std::string where) : text_(std::move(text)), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: {}, in '{}' behind '{}'; expected something like "
                            "sglang:d4p1t4+megatron:(attn:d1p4t2c2|ffn:d1p4t2e2)",
                            where_, message, shown(text_, 200), shown(text_.substr(0, at_), 200)));
  }

  bool done() const { return at_ == text_.size(); }

  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void require(char c) {
    if (!take(c)) fail(fmt::format("'{}' is missing", c));
  }

  // "sglang" in front of ':' or '.', with a name in brackets or without; nothing if degrees begin
  // at once.
  std::string backend() {
    std::size_t end = text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at_);
    if (end == std::string::npos) return {};
    std::string name = text_.substr(at_, end - at_);
    if (text_[end] == '[') {
      const std::size_t close = text_.find(']', end);
      if (close == std::string::npos) fail("']' is missing");
      end = close + 1;
    } else if (name.empty()) {
      return {};
    }
    if (end >= text_.size() || (text_[end] != ':' && text_[end] != '.')) return {};
    at_ = end + 1;
    return name;
  }

  std::string rest() const { return text_.substr(at_); }

  Degrees degrees() {
    Degrees degrees;
    while (!done() && std::isalpha(static_cast<unsigned char>(text_[at_]))) {
      char letter = text_[at_++];
      if (letter == 'm') letter = 't';
      if (letter == 's') letter = 'c';
      if (std::string("dptce").find(letter) == std::string::npos)
        fail(fmt::format("unknown degree '{}'; known are d, p, t, c, e",
                         shown(text_.substr(at_ - 1, 1))));
      std::int64_t size = 0;
      const auto [stop, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 1 || size > kMost)
        fail(fmt::format("a number from 1 to {} is missing", kMost));
      at_ = static_cast<std::size_t>(stop - text_.data());
      if (!degrees.by_letter.emplace(letter, size).second)
        fail(fmt::format("'{}' stands twice", letter));
    }
    if (degrees.by_letter.empty()) fail("degrees are missing");
    return degrees;
  }

 private:
  std::string text_, where_;
  std::size_t at_ = 0;
};

void copy(ImportedPart& part, const char* key, const Degrees& degrees, char letter) {
  if (degrees.of(letter) > 1)
    set_key(part, key, fmt::format("{}", degrees.of(letter)), std::string(1, letter));
}

void read_generation(Parser& parser, Imported& out, std::int64_t& gpus) {
  const std::string backend = parser.backend();
  if (backend != "sglang" && backend != "vllm")
    parser.fail(backend.empty() ? "the engine of generation is missing"
                                : fmt::format("no layout is known of '{}'", shown(backend)));
  const Degrees degrees = parser.degrees();
  ImportedPart& part = out.generation;
  set_key(part, "engine", backend, backend);
  copy(part, "tensor", degrees, 't');
  copy(part, "pipeline", degrees, 'p');
  if (degrees.of('c') > 1) parser.fail("context parallelism is of training");
  if (degrees.of('e') > 1 && backend == "sglang") copy(part, "expert", degrees, 'e');
  if (degrees.of('e') > 1 && backend == "vllm") {
    if (degrees.of('e') != degrees.of('t'))
      parser.fail("vLLM divides experts among all ranks of an engine: e must be t");
    set_key(part, "expert_parallel", "true", "e");
  }
  set_key(part, "engines", fmt::format("{}", degrees.of('d')), "d");
  gpus = degrees.ranks();
}

// attn:…|ffn:… with the same ranks and stages.
void read_hybrid(Parser& parser, Degrees& dense, Degrees& experts) {
  for (int i = 0; i < 2; ++i) {
    const std::string name = parser.backend();
    if (name != "attn" && name != "ffn") parser.fail("attn: or ffn: is missing");
    (name == "attn" ? dense : experts) = parser.degrees();
    if (i == 0) parser.require('|');
  }
  parser.require(')');
  if (dense.by_letter.empty() || experts.by_letter.empty())
    parser.fail("one of attn: and ffn: is there twice");
  const std::int64_t expert_ranks = experts.ranks("dptec");
  if (dense.of('p') != experts.of('p')) parser.fail("p of attn and of ffn differ");
  if (dense.of('e') != 1) parser.fail("e is of ffn");
  if (dense.ranks() != expert_ranks)
    parser.fail(fmt::format("attn has {} ranks, ffn {}", dense.ranks(), expert_ranks));
}

void read_training(Parser& parser, Imported& out, std::int64_t& gpus) {
  std::string backend = parser.backend();
  Degrees dense, experts;
  const bool is_hybrid = parser.take('(');
  if (is_hybrid) {
    read_hybrid(parser, dense, experts);
  } else {
    dense = experts = parser.degrees();
  }
  if (backend.empty()) {
    backend = dense.of('p') > 1 || experts.of('e') > 1 || is_hybrid ? "megatron" : "fsdp";
    out.assumptions.push_back(
        fmt::format("no engine of training is named: AReaL takes {} {} pipeline or expert degrees",
                    backend, backend == "fsdp" ? "without" : "with"));
  }
  ImportedPart& part = out.training;
  gpus = dense.ranks();
  if (backend == "megatron") {
    set_key(part, "engine", "megatron", "megatron");
    copy(part, "tensor", dense, 't');
    copy(part, "pipeline", dense, 'p');
    copy(part, "context", dense, 'c');
    copy(part, "expert", experts, 'e');
    if (is_hybrid) {
      set_key(part, "expert_tensor", fmt::format("{}", experts.of('t')), "t of ffn");
    } else if (experts.of('e') > 1) {
      set_key(part, "expert_tensor", "1", "e without ffn: experts are whole");
    }
  } else if (backend == "fsdp" || backend == "archon") {
    if (dense.of('p') > 1 && backend == "fsdp") parser.fail("FSDP has no pipeline");
    set_key(part, "engine", "fsdp", backend);
    copy(part, "tensor", dense, 't');
    copy(part, "pipeline", dense, 'p');
    copy(part, "context", dense, 'c');
    copy(part, "expert", experts, 'e');
  } else {
    parser.fail(fmt::format("no layout is known of '{}'; known are fsdp, archon, megatron",
                            shown(backend)));
  }
}

// Letters with a number each, as in d4p1t2; or a bracket of them.
bool looks_like_allocation(std::string_view word) {
  const std::size_t plus = word.find_first_of("+|");
  if (plus == std::string_view::npos) return false;
  const std::string_view left = word.substr(0, plus);
  for (std::string_view engine : {"sglang", "vllm"}) {
    if (left.starts_with(engine) && left.size() > engine.size() &&
        std::string_view(":.[").find(left[engine.size()]) != std::string_view::npos)
      return true;
  }
  return false;
}

// A training's YAML in which each part says its own allocation: `backend:` of rollout and actor.
struct Parts {
  std::string allocation;
  std::optional<HydraConfig> config;
};

Parts parts_of(std::string_view text, const std::string& file) {
  Parts parts;
  if (text.find("backend:") == std::string_view::npos) return parts;
  HydraConfig config = HydraConfig::parse(std::string(text), file);
  const auto rollout = config.find("rollout.backend");
  const auto actor = config.find("actor.backend");
  if (!rollout && !actor) return parts;
  if (!rollout || !actor)
    (rollout ? rollout : actor)
        ->fail(
            fmt::format("there is no {}.backend, so nothing is moved from training to generation",
                        rollout ? "actor" : "rollout"));
  const auto strategy = config.find("rollout.scheduling_strategy.type");
  const bool shares = strategy && strategy->text == "colocation";
  parts.allocation = fmt::format("{}{}{}", rollout->text, shares ? '|' : '+', actor->text);
  parts.config = std::move(config);
  return parts;
}

// What the YAML says besides the allocation.
void read_rest(HydraConfig& config, Imported& out) {
  out.title = std::filesystem::path(out.file).stem().string();
  if (const auto path = config.find("actor.path")) {
    if (const auto known = catalog_name_of(path->text))
      set_key(out.model, "name", *known, fmt::format("actor.path: {}", path->text));
    else
      out.left_out.push_back(
          fmt::format("actor.path: '{}' is no model of the catalog; its config.json will do",
                      shown(path->text, 200)));
  }
  if (const auto nodes = config.find("cluster.n_nodes")) out.nodes = nodes->integer(1, kMost);
  if (const auto gpus = config.find("cluster.n_gpus_per_node")) {
    out.gpus_per_node = gpus->integer(1, kMost);
    out.gpus_per_node_source = gpus->path;
  }
  if (config.flag("actor.use_lora", false))
    out.left_out.push_back("actor.use_lora is true; the whole model is taken to be sent");
  const auto type = config.find("actor.dtype");
  if (type && type->text == "float16") set_key(out.training, "precision", "fp16", type->path);
  if (type && type->text == "float32") set_key(out.training, "precision", "fp32", type->path);
}

}  // namespace

std::vector<std::string> areal_allocations(std::string_view text, const std::string& file) {
  std::vector<std::string> found;
  for (const ShellWord& word : shell_words(text, file)) {
    std::string_view candidate = word.text;
    for (const std::string_view key :
         {"allocation_mode=", "+allocation_mode=", "allocation_mode:"}) {
      if (candidate.starts_with(key)) candidate.remove_prefix(key.size());
    }
    if (looks_like_allocation(candidate)) found.emplace_back(candidate);
  }
  return found;
}

Imported read_areal(std::string_view text, const std::string& file, int entry) {
  std::vector<std::string> all = areal_allocations(text, file);
  Parts parts;
  if (all.empty()) parts = parts_of(text, file);
  if (parts.config) all.push_back(parts.allocation);
  if (all.empty())
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no allocation string in it, such as "
                            "sglang:d4p1t4+megatron:d2p2t4, and no backend of rollout and actor",
                            file));
  if (entry < 0 || entry > static_cast<int>(all.size()) || (entry == 0 && all.size() > 1)) {
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 20); ++i)
      list += fmt::format("\n  --entry {}  {}", i + 1, all[i]);
    throw Error(ErrorCode::bad_input, fmt::format("{}: has {} allocation strings; choose one:{}",
                                                  file, all.size(), list));
  }
  const std::string& allocation = all[static_cast<std::size_t>(std::max(entry, 1) - 1)];
  Imported out;
  out.file = file;
  out.format = "AReaL allocation";
  out.title = allocation;
  Parser parser(allocation, file);
  std::int64_t generation = 0, training = 0;
  read_generation(parser, out, generation);
  // '|' shares the GPUs, '+' gives each side its own.
  const bool colocated = parser.take('|');
  if (!colocated) parser.require('+');
  read_training(parser, out, training);
  // Critics and the like hold no weights that generation waits for.
  if (!parser.done() && parser.rest().find_first_of("+|") == 0) {
    out.left_out.push_back(fmt::format("'{}' of the allocation: neither generation nor the actor",
                                       shown(parser.rest(), 200)));
  } else if (!parser.done()) {
    parser.fail("more text than an allocation has");
  }
  if (training > kMost || generation > kMost) parser.fail("more ranks than a cluster can have");
  if (colocated && training != generation)
    parser.fail(fmt::format("'|' shares GPUs, but generation has {} and training {}", generation,
                            training));
  set_gpus(out, training, generation, colocated, "product of the degrees");
  if (parts.config) read_rest(*parts.config, out);
  return out;
}

}  // namespace refit
