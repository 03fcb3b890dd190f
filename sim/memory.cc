#include "sim/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace refit {
namespace {

using Terms = std::array<double, kMemoryTerms>;

std::size_t at(MemoryTerm term) { return static_cast<std::size_t>(term); }

double sum(const Terms& terms) { return std::accumulate(terms.begin(), terms.end(), 0.0); }

void add_shards(const Layout& layout, int element_bytes, MemoryTerm term, std::vector<Terms>& now) {
  const std::vector<Rank> ranks = layout.mesh().ranks();
  const std::vector<std::int64_t> elements = layout.elements_by_index();
  for (std::size_t i = 0; i < ranks.size(); ++i)
    now[ranks[i].index()][at(term)] += static_cast<double>(elements[i] * element_bytes);
}

// Something begins or ends; at one moment ends come first.
struct Event {
  double time_s = 0;
  bool begins = false;
  std::size_t op = 0;
};

class Sweep {
 public:
  Sweep(const Schedule& schedule, const Timeline& timeline, const MemoryOptions& options,
        std::vector<Terms> now)
      : schedule_(schedule),
        timeline_(timeline),
        options_(options),
        now_(std::move(now)),
        peak_(now_) {
    in_flight_.assign(2 * now_.size() * static_cast<std::size_t>(std::max(1, schedule.lanes)), 0);
    find_relays();
  }

  std::vector<Terms> run() {
    std::vector<Event> events;
    for (std::size_t id = 0; id < schedule_.ops.size(); ++id) {
      if (!moves_bytes(schedule_.ops[id])) continue;
      events.push_back({timeline_[id].start_s, true, id});
      events.push_back({timeline_[id].end_s, false, id});
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::tuple(a.time_s, a.begins, a.op) < std::tuple(b.time_s, b.begins, b.op);
    });
    for (const Event& event : events) apply(event);
    return std::move(peak_);
  }

 private:
  // How many ops still send what each op brought to a rank that does not want it.
  void find_relays() {
    uses_.assign(schedule_.ops.size(), 0);
    for (const Op& op : schedule_.ops) {
      if (!moves_bytes(op)) continue;
      for (const OpId earlier : schedule_.after_of(op)) {
        if (is_relay(schedule_.ops[earlier.index()])) ++uses_[earlier.index()];
      }
    }
  }

  bool is_relay(const Op& op) const {
    if (op.kind != OpKind::transfer) return false;
    const Cargo& cargo = schedule_.cargos[op.cargo.index()];
    if (cargo.parcels.empty()) return false;
    const Parcel& parcel = schedule_.parcels[cargo.parcels.front().index()];
    return !std::binary_search(parcel.demanders.begin(), parcel.demanders.end(), op.dst);
  }

  void change(Rank rank, MemoryTerm term, double bytes) {
    Terms& now = now_[rank.index()];
    now[at(term)] += bytes;
    if (bytes > 0 && sum(now) > sum(peak_[rank.index()])) peak_[rank.index()] = now;
  }

  // Packed copies of a lane's messages, no more than the slots hold.
  void stage(Rank rank, const Op& op, bool sending, double bytes) {
    const std::size_t slot =
        2 * (rank.index() * static_cast<std::size_t>(schedule_.lanes) + op.lane) +
        (sending ? 1 : 0);
    const double before = std::min(in_flight_[slot], options_.staging_bytes);
    in_flight_[slot] += bytes;
    change(rank, MemoryTerm::staging, std::min(in_flight_[slot], options_.staging_bytes) - before);
  }

  void apply(const Event& event) {
    const Op& op = schedule_.ops[event.op];
    const double bytes = static_cast<double>(op.bytes) * (event.begins ? 1 : -1);
    if (is_collective(op)) {
      for (const Rank rank : schedule_.groups[op.group.index()].ranks)
        change(rank, MemoryTerm::buckets, bytes);
    } else {
      stage(op.src, op, true, bytes);
      stage(op.dst, op, false, bytes);
      if (event.begins && is_relay(op)) change(op.dst, MemoryTerm::relayed, bytes);
    }
    if (event.begins) return;
    for (const OpId earlier : schedule_.after_of(op)) {
      const Op& brought = schedule_.ops[earlier.index()];
      if (is_relay(brought) && --uses_[earlier.index()] == 0)
        change(brought.dst, MemoryTerm::relayed, -static_cast<double>(brought.bytes));
    }
  }

  const Schedule& schedule_;
  const Timeline& timeline_;
  const MemoryOptions& options_;
  std::vector<Terms> now_, peak_;  // by rank
  std::vector<double> in_flight_;  // by rank, lane, direction
  std::vector<int> uses_;          // by op
};

void add_communicators(const Schedule& schedule, double bytes, std::vector<Terms>& now) {
  std::set<std::pair<Rank, int>> used;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer) {
      used.emplace(op.src, op.lane);
      used.emplace(op.dst, op.lane);
    }
  }
  std::set<std::pair<std::int32_t, int>> groups;
  for (const Op& op : schedule.ops) {
    if (!is_collective(op) || !groups.emplace(op.group.value, op.lane).second) continue;
    for (const Rank rank : schedule.groups[op.group.index()].ranks) used.emplace(rank, op.lane);
  }
  for (const auto& [rank, lane] : used) now[rank.index()][at(MemoryTerm::communicators)] += bytes;
}

}  // namespace

std::string_view to_string(MemoryTerm term) {
  switch (term) {
    case MemoryTerm::source_shards:
      return "source shards";
    case MemoryTerm::destination_shards:
      return "destination shards";
    case MemoryTerm::buckets:
      return "buckets of collectives";
    case MemoryTerm::relayed:
      return "content handed on";
    case MemoryTerm::staging:
      return "staging";
    case MemoryTerm::communicators:
      return "communicators";
  }
  return "?";
}

double RankMemoryUse::total() const { return sum(bytes); }

MemoryTerm RankMemoryUse::dominant() const {
  return static_cast<MemoryTerm>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

MemoryUse memory_use(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                     const Timeline& timeline, const MemoryOptions& options) {
  std::vector<Terms> start(static_cast<std::size_t>(schedule.ranks), Terms{});
  for (const TensorClass& c : refit.classes) {
    add_shards(c.source, bytes_per_element(c.dtype), MemoryTerm::source_shards, start);
    add_shards(c.destination, bytes_per_element(c.dtype), MemoryTerm::destination_shards, start);
  }
  add_communicators(schedule, options.communicator_bytes, start);

  MemoryUse use;
  double most = -1;
  for (const Terms& terms : Sweep(schedule, timeline, options, std::move(start)).run()) {
    const Rank rank(static_cast<std::int64_t>(use.peak.size()));
    use.peak.push_back({terms});
    const double total = sum(terms);
    const double room = cluster.group(rank).gpu_memory_bytes;
    if (room > 0 && total > room && !use.first_over) use.first_over = rank;
    if (total <= most) continue;
    most = total;
    use.largest = rank;
  }
  return use;
}

}  // namespace refit
