#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

constexpr std::int64_t kMostSide = std::int64_t{1} << 40;
constexpr std::int64_t kMostElements = std::int64_t{1} << 55;  // bytes of a class fit in 63 bits

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "5" or "0..3" (both ends included).
void read_rank_range(const YamlNode& node, int ranks, std::vector<Rank>& list) {
  const std::string text = node.text();
  const std::size_t dots = text.find("..");
  const auto first = whole_number(text.substr(0, dots));
  const auto last = dots == std::string::npos ? first : whole_number(text.substr(dots + 2));
  if (!first || !last || *last < *first) node.fail(fmt::format("'{}' is no rank; write 5, or 0..3 for 0 to 3", text));
  if (*last >= ranks) node.fail(fmt::format("rank {} is named, but the cluster has GPUs 0 to {}", *last, ranks - 1));
  for (int r = *first; r <= *last; ++r) list.push_back(Rank(r));
}

std::vector<Rank> read_ranks(const YamlNode& node, int ranks) {
  std::vector<Rank> list;
  if (node.is_list()) {
    for (const YamlNode& item : node.items()) {
      read_rank_range(item, ranks, list);
      if (list.size() > static_cast<std::size_t>(ranks)) node.fail("more ranks are listed than the cluster has");
    }
  } else {
    read_rank_range(node, ranks, list);
  }
  return list;
}

// replicate, shard(0), shard(1, balanced)
Placement read_placement(const YamlNode& node) {
  const std::string text = node.text();
  if (text == "replicate") return replicate();
  const auto refuse = [&]() {
    node.fail(fmt::format("'{}' is no placement; write replicate, shard(0) or shard(0, chunk | balanced | even)", text));
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

Layout read_layout(const YamlNode& node, std::vector<std::int64_t> shape, int ranks) {
  node.allow_only({"ranks", "mesh", "placements"});
  std::vector<Rank> list = read_ranks(node.at("ranks"), ranks);
  std::vector<MeshAxis> axes;
  if (const auto mesh = node.find("mesh")) {
    for (const auto& [name, size] : mesh->entries()) {
      axes.push_back({name, static_cast<int>(size.integer(1, 1'000'000)), 1});
    }
  } else {
    axes.push_back({"ranks", static_cast<int>(list.size()), 1});
  }
  std::vector<Placement> placements;
  for (const YamlNode& item : node.at("placements").items()) {
    // Shapes are written without the member dim that classes put first.
    Placement placement = read_placement(item);
    if (placement.sharded && placement.dim >= static_cast<int>(shape.size()) - 1) {
      item.fail(fmt::format("dim {} of a tensor with {} dims; use 0 to {}", placement.dim, shape.size() - 1,
                            shape.size() - 2));
    }
    ++placement.dim;
    placements.push_back(std::move(placement));
  }
  try {
    return Layout(std::move(shape), Mesh(std::move(list), std::move(axes)), std::move(placements));
  } catch (const Error& error) {
    node.fail(error.what());
  }
}

std::vector<std::int64_t> read_shape(const YamlNode& node, std::int64_t count) {
  std::vector<std::int64_t> shape{count};
  std::int64_t elements = count;
  for (const YamlNode& item : node.items()) {
    shape.push_back(item.integer(1, kMostSide));
    if (elements > kMostElements / shape.back()) node.fail("the tensor has more than 2^55 elements; use fewer");
    elements *= shape.back();
  }
  if (shape.size() < 2) node.fail("a tensor needs at least one dim");
  if (shape.size() > 17) node.fail("a tensor has at most 16 dims");
  return shape;
}

}  // namespace

Refit read_tensors(const YamlNode& node, int ranks) {
  Refit refit;
  refit.ranks = ranks;
  std::set<std::string> names;
  std::map<std::vector<Rank>, int> stage_of;  // classes whose sources are the same ranks share a stage
  std::set<Rank> sources, destinations;
  std::int64_t next_member = 0;
  for (const YamlNode& item : node.items()) {
    item.allow_only({"name", "shape", "dtype", "role", "count", "source", "destination"});
    const std::string name = item.at("name").text();
    if (!names.insert(name).second) item.at("name").fail(fmt::format("'{}' is named twice", name));
    const auto count_node = item.find("count");
    const std::int64_t count = count_node ? count_node->integer(1, 1'000'000) : 1;
    const std::vector<std::int64_t> shape = read_shape(item.at("shape"), count);
    Dtype dtype = Dtype::bf16;
    Role role = Role::unspecified;
    try {
      if (const auto text = item.find("dtype")) dtype = parse_dtype(text->text());
    } catch (const Error& error) {
      item.at("dtype").fail(error.what());
    }
    try {
      if (const auto text = item.find("role")) role = parse_role(text->text());
    } catch (const Error& error) {
      item.at("role").fail(error.what());
    }
    Layout source = read_layout(item.at("source"), shape, ranks);
    Layout destination = read_layout(item.at("destination"), shape, ranks);
    std::vector<Rank> held = source.mesh().ranks();
    std::sort(held.begin(), held.end());
    const int stage = stage_of.try_emplace(held, static_cast<int>(stage_of.size())).first->second;
    sources.insert(held.begin(), held.end());
    for (const Rank rank : destination.mesh().ranks()) destinations.insert(rank);
    std::vector<std::int64_t> members;
    for (std::int64_t m = 0; m < count; ++m) members.push_back(next_member++);
    refit.classes.push_back({name, dtype, role, false, stage, std::move(members), std::move(source),
                             std::move(destination), static_cast<int>(count), ""});
  }
  if (refit.classes.empty()) node.fail("at least one tensor is needed");
  refit.stages = static_cast<int>(stage_of.size());
  refit.sources.assign(sources.begin(), sources.end());
  refit.destinations.assign(destinations.begin(), destinations.end());
  return refit;
}

}  // namespace refit::detail
