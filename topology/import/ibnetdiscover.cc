#include "topology/import/ibnetdiscover.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "topology/import/detail/disjoint_sets.h"
#include "topology/import/detail/text_lines.h"

namespace refit {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;

// Gbit/s of data of one lane, after coding (InfiniBand specification).
constexpr std::pair<std::string_view, double> kLanes[] = {
    {"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
    {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

struct Port {
  std::string peer;       // "S-0002..." or "H-0002..."
  std::string peer_name;  // what is written behind it
  double bytes_per_s = 0;
};

struct Switch {
  std::string id;
  std::vector<Port> ports;
};

// The first text between two quotes from `at` on; `at` moves behind it.
std::optional<std::string_view> quoted(std::string_view line, std::size_t& at) {
  const std::size_t begin = line.find('"', at);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = line.find('"', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  at = end + 1;
  return line.substr(begin + 1, end - begin - 1);
}

// "4xNDR": bytes per second; 0 if it is no such word.
double rate_of(std::string_view word) {
  const std::size_t x = word.find('x');
  if (x == std::string_view::npos) return 0;
  int lanes = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + x, lanes);
  if (error != std::errc{} || end != word.data() + x || lanes < 1 || lanes > 12) return 0;
  for (const auto& [name, gbit] : kLanes) {
    if (word.substr(x + 1) == name) return lanes * gbit * 1e9 / 8;
  }
  return 0;
}

bool is_aggregation(std::string_view name) {
  return name.find("Aggregation Node") != std::string_view::npos;
}

// "node001 mlx5_5" -> "node001"; adapters that carry their maker's name belong to nobody we know.
std::string host_of(std::string_view name) {
  const std::size_t blank = name.find(' ');
  if (blank == std::string_view::npos || blank == 0) return {};
  if (name.starts_with("MT") && blank > 2 && name[2] >= '0' && name[2] <= '9') return {};
  return std::string(name.substr(0, blank));
}

struct Leaf {
  std::set<std::string> hosts;  // those with a name
  int adapters = 0;
  double up_bytes_per_s = 0;
  int uplinks = 0;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : name_(name) { read_lines(text); }

  IbFabric fabric() {
    if (switches_.empty()) {
      fail(
          fmt::format("no switch is in it, only {} adapter{}: there is no fabric to read; run "
                      "ibnetdiscover on a host whose port is up",
                      adapters_, adapters_ == 1 ? "" : "s"));
    }
    IbFabric fabric;
    fabric.switches = static_cast<int>(switches_.size());
    find_leaves(fabric);
    if (leaves_.empty()) fail("no host hangs on any of its switches");
    fabric.channel_adapters = std::max(adapters_, static_cast<int>(seen_adapters_.size()));
    fabric.aggregation_nodes = static_cast<int>(aggregation_.size());
    find_blocks(fabric.shape);
    fabric.shape.facts.push_back(fmt::format(
        "fabric: {} switches ({} leaves, {} spines), {} host adapters, {} cables between leaves "
        "and spines, {} to {} per leaf",
        fabric.switches, fabric.leaves, fabric.spines,
        fabric.channel_adapters - fabric.aggregation_nodes, fabric.cables, fabric.fewest_uplinks,
        fabric.most_uplinks));
    return fabric;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name_, what));
  }

  void read_lines(std::string_view text) {
    if (text.size() > kMostBytes) fail("larger than 256 MiB");
    bool in_switch = false, any = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      at = end + 1;
      std::size_t place = 0;
      if (line.starts_with("Switch")) {
        any = in_switch = true;
        if (const auto id = quoted(line, place))
          switches_.push_back({std::string(*id), {}});
        else
          in_switch = false;
      } else if (line.starts_with("Ca") || line.starts_with("Rt")) {
        any = true;
        in_switch = false;
        const auto id = quoted(line, place);
        const auto words = quoted(line, place);
        if (line.starts_with("Ca") && id) {
          ++adapters_;
          if (words && is_aggregation(*words)) aggregation_.insert(std::string(*id));
        }
      } else if (in_switch && line.starts_with("[")) {
        read_port(line);
      }
    }
    if (!any) fail("no line of Switch or Ca is in it; expected the output of ibnetdiscover");
  }

  void read_port(std::string_view line) {
    std::size_t place = 0;
    const auto peer = quoted(line, place);
    if (!peer) return;
    const auto words = quoted(line, place);
    const std::vector<std::string_view> rest = detail::line_words(line.substr(place));
    std::string_view last = rest.empty() ? std::string_view() : rest.back();
    while (!last.empty() && static_cast<unsigned char>(last.back()) <= ' ') last.remove_suffix(1);
    switches_.back().ports.push_back(
        {std::string(*peer), words ? std::string(*words) : "", rate_of(last)});
  }

  void find_leaves(IbFabric& fabric) {
    std::set<std::string> with_hosts;
    for (const Switch& one : switches_) {
      for (const Port& port : one.ports) {
        if (!port.peer.starts_with("H-")) continue;
        seen_adapters_.insert(port.peer);
        if (is_aggregation(port.peer_name))
          aggregation_.insert(port.peer);
        else
          with_hosts.insert(one.id);
      }
    }
    std::set<std::string> above;
    std::map<double, int> host_rates;
    bool unknown_rate = false;
    for (const Switch& one : switches_) {
      if (!with_hosts.contains(one.id)) continue;
      Leaf& leaf = leaves_.emplace_back();
      for (const Port& port : one.ports) {
        if (port.peer.starts_with("H-")) {
          if (aggregation_.contains(port.peer)) continue;
          ++leaf.adapters;
          ++host_rates[port.bytes_per_s];
          if (std::string host = host_of(port.peer_name); !host.empty()) leaf.hosts.insert(host);
        } else if (port.peer.starts_with("S-") && !with_hosts.contains(port.peer)) {
          above.insert(port.peer);
          ++leaf.uplinks;
          unknown_rate |= port.bytes_per_s == 0;
          leaf.up_bytes_per_s += port.bytes_per_s;
        }
      }
      fabric.cables += leaf.uplinks;
    }
    fabric.leaves = static_cast<int>(leaves_.size());
    fabric.spines = static_cast<int>(above.size());
    if (leaves_.empty()) return;
    const auto [least, most] =
        std::minmax_element(leaves_.begin(), leaves_.end(),
                            [](const Leaf& a, const Leaf& b) { return a.uplinks < b.uplinks; });
    fabric.fewest_uplinks = least->uplinks;
    fabric.most_uplinks = most->uplinks;
    says_trunks_ = !unknown_rate && fabric.fewest_uplinks > 0;
    if (unknown_rate)
      fabric.shape.notes.push_back("rates of cables are not said, so trunks are not known");
    host_rates.erase(0);
    if (host_rates.size() > 1)
      fabric.shape.notes.push_back(
          "adapters of hosts have several rates; the most common one was taken");
    int best = 0;
    for (const auto& [rate, count] : host_rates) {
      if (count <= best) continue;
      best = count;
      fabric.shape.nic_bytes_per_s = rate;
    }
  }

  // Leaves with mostly the same hosts are the rails of one block of nodes. A few hosts on both are
  // no proof: several machines may be called "localhost".
  void find_blocks(FabricShape& shape) {
    detail::DisjointSets sets(leaves_.size());
    std::map<std::string, std::vector<std::size_t>> leaves_of;
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      for (const std::string& host : leaves_[l].hosts) leaves_of[host].push_back(l);
    }
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> shared;
    for (const auto& [host, on] : leaves_of) {
      if (on.size() > kMostRails) continue;
      for (std::size_t i = 0; i < on.size(); ++i) {
        for (std::size_t j = i + 1; j < on.size(); ++j) ++shared[{on[i], on[j]}];
      }
    }
    for (const auto& [pair, hosts] : shared) {
      const auto [a, b] = pair;
      if (2 * hosts >= std::min(leaves_[a].hosts.size(), leaves_[b].hosts.size())) sets.join(a, b);
    }
    std::map<int, std::vector<std::size_t>> leaves_of_block;
    const std::vector<int> numbers = sets.numbers();
    for (std::size_t l = 0; l < leaves_.size(); ++l) leaves_of_block[numbers[l]].push_back(l);
    std::size_t rails = 0;
    for (const auto& [block, of] : leaves_of_block) rails = std::max(rails, of.size());
    shape.rail_optimized = rails > 1;
    for (const auto& [number, of] : leaves_of_block) add_block(of, rails, shape);
  }

  void add_block(const std::vector<std::size_t>& of, std::size_t rails, FabricShape& shape) {
    FabricShape::Block block;
    int fewest = leaves_[of.front()].adapters, most = fewest;
    double least_up = leaves_[of.front()].up_bytes_per_s;
    for (const std::size_t l : of) {
      const Leaf& leaf = leaves_[l];
      fewest = std::min(fewest, leaf.adapters);
      most = std::max(most, leaf.adapters);
      least_up = std::min(least_up, leaf.up_bytes_per_s);
      if (says_trunks_) block.trunk_bytes_per_s.push_back(leaf.up_bytes_per_s);
    }
    if (rails == 1 && !leaves_[of.front()].hosts.empty()) {
      // All adapters of a host on one leaf.
      const Leaf& leaf = leaves_[of.front()];
      const auto named = static_cast<int>(leaf.hosts.size());
      fewest = most = named;
      if (leaf.adapters % named != 0)
        shape.notes.push_back(
            "some adapters of a leaf have no host's name; hosts were counted by name");
    }
    block.nodes = fewest;
    if (most > fewest)
      shape.notes.push_back(fmt::format(
          "block {}: its leaves have {} to {} hosts; it counts with {}, which are on every rail",
          shape.blocks.size(), fewest, most, fewest));
    if (of.size() < rails) {
      shape.notes.push_back(fmt::format(
          "block {}: {} of {} leaves are in the file; the others count like its slowest",
          shape.blocks.size(), of.size(), rails));
      if (says_trunks_) block.trunk_bytes_per_s.resize(rails, least_up);
    }
    shape.blocks.push_back(std::move(block));
  }

  static constexpr std::size_t kMostRails = 64;

  const std::string& name_;
  std::vector<Switch> switches_;
  std::vector<Leaf> leaves_;
  std::set<std::string> aggregation_, seen_adapters_;
  int adapters_ = 0;
  bool says_trunks_ = false;
};

}  // namespace

IbFabric read_ibnetdiscover(std::string_view text, const std::string& name) {
  return Reader(text, name).fabric();
}

}  // namespace refit
