#include "topology/import/ibnetdiscover.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "topology/import/detail/disjoint_sets.h"
#include "topology/import/detail/ib_switches.h"

namespace refit {
namespace {

using detail::IbPort;
using detail::IbSwitch;
using detail::is_aggregation;

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
  Reader(std::string_view text, const std::string& name)
      : name_(name), network_(detail::read_ib_network(text, name)) {}

  IbFabric fabric() {
    const int adapters = network_.adapters;
    if (network_.switches.empty()) {
      fail(
          fmt::format("no switch is in it, only {} adapter{}: there is no fabric to read; run "
                      "ibnetdiscover on a host whose port is up",
                      adapters, adapters == 1 ? "" : "s"));
    }
    IbFabric fabric;
    fabric.shape.notes = network_.notes;
    fabric.switches = static_cast<int>(network_.switches.size());
    find_leaves(fabric);
    if (leaves_.empty()) fail("no host hangs on any of its switches");
    fabric.channel_adapters = std::max(adapters, static_cast<int>(seen_adapters_.size()));
    fabric.aggregation_nodes = static_cast<int>(network_.aggregation.size());
    find_blocks(fabric.shape);
    const auto counted = [](int count, const char* one, const char* many) {
      return fmt::format("{} {}", count, count == 1 ? one : many);
    };
    fabric.shape.facts.push_back(fmt::format(
        "fabric: {} ({}, {}), {}, {} between leaves and spines, {} per leaf",
        counted(fabric.switches, "switch", "switches"), counted(fabric.leaves, "leaf", "leaves"),
        counted(fabric.spines, "spine", "spines"),
        counted(fabric.channel_adapters - fabric.aggregation_nodes, "host adapter",
                "host adapters"),
        counted(fabric.cables, "cable", "cables"),
        fabric.fewest_uplinks == fabric.most_uplinks
            ? fmt::format("{}", fabric.most_uplinks)
            : fmt::format("{} to {}", fabric.fewest_uplinks, fabric.most_uplinks)));
    return fabric;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name_, what));
  }

  void find_leaves(IbFabric& fabric) {
    std::set<std::string> with_hosts;
    for (const IbSwitch& one : network_.switches) {
      for (const IbPort& port : one.ports) {
        if (!port.peer.starts_with("H-")) continue;
        seen_adapters_.insert(port.peer);
        if (is_aggregation(port.peer_name))
          network_.aggregation.insert(port.peer);
        else
          with_hosts.insert(one.id);
      }
    }
    std::set<std::string> above;
    std::map<double, int> host_rates;
    bool unknown_rate = false;
    for (const IbSwitch& one : network_.switches) {
      if (!with_hosts.contains(one.id)) continue;
      Leaf& leaf = leaves_.emplace_back();
      for (const IbPort& port : one.ports) {
        if (port.peer.starts_with("H-")) {
          if (network_.aggregation.contains(port.peer)) continue;
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
      fabric.shape.assumed.nic_rates.push_back(
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
    // Every block gets a trunk per rail, so a chain of leaves would cost its length squared.
    if (rails > kMostRails)
      fail(
          fmt::format("{} leaves hang together by hosts that are on several of them; a block of "
                      "nodes has at most {} rails",
                      rails, kMostRails));
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
        block.notes.push_back(
            "some adapters of a leaf have no host's name; hosts were counted by name");
    }
    block.nodes = fewest;
    if (most > fewest)
      block.notes.push_back(fmt::format(
          "block {}: its leaves have {} to {} hosts; it counts with {}, which are on every rail",
          shape.blocks.size(), fewest, most, fewest));
    if (of.size() < rails) {
      block.notes.push_back(fmt::format(
          "block {}: {} of {} leaves are in the file; the others count like its slowest",
          shape.blocks.size(), of.size(), rails));
      if (says_trunks_) block.trunk_bytes_per_s.resize(rails, least_up);
    }
    shape.blocks.push_back(std::move(block));
  }

  static constexpr std::size_t kMostRails = 64;

  const std::string& name_;
  detail::IbNetwork network_;
  std::vector<Leaf> leaves_;
  std::set<std::string> seen_adapters_;
  bool says_trunks_ = false;
};

}  // namespace

IbFabric read_ibnetdiscover(std::string_view text, const std::string& name) {
  return Reader(text, name).fabric();
}

}  // namespace refit
