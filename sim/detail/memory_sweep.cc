#include "sim/detail/memory_sweep.h"

#include <algorithm>
#include <set>
#include <utility>

namespace refit::detail {
namespace {

void add_shards(const Layout& layout, int element_bytes, MemoryTerm term,
                std::vector<MemoryTerms>& now) {
  const std::vector<Rank> ranks = layout.mesh().ranks();
  const std::vector<std::int64_t> elements = layout.elements_by_index();
  for (std::size_t i = 0; i < ranks.size(); ++i)
    now[ranks[i].index()][index_of(term)] += static_cast<double>(elements[i] * element_bytes);
}

void add_communicators(const Schedule& schedule, double bytes, std::vector<MemoryTerms>& now) {
  const auto lanes = static_cast<std::size_t>(std::max(1, schedule.lanes));
  std::vector<bool> used(now.size() * lanes, false);  // [rank][lane]
  const auto use = [&](Rank rank, const Op& op) { used[rank.index() * lanes + op.lane] = true; };
  std::set<std::pair<std::int32_t, int>> groups;
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer) {
      use(op.src, op);
      use(op.dst, op);
    } else if (is_collective(op) && groups.emplace(op.group.value, op.lane).second) {
      for (const Rank rank : schedule.groups[op.group.index()].ranks) use(rank, op);
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) now[i / lanes][index_of(MemoryTerm::communicators)] += bytes;
}

// What a rank looks for changes in, and what a receiver is sent in another form than its own.
void add_baselines(const Schedule& schedule, const Refit& refit, std::vector<MemoryTerms>& now) {
  const MemoryTerm term =
      schedule.coding->place == CodingPlace::gpu ? MemoryTerm::baselines : MemoryTerm::host_copies;
  for (const Op& op : schedule.ops) {
    if (op.work != Work::scan) continue;
    for (const Rank rank : schedule.groups[op.group.index()].ranks)
      now[rank.index()][index_of(term)] += static_cast<double>(op.bytes);
  }
  for (const TensorClass& c : refit.classes) {
    const bool converted = std::any_of(
        c.conversions.begin(), c.conversions.end(),
        [](const Conversion& conversion) { return conversion.side == EdgeSide::destination; });
    if (converted) add_shards(c.destination, bytes_per_element(c.dtype), term, now);
  }
}

}  // namespace

std::vector<MemoryTerms> memory_at_start(const Schedule& schedule, const Refit& refit,
                                         const MemoryOptions& options) {
  std::vector<MemoryTerms> start(static_cast<std::size_t>(schedule.ranks), MemoryTerms{});
  for (const TensorClass& c : refit.classes) {
    add_shards(c.source, bytes_per_element(c.dtype), MemoryTerm::source_shards, start);
    add_shards(c.destination, bytes_per_element(c.dtype), MemoryTerm::destination_shards, start);
  }
  add_communicators(schedule, options.communicator_bytes, start);
  if (schedule.coding) add_baselines(schedule, refit, start);
  return start;
}

MemorySweep::MemorySweep(const Schedule& schedule, const Cluster& cluster, const Timeline& timeline,
                         const MemoryOptions& options, std::vector<MemoryTerms> start)
    : schedule_(schedule),
      cluster_(cluster),
      timeline_(timeline),
      options_(options),
      now_(std::move(start)) {
  for (const MemoryTerms& terms : now_) peak_.push_back({terms, 0});
  for (const Span& span : timeline) makespan_s_ = std::max(makespan_s_, span.end_s);
  packed_.assign(2 * now_.size() * static_cast<std::size_t>(std::max(1, schedule.lanes)), 0);
  by_socket_ = packed_;
  find_relays();
}

void MemorySweep::trace(Rank rank, std::size_t points) {
  Trace& trace = traces_[rank];
  trace.points.assign(points, now_[rank.index()]);
}

void MemorySweep::run() {
  std::vector<Event> begins, ends;
  begins.reserve(schedule_.ops.size());
  ends.reserve(schedule_.ops.size());
  for (std::size_t id = 0; id < schedule_.ops.size(); ++id) {
    if (!moves_bytes(schedule_.ops[id])) continue;
    begins.push_back({timeline_[id].start_s, static_cast<std::uint32_t>(id)});
    ends.push_back({timeline_[id].end_s, static_cast<std::uint32_t>(id)});
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  // At one moment ends come first.
  auto begin = begins.begin();
  for (const Event& end : ends) {
    for (; begin != begins.end() && begin->time_s < end.time_s; ++begin) apply(*begin, true);
    apply(end, false);
  }
  for (; begin != begins.end(); ++begin) apply(*begin, true);
  for (auto& [rank, trace] : traces_)
    open_parts(trace, trace.points.size() - 1, now_[rank.index()]);
}

void MemorySweep::find_relays() {
  for (const Op& op : schedule_.ops) is_relay_.push_back(to_relay(op));
  uses_.assign(schedule_.ops.size(), 0);
  for (const Op& op : schedule_.ops) {
    if (!moves_bytes(op)) continue;
    for (const OpId earlier : schedule_.after_of(op)) {
      if (is_relay_[earlier.index()]) ++uses_[earlier.index()];
    }
  }
}

// Whether the op brings its receiver what it does not demand.
bool MemorySweep::to_relay(const Op& op) const {
  if (op.kind != OpKind::transfer) return false;
  const Cargo& cargo = schedule_.cargos[op.cargo.index()];
  if (cargo.parcels.empty()) return false;
  const Parcel& parcel = schedule_.parcels[cargo.parcels.front().index()];
  return !std::binary_search(parcel.demanders.begin(), parcel.demanders.end(), op.dst);
}

// Parts that begin now begin with what there is.
void MemorySweep::open_parts(Trace& trace, std::size_t part, const MemoryTerms& now) const {
  while (trace.open < part) trace.points[++trace.open] = now;
}

void MemorySweep::change(Rank rank, MemoryTerm term, double bytes) {
  MemoryTerms& now = now_[rank.index()];
  const auto traced = traces_.find(rank);
  if (traced != traces_.end()) {
    Trace& trace = traced->second;
    const auto parts = static_cast<double>(trace.points.size());
    const double part = makespan_s_ > 0 ? now_s_ / makespan_s_ * parts : 0;
    open_parts(trace, std::min(trace.points.size() - 1, static_cast<std::size_t>(part)), now);
  }
  now[index_of(term)] += bytes;
  const auto raise = [&](MemoryTerms& most) {
    constexpr std::size_t kHost = index_of(MemoryTerm::host_copies);
    const double host = std::max(most[kHost], now[kHost]);
    const bool fuller = gpu_bytes(now) > gpu_bytes(most);
    if (fuller) most = now;
    most[kHost] = host;
    return fuller;
  };
  if (bytes <= 0) return;
  if (raise(peak_[rank.index()].bytes)) peak_[rank.index()].when_s = now_s_;
  if (traced != traces_.end()) raise(traced->second.points[traced->second.open]);
}

// Copies of a lane's messages in one direction, no more than its slots hold.
void MemorySweep::copy(Rank rank, const Op& op, bool sending, MemoryTerm term, double bytes) {
  const std::size_t lane = rank.index() * static_cast<std::size_t>(schedule_.lanes) + op.lane;
  double& in_flight =
      (term == MemoryTerm::staging ? packed_ : by_socket_)[2 * lane + (sending ? 1 : 0)];
  const double before = std::min(in_flight, options_.staging_bytes);
  in_flight += bytes;
  change(rank, term, std::min(in_flight, options_.staging_bytes) - before);
}

// Both ends of a message between sites; of a collective over several, whoever takes part: which of
// them are at the border is the transport's choice.
void MemorySweep::copy_to_host(const Op& op, double bytes) {
  if (!is_collective(op)) {
    if (cluster_.site(op.src) == cluster_.site(op.dst)) return;
    copy(op.src, op, true, MemoryTerm::host_copies, bytes);
    copy(op.dst, op, false, MemoryTerm::host_copies, bytes);
    return;
  }
  const std::vector<Rank>& ranks = schedule_.groups[op.group.index()].ranks;
  if (std::all_of(ranks.begin(), ranks.end(),
                  [&](Rank rank) { return cluster_.site(rank) == cluster_.site(ranks.front()); }))
    return;
  for (const Rank rank : ranks) {
    copy(rank, op, true, MemoryTerm::host_copies, bytes);
    copy(rank, op, false, MemoryTerm::host_copies, bytes);
  }
}

void MemorySweep::apply(const Event& event, bool begins) {
  const Op& op = schedule_.ops[event.op];
  now_s_ = event.time_s;
  const double bytes = static_cast<double>(op.bytes) * (begins ? 1 : -1);
  if (is_collective(op)) {
    for (const Rank rank : schedule_.groups[op.group.index()].ranks)
      change(rank, MemoryTerm::buckets, bytes);
  } else {
    copy(op.src, op, true, MemoryTerm::staging, bytes);
    copy(op.dst, op, false, MemoryTerm::staging, bytes);
    if (begins && is_relay_[event.op]) change(op.dst, MemoryTerm::relayed, bytes);
  }
  if (cluster_.sites() > 1) copy_to_host(op, bytes);
  if (begins) return;
  for (const OpId earlier : schedule_.after_of(op)) {
    const Op& brought = schedule_.ops[earlier.index()];
    if (is_relay_[earlier.index()] && --uses_[earlier.index()] == 0)
      change(brought.dst, MemoryTerm::relayed, -static_cast<double>(brought.bytes));
  }
}

}  // namespace refit::detail
