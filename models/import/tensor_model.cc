#include "models/import/tensor_model.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "models/import/hf_json.h"
#include "models/import/hf_keys.h"
#include "models/import/hf_tensor_list.h"

namespace refit {
namespace {

constexpr std::int64_t kMostDim = std::int64_t{1} << 40;
constexpr int kMostNumberedLayers = 100'000;

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, message));
}

// "experts.17.": the number taken out, and what it was.
struct Numbered {
  std::string name;  // "model.layers.3.mlp.experts.{expert}.up_proj.weight"
  std::optional<int> layer, expert;
};

std::optional<int> number_behind(const std::string& name, std::string_view word, std::size_t& begin,
                                 std::size_t& end) {
  const std::size_t at = name.find(word);
  if (at == std::string::npos) return std::nullopt;
  begin = at + word.size();
  end = name.find('.', begin);
  if (end == std::string::npos || end == begin) return std::nullopt;
  int value = -1;
  const auto [stop, error] = std::from_chars(name.data() + begin, name.data() + end, value);
  if (error != std::errc() || stop != name.data() + end || value < 0) return std::nullopt;
  return value;
}

Numbered numbered(const std::string& name) {
  Numbered result{name, {}, {}};
  std::size_t begin = 0, end = 0;
  result.layer = number_behind(name, "layers.", begin, end);
  result.expert = number_behind(name, ".experts.", begin, end);
  if (result.expert) result.name = name.substr(0, begin) + "{expert}" + name.substr(end);
  return result;
}

// Name without ".weight", ".bias" and the like.
struct Stem {
  std::string path;  // "model.layers.3.mlp.experts.{expert}.up_proj"
  std::string last;  // "up_proj"
  bool bias = false, scales = false;
};

Stem stem_of(const std::string& name) {
  Stem stem{name, {}};
  for (const std::string_view suffix : {".weight_scale_inv", ".weight_scale", ".scale_inv"}) {
    if (!stem.scales && stem.path.ends_with(suffix)) {
      stem.path.resize(stem.path.size() - suffix.size());
      stem.scales = true;
    }
  }
  if (stem.path.ends_with(".weight")) stem.path.resize(stem.path.size() - 7);
  if (stem.path.ends_with(".bias")) {
    stem.path.resize(stem.path.size() - 5);
    stem.bias = true;
  }
  stem.last = stem.path.substr(stem.path.rfind('.') + 1);
  return stem;
}

// What a matrix is for: rows, then columns.
struct Rule {
  std::string_view name;
  std::string_view part;
  Axis rows, columns;
};

constexpr Rule kAttention[] = {{"q_proj", "q", Axis::q_head, Axis::none},
                               {"k_proj", "k", Axis::kv_head, Axis::none},
                               {"v_proj", "v", Axis::kv_head, Axis::none},
                               {"o_proj", "o", Axis::none, Axis::q_head},
                               {"q_norm", "q_norm", Axis::none, Axis::none},
                               {"k_norm", "k_norm", Axis::none, Axis::none},
                               {"q_a_proj", "q_a", Axis::none, Axis::none},
                               {"q_a_layernorm", "q_a_norm", Axis::none, Axis::none},
                               {"q_b_proj", "q_b", Axis::q_head, Axis::none},
                               {"kv_a_proj_with_mqa", "kv_a", Axis::none, Axis::none},
                               {"kv_a_layernorm", "kv_a_norm", Axis::none, Axis::none},
                               {"kv_b_proj", "kv_b", Axis::q_head, Axis::none}};
constexpr Rule kFeedForward[] = {
    {"gate_proj", "gate", Axis::ffn, Axis::none}, {"up_proj", "up", Axis::ffn, Axis::none},
    {"down_proj", "down", Axis::none, Axis::ffn}, {"w1", "gate", Axis::ffn, Axis::none},
    {"w3", "up", Axis::ffn, Axis::none},          {"w2", "down", Axis::none, Axis::ffn}};

struct Place {
  Role role;
  std::string part;
  Axis rows = Axis::none, columns = Axis::none;
};

template <std::size_t N>
std::optional<Place> by_rule(const Rule (&rules)[N], const std::string& last, Role role) {
  for (const Rule& rule : rules) {
    if (rule.name == last) return Place{role, std::string(rule.part), rule.rows, rule.columns};
  }
  return std::nullopt;
}

std::optional<Place> place_of(const Stem& stem) {
  const auto has = [&](std::string_view part) { return stem.path.find(part) != std::string::npos; };
  if (stem.last == "embed_tokens") return Place{Role::embedding, "", Axis::vocab, Axis::none};
  if (stem.last == "lm_head") return Place{Role::lm_head, "", Axis::vocab, Axis::none};
  if (has("self_attn.")) return by_rule(kAttention, stem.last, Role::attention);
  if (has(".experts.{expert}.")) return by_rule(kFeedForward, stem.last, Role::routed_expert);
  if (stem.last == "shared_expert_gate") return Place{Role::router, "shared_gate"};
  if (has(".shared_expert.") || has(".shared_experts."))
    return by_rule(kFeedForward, stem.last, Role::shared_expert);
  if (has(".mlp.") || has("block_sparse_moe.")) {
    if (stem.last == "gate" || stem.last == "router") return Place{Role::router, "router"};
    if (stem.last == "e_score_correction_bias") return Place{Role::router, "router_bias"};
    return by_rule(kFeedForward, stem.last, Role::dense_ffn);
  }
  if (stem.last.ends_with("norm") || stem.last.ends_with("layernorm")) return Place{Role::norm, ""};
  return std::nullopt;
}

// Experts of one projection, gathered under one name.
struct Group {
  std::size_t first = 0;  // in the order of the list
  Numbered numbered;
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::bf16;
  std::set<int> experts;
};

std::vector<Group> grouped(const std::vector<ListedTensor>& tensors, const std::string& where) {
  std::map<std::string, Group> by_name;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ListedTensor& tensor = tensors[i];
    if (tensor.shape.empty() || tensor.shape.size() > 16)
      fail(where, fmt::format("{}: has {} dims; 1 to 16 can be planned", shown(tensor.name, 120),
                              tensor.shape.size()));
    for (const std::int64_t size : tensor.shape) {
      if (size < 1 || size > kMostDim)
        fail(where, fmt::format("{}: a dim of {}; from 1 to 2^40 can be planned",
                                shown(tensor.name, 120), size));
    }
    Numbered n = numbered(tensor.name);
    const auto [found, is_new] =
        by_name.try_emplace(n.name, Group{i, n, tensor.shape, tensor.dtype, {}});
    Group& group = found->second;
    if (!is_new && (!n.expert || group.shape != tensor.shape || group.dtype != tensor.dtype))
      fail(where, fmt::format("{}: stands twice, or has another shape than other experts",
                              shown(tensor.name, 120)));
    if (n.expert && !group.experts.insert(*n.expert).second)
      fail(where, fmt::format("{}: stands twice", shown(tensor.name, 120)));
  }
  std::vector<Group> groups;
  for (auto& [name, group] : by_name) {
    const auto count = static_cast<int>(group.experts.size());
    if (count > 0 && *group.experts.rbegin() != count - 1)
      fail(where, fmt::format("{}: {} experts are there, the last has number {}; the list is not "
                              "whole",
                              shown(name, 120), count, *group.experts.rbegin()));
    groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end(),
            [](const Group& a, const Group& b) { return a.first < b.first; });
  return groups;
}

TensorSpec spec_of(const Group& group, const Stem& stem, const Place& place,
                   const std::set<int>& mtp_layers) {
  TensorSpec spec;
  spec.name = group.numbered.name;
  spec.dtype = group.dtype;
  spec.role = place.role;
  spec.part = place.part;
  spec.scales = stem.scales;
  spec.mtp = group.numbered.layer && mtp_layers.count(*group.numbered.layer) > 0;
  if (!spec.mtp) spec.layer = group.numbered.layer;
  spec.experts = static_cast<int>(group.experts.size());
  if (spec.experts > 0) spec.dims.push_back({spec.experts, Axis::expert, {}});
  for (std::size_t d = 0; d < group.shape.size(); ++d) {
    // Biases follow the rows; scales of blocks are not cut.
    Axis axis = d == 0 ? place.rows : d == 1 ? place.columns : Axis::none;
    if (stem.scales) axis = Axis::none;
    spec.dims.push_back({group.shape[d], axis, {}});
  }
  return spec;
}

// Heads from the rows of q, k and the size of one.
HeadGroups heads_of(const std::vector<TensorSpec>& tensors, const std::string& where) {
  std::int64_t q = 0, k = 0, head = 0;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.role != Role::attention || tensor.scales) continue;
    if (tensor.part == "q" && q == 0) q = tensor.dims[0].size;
    if (tensor.part == "k" && k == 0) k = tensor.dims[0].size;
    if (tensor.part == "q_norm" && head == 0) head = tensor.dims[0].size;
  }
  if (k == 0) return {};  // latent attention, or none
  if (head == 0)
    fail(where, fmt::format("nothing says how long a head is: q_proj has {} rows, k_proj {}, and "
                            "there is no q_norm; use the model's config.json",
                            q, k));
  if (head >= kMostSize || q / head > kMostHeads || q % head != 0 || k % head != 0 ||
      (q / head) % (k / head) != 0)
    fail(where,
         fmt::format("q_proj has {} rows, k_proj {}, q_norm {}: no whole heads, or more than "
                     "{}; use the model's config.json",
                     q, k, head, kMostHeads));
  return {static_cast<int>(q / head), static_cast<int>(k / head), static_cast<int>(head)};
}

// One file of a checkpoint has a few layers, and would make a model of that many and empty ones.
void require_every_layer(const std::vector<Group>& groups, const std::string& where) {
  std::set<int> there;
  for (const Group& group : groups) {
    if (group.numbered.layer) there.insert(*group.numbered.layer);
  }
  int expected = 0;
  for (const int layer : there) {
    if (layer != expected)
      fail(where,
           fmt::format("no tensor is of layer {}, but some are of layer {}; is this one file "
                       "of several? All of them are in the index or the config.json",
                       expected, layer));
    ++expected;
  }
}

}  // namespace

ModelSpec model_of_tensors(const std::vector<ListedTensor>& tensors, const std::string& where) {
  const std::vector<Group> groups = grouped(tensors, where);
  std::set<int> mtp_layers;  // they project embedding and hidden state into one
  for (const Group& group : groups) {
    if (group.numbered.layer && stem_of(group.numbered.name).last == "eh_proj")
      mtp_layers.insert(*group.numbered.layer);
  }
  ModelSpec model;
  model.name = where.substr(where.rfind('/') + 1);
  model.architecture = "from names and shapes";
  model.provenance = where;
  std::vector<std::string> unknown;
  TensorList list({}, where);
  for (const Group& group : groups) {
    const Stem stem = stem_of(group.numbered.name);
    std::optional<Place> place = place_of(stem);
    const bool is_mtp = group.numbered.layer && mtp_layers.count(*group.numbered.layer) > 0;
    if (!place && is_mtp) place = Place{Role::norm, ""};
    if (!place) {
      unknown.push_back(shown(group.numbered.name, 120));
      continue;
    }
    if (group.numbered.layer && *group.numbered.layer >= kMostNumberedLayers)
      fail(where, fmt::format("{}: a layer beyond {}", shown(group.numbered.name, 120),
                              kMostNumberedLayers));
    TensorSpec spec = spec_of(group, stem, *place, mtp_layers);
    if (spec.layer) model.layers = std::max(model.layers, *spec.layer + 1);
    if (!stem.scales) model.experts = std::max(model.experts, spec.experts);
    if (place->role == Role::embedding) model.vocab = spec.dims[0].size;
    if ((place->role == Role::embedding || place->role == Role::norm) && !spec.mtp)
      model.hidden = spec.dims.back().size;
    list.add(std::move(spec));
  }
  if (!unknown.empty()) {
    const std::size_t first = std::min<std::size_t>(unknown.size(), 5);
    fail(where,
         fmt::format(
             "no rule says how ranks divide {}{}; use the model's config.json",
             fmt::join(unknown.begin(), unknown.begin() + static_cast<std::ptrdiff_t>(first), ", "),
             unknown.size() > first ? fmt::format(" and {} more", unknown.size() - first) : ""));
  }
  if (groups.empty()) fail(where, "has no tensors");
  if (model.layers == 0) fail(where, "no tensor is of a layer (layers.N.); is it a whole model?");
  require_every_layer(groups, where);
  model.tensors = std::move(list).take();
  // JSON has no order; a checkpoint begins with the embedding and ends with prediction modules.
  const auto place = [](const TensorSpec& t) {
    if (t.mtp) return kMostNumberedLayers + 1;
    return t.role == Role::embedding ? -1 : t.layer.value_or(kMostNumberedLayers);
  };
  std::stable_sort(model.tensors.begin(), model.tensors.end(),
                   [&](const TensorSpec& a, const TensorSpec& b) { return place(a) < place(b); });
  model.heads = heads_of(model.tensors, where);
  model.tied_embeddings = std::none_of(model.tensors.begin(), model.tensors.end(),
                                       [](const auto& t) { return t.role == Role::lm_head; });
  return model;
}

ModelSpec parse_m2n_model(const std::string& json, const std::string& where) {
  const nlohmann::json document = parse_hf_json(json, where);
  if (!document.is_object()) fail(where, "is no object of tensors");
  std::vector<ListedTensor> tensors;
  for (const auto& [name, value] : document.items()) {
    const auto shape = value.is_object() ? value.find("shape") : value.end();
    if (!value.is_object() || shape == value.end() || !shape->is_array())
      fail(where,
           fmt::format("{}: expected {{\"shape\": [...], \"dtype\": \"BF16\"}}", shown(name, 120)));
    ListedTensor tensor{name, {}, Dtype::bf16};
    for (const auto& size : *shape) {
      if (!size.is_number_integer())
        fail(where, fmt::format("{}: shape is no list of sizes", shown(name, 120)));
      tensor.shape.push_back(size.get<std::int64_t>());
    }
    const auto dtype = value.find("dtype");
    // The bench counts two bytes for types that it does not know; a plan should not.
    if (dtype == value.end() || !dtype->is_string())
      fail(where, fmt::format("{}: missing dtype, such as \"BF16\"", shown(name, 120)));
    try {
      tensor.dtype = parse_dtype(dtype->get<std::string>());
    } catch (const Error& error) {
      fail(where, fmt::format("{}: dtype: {}", shown(name, 120), error.what()));
    }
    tensors.push_back(std::move(tensor));
  }
  return model_of_tensors(tensors, where);
}

}  // namespace refit
