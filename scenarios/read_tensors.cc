#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

// A file of a few lines must not ask for more than we can count or hold.
constexpr std::int64_t kMostSide = std::int64_t{1} << 40;
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;   // bytes are exact in JSON
constexpr std::int64_t kMostHeldBytes = std::int64_t{1} << 61;  // by all GPUs together
constexpr std::int64_t kMostMembers = 1'000'000;
constexpr std::int64_t kMostListedRanks = std::int64_t{1} << 26;

std::vector<std::int64_t> read_shape(const YamlNode& node, std::int64_t count) {
  std::vector<std::int64_t> shape{count};
  std::int64_t elements = count;
  for (const YamlNode& item : node.items()) {
    shape.push_back(item.integer(1, kMostSide));
    if (elements > kMostElements / shape.back())
      node.fail("the tensor has more than 2^50 elements; use fewer");
    elements *= shape.back();
  }
  if (shape.size() < 2) node.fail("a tensor needs at least one dim");
  if (shape.size() > 17) node.fail("a tensor has at most 16 dims");
  return shape;
}

// A word that a parser of ours knows; its complaint gets the place.
template <class Value>
Value read_word(const YamlNode& tensor, const char* key, Value otherwise,
                Value (*parse)(std::string_view)) {
  const auto node = tensor.find(key);
  if (!node) return otherwise;
  const std::string word = node->text();
  try {
    return parse(word);
  } catch (const Error& error) {
    node->fail(error.what());
  }
}

// Gathers tensors into a refit and keeps the sums within what we can count.
class TensorReader {
 public:
  explicit TensorReader(int ranks) { refit_.ranks = ranks; }

  void read(const YamlNode& node) {
    node.allow_only({"name", "shape", "dtype", "role", "count", "source", "destination"});
    const std::string name = node.at("name").text();
    if (!names_.insert(name).second) {
      node.at("name").fail(fmt::format("'{}' is named twice; give each its own name", name));
    }
    const auto count_node = node.find("count");
    const std::int64_t count = count_node ? count_node->integer(1, kMostMembers) : 1;
    const std::vector<std::int64_t> shape = read_shape(node.at("shape"), count);
    const auto dtype = read_word<Dtype>(node, "dtype", Dtype::bf16, parse_dtype);
    const auto role = read_word<Role>(node, "role", Role::unspecified, parse_role);
    Layout source = read_layout(node.at("source"), shape, refit_.ranks);
    Layout destination = read_layout(node.at("destination"), shape, refit_.ranks);
    const int stage = note_ranks(node, source.mesh().ranks(), destination.mesh().ranks());
    std::vector<std::int64_t> members;
    for (std::int64_t m = 0; m < count; ++m) members.push_back(members_ + m);
    refit_.classes.push_back({name, dtype, role, false, stage, std::move(members),
                              std::move(source), std::move(destination), static_cast<int>(count),
                              ""});
    note_size(node, count);
  }

  Refit finish() && {
    refit_.stages = static_cast<int>(stage_of_.size());
    refit_.sources.assign(sources_.begin(), sources_.end());
    refit_.destinations.assign(destinations_.begin(), destinations_.end());
    return std::move(refit_);
  }

 private:
  // Returns the stage: classes whose sources are the same ranks share one.
  int note_ranks(const YamlNode& node, std::vector<Rank> held, const std::vector<Rank>& wanted) {
    listed_ranks_ += static_cast<std::int64_t>(held.size() + wanted.size());
    if (listed_ranks_ > kMostListedRanks) {
      node.fail(fmt::format("more than {} ranks are listed up to here", kMostListedRanks));
    }
    std::sort(held.begin(), held.end());
    sources_.insert(held.begin(), held.end());
    destinations_.insert(wanted.begin(), wanted.end());
    return stage_of_.try_emplace(std::move(held), static_cast<int>(stage_of_.size())).first->second;
  }

  void note_size(const YamlNode& node, std::int64_t count) {
    members_ += count;
    if (members_ > kMostMembers) {
      node.find("count").value_or(node).fail(
          fmt::format("more than {} tensors up to here; use fewer", kMostMembers));
    }
    bytes_ += refit_.classes.back().bytes();
    if (bytes_ > kMostHeldBytes / refit_.ranks) {
      node.at("shape").fail(fmt::format("{} B of tensors up to here; with {} GPUs use at most {}",
                                        bytes_, refit_.ranks, kMostHeldBytes / refit_.ranks));
    }
  }

  Refit refit_;
  std::set<std::string> names_;
  std::map<std::vector<Rank>, int> stage_of_;
  std::set<Rank> sources_, destinations_;
  std::int64_t members_ = 0, bytes_ = 0, listed_ranks_ = 0;
};

}  // namespace

Refit read_tensors(const YamlNode& node, int ranks) {
  TensorReader reader(ranks);
  const std::vector<YamlNode> items = node.items();
  if (items.empty()) node.fail("at least one tensor is needed");
  for (const YamlNode& item : items) reader.read(item);
  return std::move(reader).finish();
}

}  // namespace refit::detail
