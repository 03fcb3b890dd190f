#include "executor/moves.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/units.h"
#include "executor/detail/list_by_rank.h"
#include "topology/ring_entries.h"

namespace refit {
namespace {

constexpr std::uint32_t kHasIt =
    static_cast<std::uint32_t>(-1);  // held from the start, no move brings it

class Writer {
 public:
  Writer(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
         const MoveOptions& options)
      : schedule_(schedule), refit_(refit), cluster_(cluster), options_(options) {}

  // Every rank of a group but those that have a piece from the start gets it in one move.
  std::int64_t count() const {
    std::int64_t moves = 0;
    for (const Op& op : schedule_.ops) moves += count(op);
    return moves;
  }

  Moves write() {
    const std::int64_t moves = count();
    if (moves > options_.most_moves) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("the schedule is {} messages between ranks, and a run can have {} at "
                              "most; scale its bytes down (--scale) or use fewer ranks",
                              format_count(moves), format_count(options_.most_moves)));
    }
    result_.moves.reserve(static_cast<std::size_t>(moves));
    result_.first_of_op.reserve(schedule_.ops.size() + 1);
    for (std::size_t id = 0; id < schedule_.ops.size(); ++id) {
      result_.first_of_op.push_back(static_cast<std::uint32_t>(result_.moves.size()));
      op_ = OpId(static_cast<std::int64_t>(id));
      const Op& op = schedule_.ops[id];
      switch (op.kind) {
        case OpKind::transfer:
          add(op.src, op.dst, 0, op.bytes, {});
          break;
        case OpKind::broadcast:
          broadcast(op);
          break;
        case OpKind::all_gather:
          all_gather(op);
          break;
        case OpKind::barrier:
          barrier(op);
          break;
        case OpKind::compute:
          break;
      }
    }
    result_.first_of_op.push_back(static_cast<std::uint32_t>(result_.moves.size()));
    REFIT_CHECK(static_cast<std::int64_t>(result_.moves.size()) == moves);
    detail::list_by_rank(schedule_, result_);
    return std::move(result_);
  }

 private:
  std::int64_t count(const Op& op) const {
    if (op.kind == OpKind::transfer) return 1;
    if (op.kind == OpKind::compute) return 0;
    const Group& group = schedule_.groups[op.group.index()];
    if (op.kind == OpKind::barrier) return 2 * (static_cast<std::int64_t>(group.ranks.size()) - 1);
    if (op.kind == OpKind::broadcast) {
      const auto domains = domains_of(group.ranks, op.src);
      std::int64_t ranks = 0;
      for (const auto& domain : domains) ranks += static_cast<std::int64_t>(domain.size());
      // Of pieces fewer than bytes none is empty; of more, each byte is one.
      const std::size_t rails = ring_entries(cluster_, domains).front().size();
      return std::min(broadcast_pieces(op, rails), op.bytes) * (ranks - 1);
    }
    std::int64_t moves = 0;
    for (const Segment& segment : segments_of(op, group)) {
      moves += pieces_of(segment) *
               static_cast<std::int64_t>(group.ranks.size() - segment.columns.size());
    }
    return moves;
  }

  std::uint32_t add(Rank src, Rank dst, std::int64_t begin, std::int64_t end,
                    std::vector<std::uint32_t> after) {
    Move move;
    move.op = op_;
    move.src = src;
    move.dst = dst;
    move.begin = begin;
    move.end = end;
    move.after_begin = static_cast<std::uint32_t>(result_.after.size());
    result_.after.insert(result_.after.end(), after.begin(), after.end());
    move.after_end = static_cast<std::uint32_t>(result_.after.size());
    result_.moves.push_back(move);
    return static_cast<std::uint32_t>(result_.moves.size()) - 1;
  }

  // Sends on what `arrived` says that src got; notes that dst has it now.
  void forward(Rank src, Rank dst, std::int64_t begin, std::int64_t end,
               std::map<Rank, std::uint32_t>& arrived) {
    const std::uint32_t brought = arrived.at(src);
    arrived[dst] = add(src, dst, begin, end,
                       brought == kHasIt ? std::vector<std::uint32_t>{} : std::vector{brought});
  }

  std::vector<std::vector<Rank>> domains_of(std::span<const Rank> ranks, Rank first) const {
    std::vector<std::vector<Rank>> domains;
    std::map<DomainId, std::size_t> at;
    const auto put = [&](Rank rank) {
      const auto [it, is_new] = at.try_emplace(cluster_.domain(rank), domains.size());
      if (is_new) domains.emplace_back();
      domains[it->second].push_back(rank);
    };
    put(first);
    for (const Rank rank : ranks) {
      if (rank != first) put(rank);
    }
    return domains;
  }

  // Round the domain from the member that has the piece first: each hands it to the next.
  void round_domain(const std::vector<Rank>& members, std::size_t entry, std::int64_t begin,
                    std::int64_t end, std::map<Rank, std::uint32_t>& arrived) {
    for (std::size_t k = 1; k < members.size(); ++k) {
      const Rank from = members[(entry + k - 1) % members.size()];
      const Rank to = members[(entry + k) % members.size()];
      if (!arrived.contains(to)) forward(from, to, begin, end, arrived);
    }
  }

  // Equal numbers of pieces on every NIC that the ring goes through.
  std::int64_t broadcast_pieces(const Op& op, std::size_t rails) const {
    const auto width = static_cast<std::int64_t>(rails);
    return (std::max(op.bytes / options_.piece_bytes, width) + width - 1) / width * width;
  }

  void broadcast(const Op& op) {
    const Group& group = schedule_.groups[op.group.index()];
    const auto domains = domains_of(group.ranks, op.src);
    const std::vector<std::vector<Rank>> entries = ring_entries(cluster_, domains);
    const std::size_t rails = entries.front().size();
    const std::int64_t pieces = broadcast_pieces(op, rails);
    for (std::int64_t p = 0; p < pieces; ++p) {
      const std::int64_t begin = op.bytes * p / pieces;
      const std::int64_t end = op.bytes * (p + 1) / pieces;
      if (begin == end) continue;
      std::map<Rank, std::uint32_t> arrived{{op.src, kHasIt}};
      round_domain(domains.front(), 0, begin, end, arrived);
      for (std::size_t d = 1; d < domains.size(); ++d) {
        const std::vector<Rank>& to = domains[d];
        const std::size_t rail = static_cast<std::size_t>(p) % rails;
        forward(entries[d - 1][rail], entries[d][rail], begin, end, arrived);
        const auto entry =
            static_cast<std::size_t>(std::ranges::find(to, entries[d][rail]) - to.begin());
        round_domain(to, entry, begin, end, arrived);
      }
    }
  }

  // A run of the content with the same owners in the group.
  struct Segment {
    std::int64_t begin = 0, end = 0;
    std::size_t home_row = 0;
    std::vector<std::size_t> columns;  // of the home row, that own it
  };

  std::vector<Segment> segments_of(const Op& op, const Group& group) const {
    const auto width = static_cast<std::size_t>(group.width);
    std::vector<Segment> segments;
    std::int64_t offset = 0;
    for (const ParcelId id : schedule_.cargos[op.cargo.index()].parcels) {
      const Parcel& parcel = schedule_.parcels[id.index()];
      std::int64_t bytes = 0;
      for (int c = op.chunk_begin; c < op.chunk_end; ++c) bytes += bytes_of_chunk(id, c);
      if (bytes == 0) continue;
      Segment segment{offset, offset + bytes, 0, {}};
      bool found = false;
      for (std::size_t i = 0; i < group.ranks.size(); ++i) {
        if (!std::binary_search(parcel.owners.begin(), parcel.owners.end(), group.ranks[i]))
          continue;
        if (!found) segment.home_row = i / width;
        found = true;
        if (i / width == segment.home_row) segment.columns.push_back(i % width);
      }
      REFIT_CHECK(found);
      offset += bytes;
      if (!segments.empty() && segments.back().home_row == segment.home_row &&
          segments.back().columns == segment.columns) {
        segments.back().end = segment.end;
      } else {
        segments.push_back(std::move(segment));
      }
    }
    return segments;
  }

  std::int64_t bytes_of_chunk(ParcelId id, int chunk) const {
    if (options_.chunk_bytes) return options_.chunk_bytes(id, chunk);
    return chunk_wire_bytes(refit_, schedule_.parcels[id.index()], chunk);
  }

  std::int64_t pieces_of(const Segment& segment) const {
    return std::max<std::int64_t>(1, (segment.end - segment.begin) / options_.piece_bytes);
  }

  void all_gather(const Op& op) {
    const Group& group = schedule_.groups[op.group.index()];
    const auto width = static_cast<std::size_t>(group.width);
    const std::size_t rows = group.ranks.size() / width;
    std::int64_t turn = 0;
    for (const Segment& segment : segments_of(op, group)) {
      const std::int64_t size = segment.end - segment.begin;
      const std::int64_t pieces = pieces_of(segment);
      for (std::int64_t p = 0; p < pieces; ++p, ++turn) {
        const std::int64_t begin = segment.begin + size * p / pieces;
        const std::int64_t end = segment.begin + size * (p + 1) / pieces;
        std::map<Rank, std::uint32_t> arrived;
        for (const std::size_t column : segment.columns) {
          arrived[group.ranks[segment.home_row * width + column]] = kHasIt;
          // Down the column: every row gets it from the row before.
          for (std::size_t k = 1; k < rows; ++k) {
            const std::size_t from = (segment.home_row + k - 1) % rows,
                              to = (segment.home_row + k) % rows;
            forward(group.ranks[from * width + column], group.ranks[to * width + column], begin,
                    end, arrived);
          }
        }
        for (std::size_t row = 0; row < rows; ++row) {
          gather_row(std::span(group.ranks).subspan(row * width, width), begin, end, turn, arrived);
        }
      }
    }
  }

  // From the domains of a row that have the piece, on along the ring of domains.
  void gather_row(std::span<const Rank> row, std::int64_t begin, std::int64_t end,
                  std::int64_t turn, std::map<Rank, std::uint32_t>& arrived) {
    const auto domains = domains_of(row, row.front());
    const auto has = [&](const std::vector<Rank>& domain) {
      return std::any_of(domain.begin(), domain.end(), [&](Rank r) { return arrived.contains(r); });
    };
    std::size_t first = 0;
    while (!has(domains[first])) ++first;
    for (std::size_t k = 0; k < domains.size(); ++k) {
      const auto& here = domains[(first + k) % domains.size()];
      if (!has(here)) {
        const auto& before = domains[(first + k - 1) % domains.size()];
        const auto pair = static_cast<std::size_t>(turn) % std::max(before.size(), here.size());
        forward(before[pair % before.size()], here[pair % here.size()], begin, end, arrived);
      }
      std::size_t entry = 0;
      while (!arrived.contains(here[entry])) ++entry;
      round_domain(here, entry, begin, end, arrived);
    }
  }

  void barrier(const Op& op) {
    const std::vector<Rank>& ranks = schedule_.groups[op.group.index()].ranks;
    std::vector<std::uint32_t> come;
    const std::vector<std::uint32_t> no_moves;
    for (std::size_t i = 1; i < ranks.size(); ++i)
      come.push_back(add(ranks[i], ranks[0], 0, 0, {}));
    // All releases wait for the same moves: they share one list.
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      const std::uint32_t release = add(ranks[0], ranks[i], 0, 0, i == 1 ? come : no_moves);
      result_.moves[release].after_begin = result_.moves[release - i + 1].after_begin;
      result_.moves[release].after_end = result_.moves[release - i + 1].after_end;
    }
  }

  const Schedule& schedule_;
  const Refit& refit_;
  const Cluster& cluster_;
  const MoveOptions& options_;
  OpId op_;
  Moves result_;
};

}  // namespace

std::int64_t count_moves(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                         const MoveOptions& options) {
  return Writer(schedule, refit, cluster, options).count();
}

Moves write_out(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                const MoveOptions& options) {
  return Writer(schedule, refit, cluster, options).write();
}

}  // namespace refit
