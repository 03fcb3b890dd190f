#include "planner/optimal/inside.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace refit {
namespace {

constexpr double kNearlyFull = 0.6;               // of the bound's time, by the busiest NVLink port
constexpr std::size_t kMostHandedOn = 1'000'000;  // transfers; above, a swarm would take too long
constexpr std::int64_t kOwned = -1;

// Every rank an island of its own, and its NVLink port the NIC, which serves so many slowest ones
// at a time.
PlanNetwork nvlink_network(const PlanNetwork& wires, int at_a_time) {
  PlanNetwork network;
  const double slowest =
      *std::min_element(wires.nvlink_bytes_per_s.begin(), wires.nvlink_bytes_per_s.end());
  for (int r = 0; r < wires.ranks(); ++r) {
    const double rate = wires.nvlink_bytes_per_s[static_cast<std::size_t>(r)];
    network.send_ports.push_back({rate, {at_a_time * places(rate, slowest), 1}});
    network.send_port.push_back(r);
    network.island_ranks.push_back({Rank(r)});
  }
  network.receive_ports = network.send_ports;
  network.receive_port = network.island = network.send_port;
  network.rail.assign(network.send_port.size(), 0);
  network.pod.assign(network.send_port.size(), kNobody);
  return network;
}

struct IslandLists {
  std::vector<Rank> owners, takers;  // takers demand it and own none
};

std::map<int, IslandLists> lists_by_island(const Content& content, const PlanNetwork& network) {
  std::map<int, IslandLists> islands;
  for (const Rank owner : *content.owners)
    islands[network.island[owner.index()]].owners.push_back(owner);
  for (const Rank rank : *content.demanders) {
    if (!std::binary_search(content.owners->begin(), content.owners->end(), rank))
      islands[network.island[rank.index()]].takers.push_back(rank);
  }
  std::erase_if(islands, [](const auto& island) { return island.second.takers.empty(); });
  return islands;
}

// The chunks that NVLink moves, one after the other.
class Builder {
 public:
  Builder(const Solution& wires, const Setting& setting)
      : wires_(wires), most_holders_(static_cast<std::size_t>(setting.holders)) {
    const auto ranks = static_cast<std::size_t>(wires.network.ranks());
    in_bytes_.assign(ranks, 0);
    out_bytes_.assign(ranks, 0);
    handed_bytes_.assign(ranks, 0);
    op_of_delivery_.assign(wires.assignment.deliveries.size(), kOwned);
    for (std::size_t op = 0; op < wires.swarm.ops.size(); ++op)
      op_of_delivery_[wires.swarm.ops[op].delivery] = static_cast<std::int64_t>(op);
    for (const WireOp& op : wires.swarm.ops) {
      if (op.after >= 0 || op.via == kNobody) continue;
      const std::uint32_t chunk = wires.assignment.deliveries[op.delivery].chunk;
      if (!handed_first_.emplace(chunk, op.src).second) continue;
      handed_bytes_[static_cast<std::size_t>(op.via)] += wires.assignment.chunks[chunk].bytes;
    }
    chunks_of_content_.assign(wires.contents.size(), {});
    for (const PlanChunk& chunk : wires.assignment.chunks)
      chunks_of_content_[static_cast<std::size_t>(chunk.content)].push_back(&chunk);
  }

  // What is owned inside, and with `hand_on` what comes over wires.
  Inside run(bool hand_on) {
    inside_.hands_on = hand_on;
    for (std::size_t c = 0; c < wires_.contents.size(); ++c) {
      for (const auto& [island, lists] : lists_by_island(wires_.contents[c], wires_.network)) {
        if (lists.owners.empty() && !hand_on) continue;
        add_content(static_cast<std::int32_t>(c), island, lists);
      }
    }
    return std::move(inside_);
  }

  double busiest_s() const {
    double most = 0;
    for (std::size_t r = 0; r < in_bytes_.size(); ++r) {
      most = std::max(most,
                      std::max(in_bytes_[r], out_bytes_[r]) / wires_.network.nvlink_bytes_per_s[r]);
    }
    return most;
  }

 private:
  void add_content(std::int32_t c, int island, const IslandLists& lists) {
    const Content& content = wires_.contents[static_cast<std::size_t>(c)];
    auto wire = chunks_of_content_[static_cast<std::size_t>(c)].begin();
    const auto end = chunks_of_content_[static_cast<std::size_t>(c)].end();
    for (std::int32_t i = 0; i < content.chunks; ++i) {
      const bool sent = wire != end && (*wire)->index == i;
      const std::vector<Entry> entries = sent ? entries_into(**wire, island) : std::vector<Entry>{};
      if (sent) ++wire;
      PlanChunk chunk;
      chunk.bytes = content.bytes_of_chunk(i);
      chunk.content = c;
      chunk.index = i;
      add_chunk(chunk, lists, entries);
    }
  }

  struct Entry {
    Rank rank;
    std::int64_t op = kOwned;
    bool alone = false;
  };
  std::vector<Entry> entries_into(const PlanChunk& chunk, int island) const {
    std::vector<Entry> entries;
    for (std::uint32_t d = chunk.first; d < chunk.end; ++d) {
      const PlanDelivery& delivery = wires_.assignment.deliveries[d];
      const Rank rank(delivery.entry);
      if (wires_.network.island[rank.index()] == island)
        entries.push_back({rank, op_of_delivery_[d], delivery.alone});
    }
    const auto number = static_cast<std::uint32_t>(&chunk - wires_.assignment.chunks.data());
    for (auto it = handed_first_.lower_bound({number, Rank(0)});
         it != handed_first_.end() && it->first == number; ++it) {
      if (wires_.network.island[it->second.index()] == island)
        entries.push_back({it->second, kOwned, true});
    }
    return entries;
  }

  void add_chunk(PlanChunk chunk, const IslandLists& lists, const std::vector<Entry>& entries) {
    Assignment& plan = inside_.assignment;
    chunk.first = static_cast<std::uint32_t>(plan.deliveries.size());
    const auto number = static_cast<std::uint32_t>(plan.chunks.size());
    for (const Rank taker : lists.takers) {
      const bool enters = std::any_of(entries.begin(), entries.end(),
                                      [&](const Entry& e) { return e.rank == taker; });
      if (enters) continue;
      plan.add({taker.value, number, false});
      in_bytes_[taker.index()] += chunk.bytes;
    }
    chunk.end = static_cast<std::uint32_t>(plan.deliveries.size());
    if (chunk.first == chunk.end) return;
    chunk.holders_begin = static_cast<std::uint32_t>(plan.holders.size());
    std::int64_t brought_by = kOwned;
    // Who takes it in for itself only hands it on only if nobody else does.
    const auto hands_on =
        std::find_if(entries.begin(), entries.end(), [](const Entry& e) { return !e.alone; });
    if (hands_on == entries.end() && !lists.owners.empty()) {
      add_owners(lists.owners, chunk.bytes);
    } else {
      const Entry& from = hands_on == entries.end() ? entries.front() : *hands_on;
      brought_by = from.op;
      plan.holders.push_back(from.rank.value);
      out_bytes_[from.rank.index()] += chunk.bytes * (chunk.end - chunk.first);
    }
    chunk.holders_end = static_cast<std::uint32_t>(plan.holders.size());
    plan.chunks.push_back(chunk);
    inside_.brought_by.push_back(brought_by);
  }

  // Who sends least first, and others in turn.
  void add_owners(const std::vector<Rank>& owners, double bytes) {
    Assignment& plan = inside_.assignment;
    const auto load = [&](Rank r) {
      return (out_bytes_[r.index()] + handed_bytes_[r.index()]) /
             wires_.network.nvlink_bytes_per_s[r.index()];
    };
    const Rank first = *std::min_element(owners.begin(), owners.end(),
                                         [&](Rank a, Rank b) { return load(a) < load(b); });
    out_bytes_[first.index()] += bytes;
    plan.holders.push_back(first.value);
    for (std::size_t k = 0, added = 1; k < owners.size() && added < most_holders_; ++k) {
      const Rank owner = owners[(plan.chunks.size() + k) % owners.size()];
      if (owner == first) continue;
      plan.holders.push_back(owner.value);
      ++added;
    }
  }

  const Solution& wires_;
  const std::size_t most_holders_;
  std::vector<std::int64_t> op_of_delivery_;
  std::vector<std::vector<const PlanChunk*>> chunks_of_content_;
  // Chunks that an owner hands to a rank that is to send them out, and perhaps wants them itself.
  std::set<std::pair<std::uint32_t, Rank>> handed_first_;
  std::vector<double> in_bytes_, out_bytes_, handed_bytes_;  // by rank
  Inside inside_;
};

// Transfers inside islands, of what comes over wires and of what is owned there.
std::size_t transfers(const Solution& wires) {
  std::size_t count = 0;
  for (const Content& content : wires.contents)
    count += static_cast<std::size_t>(content.chunks) * content.demanders->size();
  return count;
}

}  // namespace

Inside solve_inside(const Solution& wires, double bound_s, const Setting& setting) {
  Inside inside;
  bool hand_on = transfers(wires) <= kMostHandedOn;
  if (hand_on) {
    Builder all(wires, setting);
    inside = all.run(true);
    hand_on = all.busiest_s() > kNearlyFull * bound_s;
  }
  if (!hand_on) inside = Builder(wires, setting).run(false);
  if (inside.assignment.chunks.empty()) return inside;
  inside.network = nvlink_network(wires.network, setting.places.inside);
  Assignment& plan = inside.assignment;
  plan.sent_s.assign(inside.network.send_ports.size(), 0);
  std::vector<double> ready_s;
  for (std::size_t k = 0; k < plan.chunks.size(); ++k) {
    const auto holder = static_cast<std::size_t>(plan.holders_of(plan.chunks[k]).front());
    plan.sent_s[holder] += plan.chunks[k].bytes / inside.network.send_ports[holder].bytes_per_s;
    const std::int64_t op = inside.brought_by[k];
    ready_s.push_back(op == kOwned ? 0 : wires.swarm.ops[static_cast<std::size_t>(op)].end_s);
  }
  inside.swarm = run_swarm(wires.contents, plan, inside.network, bound_s, setting.swarm, ready_s);
  return inside;
}

}  // namespace refit
