#include "report/export/tables.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "base/csv_table.h"

namespace refit {
namespace {

// Times in which something ran, apart from each other. Spans are merged as soon as there are many,
// since a large plan has millions of them.
class BusyTime {
 public:
  void add(const Span& span) {
    spans_.push_back(span);
    if (spans_.size() >= 2 * merged_ + 1024) merge();
  }
  void add(BusyTime& other) {
    other.merge();
    for (const Span& span : other.spans_) add(span);
  }
  double seconds() {
    merge();
    double sum = 0;
    for (const Span& span : spans_) sum += span.end_s - span.start_s;
    return sum;
  }

 private:
  void merge() {
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.start_s < b.start_s; });
    std::vector<Span> apart;
    for (const Span& span : spans_) {
      if (!apart.empty() && span.start_s <= apart.back().end_s) {
        apart.back().end_s = std::max(apart.back().end_s, span.end_s);
      } else {
        apart.push_back(span);
      }
    }
    spans_ = std::move(apart);
    merged_ = spans_.size();
  }

  std::vector<Span> spans_;
  std::size_t merged_ = 0;
};

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string_view role_of(const Refit& refit, const Cluster& cluster, Rank rank) {
  const bool source = std::binary_search(refit.sources.begin(), refit.sources.end(), rank);
  const bool destination =
      std::binary_search(refit.destinations.begin(), refit.destinations.end(), rank);
  if (source) return destination ? "source and destination" : "source";
  if (destination) return "destination";
  return cluster.store(rank) != nullptr ? "store" : "idle";
}

// When each rank moves bytes or works.
std::vector<BusyTime> busy_ranks(const Schedule& schedule, const Timeline& timeline) {
  std::vector<BusyTime> ranks(static_cast<std::size_t>(schedule.ranks)),
      groups(schedule.groups.size());
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (op.kind == OpKind::barrier) continue;
    if (op.kind != OpKind::transfer) {
      groups[op.group.index()].add(timeline[id]);
      if (op.kind == OpKind::broadcast) ranks[op.src.index()].add(timeline[id]);
      continue;
    }
    ranks[op.src.index()].add(timeline[id]);
    ranks[op.dst.index()].add(timeline[id]);
  }
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Rank rank : schedule.groups[g].ranks) ranks[rank.index()].add(groups[g]);
  return ranks;
}

}  // namespace

std::string rank_table(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                       const Moves& moves, const Prediction& prediction) {
  struct Count {
    std::int64_t sent = 0, received = 0, messages = 0;
  };
  std::vector<Count> counts(static_cast<std::size_t>(schedule.ranks));
  for (const Move& move : moves.moves) {
    if (move.bytes() == 0 || move.src == move.dst) continue;
    counts[move.src.index()].sent += move.bytes();
    ++counts[move.src.index()].messages;
    counts[move.dst.index()].received += move.bytes();
    ++counts[move.dst.index()].messages;
  }
  std::vector<BusyTime> busy = busy_ranks(schedule, prediction.timeline);
  std::string text =
      "rank,node,domain,role,sent_bytes,received_bytes,messages,busy_s,utilisation\n";
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const Rank rank(static_cast<std::int64_t>(r));
    const double busy_s = busy[r].seconds();
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{:.9g},{:.6g}\n", r,
                   cluster.node(rank).value, cluster.domain(rank).value,
                   role_of(refit, cluster, rank), counts[r].sent, counts[r].received,
                   counts[r].messages, busy_s, share(busy_s, prediction.makespan_s));
  }
  return text;
}

std::string link_table(const FlowList& flows, const Cluster& cluster,
                       const Prediction& prediction) {
  std::vector<BusyTime> paths(flows.paths.size()), links(cluster.links().size());
  for (std::size_t op = 0; op < flows.ops; ++op)
    if (flows.moves_bytes(op)) paths[flows.path[op]].add(prediction.timeline[op]);
  for (PathId path = 0; path < flows.paths.size(); ++path)
    for (const PathLink& crossed : flows.paths.of(path))
      if (crossed.link.index() < links.size()) links[crossed.link.index()].add(paths[path]);
  std::string text = "link,name,kind,bandwidth_bytes_per_s,bytes,busy_s,utilisation\n";
  for (std::size_t l = 0; l < links.size(); ++l) {
    const Link& link = cluster.links()[l];
    const double bytes = prediction.link_bytes[l];
    fmt::format_to(std::back_inserter(text), "{},{},{},{:.9g},{:.0f},{:.9g},{:.6g}\n", l,
                   csv_cell(link.name), to_string(link.kind), link.bandwidth_bytes_per_s, bytes,
                   links[l].seconds(),
                   share(bytes, link.bandwidth_bytes_per_s * prediction.makespan_s));
  }
  return text;
}

std::string tensor_table(const Schedule& schedule, const Refit& refit, const Moves& moves,
                         const Prediction& prediction) {
  struct Count {
    double moved = 0;
    std::int64_t ops = 0;
    std::int64_t last_op = -1;
    BusyTime busy;
  };
  std::vector<Count> counts(refit.classes.size());
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    if (!moves_bytes(op)) continue;
    double delivered = 0;
    for (std::uint32_t m = moves.first_of_op[id]; m < moves.first_of_op[id + 1]; ++m)
      if (moves.moves[m].src != moves.moves[m].dst)
        delivered += static_cast<double>(moves.moves[m].bytes());
    double content = 0;
    const auto each = [&](const auto& with) {
      for (const ParcelId id_of : schedule.cargos[op.cargo.index()].parcels) {
        const Parcel& parcel = schedule.parcels[id_of.index()];
        const double part = static_cast<double>(op.chunk_end - op.chunk_begin) / parcel.chunks;
        for (const Fragment& fragment : parcel.fragments)
          with(fragment.tensor_class, part * static_cast<double>(bytes_of(refit, fragment)));
      }
    };
    each([&](ClassId, double bytes) { content += bytes; });
    each([&](ClassId tensor, double bytes) {
      Count& count = counts[tensor.index()];
      count.moved += share(delivered * bytes, content);
      if (count.last_op == static_cast<std::int64_t>(id)) return;
      count.last_op = static_cast<std::int64_t>(id);
      ++count.ops;
      count.busy.add(prediction.timeline[id]);
    });
  }
  std::string text =
      "class,tensor,role,dtype,stage,tensors,bytes,moved_bytes,ops,busy_s,utilisation\n";
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const TensorClass& tensor = refit.classes[c];
    const double busy_s = counts[c].busy.seconds();
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{:.0f},{},{:.9g},{:.6g}\n", c,
                   csv_cell(tensor.name), to_string(tensor.role), to_string(tensor.dtype),
                   tensor.stage, tensor.members.size(), tensor.bytes(), std::round(counts[c].moved),
                   counts[c].ops, busy_s, share(busy_s, prediction.makespan_s));
  }
  return text;
}

}  // namespace refit
