#include "report/layout_picture.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace refit {
namespace {

// Every run of digits and every placeholder as "{}".
std::string without_numbers(const std::string& name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto digit = [&](std::size_t at) {
      return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0;
    };
    const bool starts_word = i == 0 || std::isalnum(static_cast<unsigned char>(name[i - 1])) == 0;
    if (name[i] == '{') {
      result += "{}";
      while (i < name.size() && name[i] != '}') ++i;
    } else if (digit(i) && starts_word) {
      result += "{}";
      while (digit(i + 1)) ++i;
    } else {
      result += name[i];
    }
  }
  return result;
}

// "0-2, 5, 7-9"; past four runs how many there are.
std::string runs(const std::vector<Interval>& intervals) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> words;
  for (const Interval& run : intervals) {
    if (words.size() == kMost) {
      words.push_back(fmt::format("… ({} runs)", intervals.size()));
      break;
    }
    words.push_back(run.size() == 1 ? fmt::format("{}", run.begin)
                                    : fmt::format("{}-{}", run.begin, run.end - 1));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

// Labels in the order in which they are first asked for.
class Labels {
 public:
  int of(const std::string& label) {
    const auto [at, is_new] = index_.emplace(label, static_cast<int>(labels_.size()));
    if (is_new) labels_.push_back(label);
    return at->second;
  }
  const std::vector<std::string>& all() const { return labels_; }

 private:
  std::map<std::string, int> index_;
  std::vector<std::string> labels_;
};

// What the i-th rank of a layout's mesh holds of each dim, as a number into `texts`.
struct DimNames {
  std::vector<std::string> texts;  // by piece; empty: the piece is empty
  std::vector<int> piece_of;       // by index in the mesh
  bool cut = false;
};

DimNames names_of(const Layout& layout, int dim) {
  DimNames result;
  const DimPieces pieces = layout.dim_pieces(dim);
  for (const IntervalSet& piece : pieces.pieces)
    result.texts.push_back(piece.empty() ? std::string() : runs(piece.intervals()));
  result.cut = pieces.pieces.size() > 1;
  const std::vector<MeshAxis>& axes = layout.mesh().axes();
  std::vector<int> coordinate(axes.size(), 0);
  for (int i = 0; i < layout.mesh().size(); ++i) {
    int piece = 0;
    for (const int axis : pieces.axes)
      piece = piece * axes[static_cast<std::size_t>(axis)].size +
              coordinate[static_cast<std::size_t>(axis)];
    result.piece_of.push_back(piece);
    for (std::size_t a = axes.size(); a-- > 0 && ++coordinate[a] == axes[a].size;)
      coordinate[a] = 0;
  }
  return result;
}

// The layers of a class as a text, or its name if it is in none.
std::string layers_of(const TensorClass& c, const ModelSpec* model, std::set<int>& layers) {
  if (model != nullptr) {
    for (const std::int64_t member : c.members) {
      const auto& layer = model->tensors[static_cast<std::size_t>(member)].layer;
      if (layer) layers.insert(*layer);
    }
    if (!layers.empty()) return {};
  }
  return c.name;
}

std::string layer_words(const std::vector<const TensorClass*>& classes, const ModelSpec* model) {
  std::set<int> layers;
  std::string name;
  for (const TensorClass* c : classes) {
    const std::string own = layers_of(*c, model, layers);
    if (!own.empty()) name = name.empty() ? own : fmt::format("{} and others", name);
  }
  if (layers.empty()) return name;
  std::vector<Interval> in_runs;
  for (const int layer : layers) {
    if (!in_runs.empty() && in_runs.back().end == layer) {
      ++in_runs.back().end;
    } else {
      in_runs.push_back({layer, layer + 1});
    }
  }
  return fmt::format("layer{} {}", layers.size() == 1 ? "" : "s", runs(in_runs));
}

// " (part 1 of 2)" of a class that is some rows of its tensors, else empty: its layouts count rows
// from the first of them.
std::string part_words(const std::string& name) {
  const std::size_t at = name.rfind(" (part ");
  return at == std::string::npos ? std::string() : name.substr(at);
}

// Which dim of a class counts experts: the member comes first, then the experts of a layer.
std::optional<int> expert_dim(const TensorClass& c) {
  return c.name.find("{expert}") != std::string::npos ? std::optional<int>(1) : std::nullopt;
}

// The maps of one side of one kind, while its classes are gone through.
class Side {
 public:
  explicit Side(int ranks)
      : classes_(static_cast<std::size_t>(ranks)),
        experts_(classes_.size()),
        part_(classes_.size()) {}

  void add(const TensorClass& c, const Layout& layout) {
    const std::vector<Rank> ranks = layout.mesh().ranks();
    std::vector<DimNames> dims;
    for (int d = 0; d < static_cast<int>(layout.shape().size()); ++d)
      dims.push_back(names_of(layout, d));
    for (std::size_t i = 0; i < ranks.size(); ++i) add_rank(c, dims, i, ranks[i].index());
  }

  // The map of layers; of the others nothing where all ranks hold all.
  ShardMap layers(const ModelSpec* model) const {
    std::map<std::vector<const TensorClass*>, std::string> words;
    std::vector<std::string> of_rank;
    for (const auto& classes : classes_) {
      std::string& text = words[classes];
      if (text.empty() && !classes.empty()) text = layer_words(classes, model);
      of_rank.push_back(text);
    }
    return map_of(of_rank);
  }
  std::optional<ShardMap> experts() const {
    return any_expert_ ? std::optional(map_of(experts_)) : std::nullopt;
  }
  std::optional<ShardMap> part() const {
    return any_part_ ? std::optional(map_of(part_)) : std::nullopt;
  }

 private:
  void add_rank(const TensorClass& c, const std::vector<DimNames>& dims, std::size_t i,
                std::size_t rank) {
    const auto text = [&](std::size_t d) -> const std::string& {
      return dims[d].texts[static_cast<std::size_t>(dims[d].piece_of[i])];
    };
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (text(d).empty()) return;
    const bool first = classes_[rank].empty();
    classes_[rank].push_back(&c);
    if (!first) return;  // the first tensor that a rank holds stands for all
    const auto expert = expert_dim(c);
    std::vector<std::string> cuts;
    for (std::size_t d = 1; d < dims.size(); ++d) {
      if (expert && static_cast<std::size_t>(*expert) == d) continue;
      if (dims[d].cut) cuts.push_back(fmt::format("dim {}: {}", d - 1, text(d)));
    }
    if (expert) {
      any_expert_ = true;
      experts_[rank] = "experts " + text(static_cast<std::size_t>(*expert)) + part_words(c.name);
    }
    any_part_ = any_part_ || !cuts.empty();
    part_[rank] = cuts.empty() ? "whole" : fmt::format("{}", fmt::join(cuts, "; "));
  }

  static ShardMap map_of(const std::vector<std::string>& texts) {
    Labels labels;
    ShardMap map;
    for (const std::string& text : texts)
      map.label_of_rank.push_back(text.empty() ? -1 : labels.of(text));
    map.labels = labels.all();
    return map;
  }

  std::vector<std::vector<const TensorClass*>> classes_;  // by rank: what it holds a part of
  std::vector<std::string> experts_, part_;               // by rank
  bool any_expert_ = false, any_part_ = false;
};

class Maps {
 public:
  explicit Maps(std::vector<ShardMap>& maps) : maps_(maps) {}

  int index_of(const std::optional<ShardMap>& map) {
    if (!map) return -1;
    const auto found = std::find(maps_.begin(), maps_.end(), *map);
    if (found != maps_.end()) return static_cast<int>(found - maps_.begin());
    maps_.push_back(*map);
    return static_cast<int>(maps_.size()) - 1;
  }

  ShardMaps of(const Side& side, const ModelSpec* model) {
    return {index_of(side.layers(model)), index_of(side.experts()), index_of(side.part())};
  }

 private:
  std::vector<ShardMap>& maps_;
};

}  // namespace

LayoutPicture layout_picture(const Refit& refit, const ModelSpec* model) {
  std::map<std::pair<Role, std::string>, std::vector<const TensorClass*>> by_kind;
  for (const TensorClass& c : refit.classes) {
    const std::string name = c.name.substr(0, c.name.size() - part_words(c.name).size());
    by_kind[{c.role, without_numbers(name)}].push_back(&c);
  }

  LayoutPicture picture;
  for (const auto& [key, classes] : by_kind) {
    const std::vector<std::int64_t>& shape = classes.front()->shape();
    TensorKind kind{key.second, key.first, {shape.begin() + 1, shape.end()}, 0, {}, {}};
    for (const TensorClass* c : classes) kind.bytes += c->bytes();
    picture.kinds.push_back(std::move(kind));
  }
  std::stable_sort(picture.kinds.begin(), picture.kinds.end(),
                   [](const TensorKind& a, const TensorKind& b) { return a.bytes > b.bytes; });
  if (picture.kinds.size() > kMostTensorKinds) {
    picture.left_out = picture.kinds.size() - kMostTensorKinds;
    picture.kinds.resize(kMostTensorKinds);
  }
  Maps maps(picture.maps);
  for (TensorKind& kind : picture.kinds) {
    Side source(refit.ranks), destination(refit.ranks);
    for (const TensorClass* c : by_kind[{kind.role, kind.name}]) {
      source.add(*c, c->source);
      destination.add(*c, c->destination);
    }
    kind.source = maps.of(source, model);
    kind.destination = maps.of(destination, model);
  }
  return picture;
}

}  // namespace refit
