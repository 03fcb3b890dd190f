#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The ranks of one layout: a range, or a list of ranges.
class RankList {
 public:
  explicit RankList(int ranks) : seen_(static_cast<std::size_t>(ranks), false) {}

  // "5" or "0..3" (both ends included).
  void read(const YamlNode& node) {
    const std::string text = node.text();
    const std::size_t dots = text.find("..");
    const auto first = whole_number(text.substr(0, dots));
    const auto last = dots == std::string::npos ? first : whole_number(text.substr(dots + 2));
    if (!first || !last || *last < *first) {
      node.fail(fmt::format("'{}' is no rank; write 5, or 0..3 for 0 to 3", shown(text)));
    }
    if (static_cast<std::size_t>(*last) >= seen_.size()) {
      node.fail(fmt::format("rank {} is named, but the cluster has GPUs 0 to {}", *last,
                            seen_.size() - 1));
    }
    for (int r = *first; r <= *last; ++r) {
      const auto at = static_cast<std::size_t>(r);
      if (seen_[at]) node.fail(fmt::format("rank {} is listed twice; list each once", r));
      seen_[at] = true;
      list_.push_back(Rank(r));
    }
  }

  std::vector<Rank> take() && { return std::move(list_); }

 private:
  std::vector<bool> seen_;
  std::vector<Rank> list_;
};

// replicate, shard(0), shard(1, balanced)
Placement read_placement(const YamlNode& node) {
  const std::string text = node.text();
  if (text == "replicate") return replicate();
  const auto refuse = [&]() {
    node.fail(fmt::format(
        "'{}' is no placement; write replicate, shard(0) or shard(0, chunk | balanced | even)",
        shown(text)));
  };
  if (!text.starts_with("shard(") || !text.ends_with(")")) refuse();
  std::string inside = text.substr(6, text.size() - 7);
  std::erase(inside, ' ');
  const std::size_t comma = inside.find(',');
  const auto dim = whole_number(inside.substr(0, comma));
  if (!dim) refuse();
  const std::string split = comma == std::string::npos ? "chunk" : inside.substr(comma + 1);
  if (split == "chunk") return shard(*dim, Split::chunk());
  if (split == "balanced") return shard(*dim, Split::balanced());
  if (split == "even") return shard(*dim, Split::even());
  refuse();
  return {};
}

Mesh read_mesh(const YamlNode& node, int ranks) {
  const YamlNode ranks_node = node.at("ranks");
  std::vector<Rank> list = read_ranks(ranks_node, ranks);
  if (list.empty()) ranks_node.fail("a layout needs at least one rank");
  const auto mesh = node.find("mesh");
  std::vector<MeshAxis> axes;
  if (mesh) {
    for (const auto& [name, size] : mesh->entries()) {
      axes.push_back({name, static_cast<int>(size.integer(1, 1'000'000)), 1});
    }
  } else {
    axes.push_back({"ranks", static_cast<int>(list.size()), 1});
  }
  try {
    return Mesh(std::move(list), std::move(axes));
  } catch (const Error& error) {
    (mesh ? *mesh : ranks_node).fail(error.what());
  }
}

}  // namespace

std::vector<Rank> read_ranks(const YamlNode& node, int ranks) {
  RankList list(ranks);
  if (node.is_list()) {
    for (const YamlNode& item : node.items()) list.read(item);
  } else {
    list.read(node);
  }
  return std::move(list).take();
}

Layout read_layout(const YamlNode& node, std::vector<std::int64_t> shape, int ranks) {
  node.allow_only({"ranks", "mesh", "placements"});
  Mesh mesh = read_mesh(node, ranks);
  const YamlNode placements_node = node.at("placements");
  std::vector<Placement> placements;
  for (const YamlNode& item : placements_node.items()) {
    Placement placement = read_placement(item);
    if (placement.sharded) {
      // Shapes are written without the member dim that classes put first.
      const auto dims = static_cast<int>(shape.size()) - 1;
      if (placement.dim >= dims) {
        item.fail(fmt::format("dim {} of a tensor with {} dims; use 0 to {}", placement.dim, dims,
                              dims - 1));
      }
      ++placement.dim;
    }
    placements.push_back(std::move(placement));
  }
  try {
    return Layout(std::move(shape), std::move(mesh), std::move(placements));
  } catch (const Error& error) {
    placements_node.fail(error.what());
  }
}

}  // namespace refit::detail
