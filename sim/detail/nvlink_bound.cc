#include "sim/detail/nvlink_bound.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sim/detail/flow_rows.h"
#include "sim/detail/full_domains.h"
#include "sim/detail/linear_program.h"

namespace refit::detail {
namespace {

constexpr double kNone = LinearProgram::kUnbounded;
constexpr std::size_t kMostColumns = 60'000;  // a few seconds of the solver
constexpr double kNoShare = 1e-6;             // less of a content is rounding
constexpr double kSlack = 1.002;              // of the time, for the solution with fewest bytes

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// About how many columns; what makes the lists costs no less.
std::size_t about_columns(const Demand& demand) {
  std::size_t columns = 0;
  for (const Demand::Pair& pair : demand.pairs)
    columns += demand.lists[pair.owners]->size() + demand.lists[pair.demanders]->size();
  return columns;
}

// The program. Columns of a group: `sends` of each island, copies that each island `receives`, the
// part that comes in at each taker's NIC, what each owner first hands out by NVLink and by its own
// NIC.
class Program {
 public:
  // `most_s`: the least time is known, and the fewest bytes that NICs bring beside it are asked
  // for.
  Program(const std::vector<Group>& groups, const Cluster& cluster, const DomainClasses& view,
          const Ports& ports, const std::vector<bool>& full, double least_s,
          std::optional<double> most_s)
      : ports_(ports),
        least_bytes_(most_s.has_value()),
        t_(program_.add_column(least_bytes_ ? 0 : 1)),
        most_copies_(program_.add_column(least_bytes_ ? gigabytes_of(groups) : 0)),
        most_handed_(program_.add_column(least_bytes_ ? gigabytes_of(groups) : 0)),
        island_out_(program_, t_, view.out_bytes_per_s),
        island_in_(program_, t_, view.in_bytes_per_s),
        nic_out_(program_, t_,
                 rates_of(cluster, [&](Rank r) { return ports.rate(cluster.nic_out(r)); })),
        nic_in_(program_, t_,
                rates_of(cluster, [&](Rank r) { return ports.rate(cluster.nic_in(r)); })),
        nvlink_out_(program_, t_,
                    rates_of(cluster,
                             [&](Rank r) {
                               return full[at(view.of_rank[r.index()])] ? ports.nvlink_out(r) : 0;
                             })),
        trunks_(view, program_, t_),
        full_(full) {
    program_.set(program_.add_row(least_s, most_s.value_or(kNone)), t_, 1);
    // Ranks that share a NIC are one place.
    std::map<LinkId, int> out, in;
    for (int r = 0; r < cluster.gpus(); ++r) {
      out_place_.push_back(out.try_emplace(cluster.nic_out(Rank(r)), r).first->second);
      in_place_.push_back(in.try_emplace(cluster.nic_in(Rank(r)), r).first->second);
    }
    lacks_.assign(at(cluster.gpus()), 0);
    comes_in_.resize(lacks_.size());
    for (const Group& group : groups) add(group);
    add_nvlink_in(view);
  }

  LinearProgram::Solution optimum() const { return program_.optimum(); }
  std::optional<LinearProgram::Solution> minimise() const { return program_.minimise(); }

  // By pair.
  std::vector<std::vector<NicShare>> nic_shares(const LinearProgram::Solution& solution,
                                                std::size_t pairs) const {
    std::vector<std::vector<NicShare>> shares(pairs);
    for (const NicColumns& nic : nic_columns_) {
      const auto share = [&](int column) { return solution.x[at(column)] / nic.group->gigabytes; };
      const double all = share(nic.all), handed = std::min(all, share(nic.handed));
      if (all > kNoShare)
        shares[static_cast<std::size_t>(nic.group->pair)].push_back(
            {nic.rank, handed, all - handed});
    }
    return shares;
  }

 private:
  template <class Rate>
  static std::vector<double> rates_of(const Cluster& cluster, const Rate& rate) {
    std::vector<double> rates;
    for (int r = 0; r < cluster.gpus(); ++r) rates.push_back(rate(Rank(r)));
    return rates;
  }

  static double gigabytes_of(const std::vector<Group>& groups) {
    double sum = 0;
    for (const Group& group : groups) sum += group.gigabytes;
    return sum;
  }

  void add(const Group& group) {
    const DomainClasses::Class& c = *group.c;
    const double gigabytes = group.gigabytes;
    std::vector<Received> received;
    double fixed = 0;
    for (const int i : c.needers) {
      if (full_[at(i)]) {
        received.push_back({i, add_receive(gigabytes)});
      } else {
        received.push_back({i, -1, gigabytes});
        fixed += gigabytes;
      }
    }
    const bool others = c.owners.size() > 1 || !c.needers.empty();  // that could send it in
    for (const Side& side : group.sides) {
      if (others && !side.owners.empty() && !side.takers.empty())
        received.push_back({side.island, add_receive(0)});
    }
    add_sends(group, received, fixed);
    add_copies(group, received, fixed);
    for (const Side& side : group.sides) {
      const auto found = std::find_if(received.begin(), received.end(),
                                      [&](const Received& r) { return r.island == side.island; });
      add_side(group, side, found == received.end() ? -1 : found->column,
               copies_elsewhere(received, side.island));
    }
  }

  // Of an island that needs it, or of all if none does.
  void add_copies(const Group& group, const std::vector<Received>& received, double fixed) {
    if (!least_bytes_ || received.empty()) return;
    const int row = program_.add_row(-kNone, -fixed);
    const auto islands = static_cast<double>(std::max<std::size_t>(1, group.c->needers.size()));
    program_.set(row, most_copies_, -islands * group.gigabytes);
    for (const Received& r : received) {
      if (r.column >= 0) program_.set(row, r.column, 1);
    }
  }

  // How often a byte can come in anywhere else, at most: once to a rank.
  double copies_elsewhere(const std::vector<Received>& received, int island) const {
    std::size_t copies = 0;
    for (const Received& r : received) {
      if (r.island != island) copies += r.column < 0 ? 1 : ports_.ranks(r.island).size();
    }
    return static_cast<double>(copies);
  }

  int add_receive(double least) {
    const int column = program_.add_column(least_bytes_ ? 1 : 0);
    if (least > 0) program_.set(program_.add_row(least, kNone), column, 1);
    return column;
  }

  void add_sends(const Group& group, const std::vector<Received>& received, double fixed) {
    sends_.clear();
    if (received.empty()) return;
    const DomainClasses::Class& c = *group.c;
    if (trunks_.any()) trunks_.begin(c, group.gigabytes, received);
    const int sum = program_.add_row(fixed, fixed);
    const int once = c.needers.empty() ? -1 : program_.add_row(group.gigabytes, kNone);
    const auto add = [&](int island, bool owns) {
      const int y = sends_[island] = program_.add_column(0);
      island_out_.use(island, y);
      program_.set(sum, y, 1);
      if (owns && once >= 0) program_.set(once, y, 1);
      if (trunks_.any()) trunks_.add_sender(island, y);
    };
    for (const int i : c.owners) add(i, true);
    for (const int i : c.needers) add(i, false);
    for (const Received& r : received) {
      if (r.column < 0) continue;
      program_.set(sum, r.column, -1);
      island_in_.use(r.island, r.column);
      // Nobody sends to itself.
      const int from_others = program_.add_row(0, kNone);
      program_.set(from_others, r.column, -1);
      for (const auto& [island, y] : sends_) {
        if (island != r.island) program_.set(from_others, y, 1);
      }
    }
  }

  void add_side(const Group& group, const Side& side, int receives, double copies) {
    for (const Rank r : side.takers) lacks_[r.index()] += group.gigabytes;
    const bool sends = sends_.contains(side.island) && !side.owners.empty();
    if (side.takers.empty() && !sends) return;
    // By NVLink each byte first comes from an owner or from where it came in, unless all takers
    // took it in themselves.
    const int handed = side.takers.empty() ? -1 : program_.add_row(group.gigabytes, kNone);
    if (receives >= 0) add_entries(group, side, receives, handed);
    if (!side.owners.empty()) add_owners(group, side, receives, copies, handed);
  }

  // Each copy comes in at one NIC.
  void add_entries(const Group& group, const Side& side, int receives, int handed) {
    const int copies = program_.add_row(0, 0);
    program_.set(copies, receives, 1);
    const int by_one = program_.add_row(-kNone, group.gigabytes);  // each byte at most
    const int by_all = program_.add_column(0);  // what all takers take in themselves
    program_.set(handed, by_all, 1);
    program_.set(by_one, by_all, 1);
    for (const Rank r : ports_.ranks(side.island)) {
      if (std::binary_search(side.owners.begin(), side.owners.end(), r)) continue;
      const bool takes = std::binary_search(side.takers.begin(), side.takers.end(), r);
      const int q = program_.add_column(0), f = program_.add_column(0);
      program_.set(copies, q, -1);
      program_.set(program_.add_row(-kNone, group.gigabytes), q, 1);
      nic_in_.use(in_place_[r.index()], q);
      if (takes) comes_in_[r.index()].push_back(q);
      nic_columns_.push_back({&group, r, q, f});
      const int first = program_.add_row(0, kNone);
      program_.set(first, q, 1);
      program_.set(first, f, -1);
      if (takes) program_.set(first, by_all, -1);
      nvlink_out_.use(r.value, f);
      program_.set(handed, f, 1);
      program_.set(by_one, f, 1);
      if (!least_bytes_) continue;
      const int even = program_.add_row(-kNone, 0);
      program_.set(even, f, 1);
      program_.set(even, most_handed_, -group.gigabytes);
    }
  }

  // Each byte comes to the island's takers from an owner by NVLink, or over a NIC; and other NICs
  // than the owners' can send only what an owner has handed to their ranks or came in, each byte
  // `copies` times.
  void add_owners(const Group& group, const Side& side, int receives, double copies, int handed) {
    const auto sends = sends_.find(side.island);
    const bool sent_on = sends != sends_.end();
    const int reach = side.takers.empty() ? -1 : program_.add_row(group.gigabytes, kNone);
    const int sent = sent_on ? program_.add_row(0, kNone) : -1;
    const int by_owners = sent_on ? program_.add_row(0, kNone) : -1;
    const bool nobody_else = group.c->owners.size() == 1 && !group.c->needers.empty();
    const int leave = nobody_else ? program_.add_row(group.gigabytes, kNone) : -1;
    const auto set = [&](int row, int column, double value) {
      if (row >= 0) program_.set(row, column, value);
    };
    if (sent_on) {
      set(sent, sends->second, -1);
      set(by_owners, sends->second, 1);
    }
    if (receives >= 0) {
      set(reach, receives, 1);
      set(sent, receives, copies);
    }
    for (const Rank owner : side.owners) {
      const int n = program_.add_column(0);
      nvlink_out_.use(owner.value, n);
      set(reach, n, 1);
      set(handed, n, 1);
      set(sent, n, copies);
      set(leave, n, 1);
      if (!sent_on) continue;
      const int e = program_.add_column(0);
      nic_out_.use(out_place_[owner.index()], e);
      set(sent, e, 1);
      set(by_owners, e, -1);
      set(leave, e, 1);
    }
  }

  // What a rank lacks and does not take in at its NIC comes by NVLink.
  void add_nvlink_in(const DomainClasses& view) {
    for (std::size_t r = 0; r < lacks_.size(); ++r) {
      if (!full_[at(view.of_rank[r])] || lacks_[r] == 0) continue;
      const int row = program_.add_row(lacks_[r], kNone);
      program_.set(row, t_, ports_.nvlink_in(Rank(static_cast<int>(r))) * kGigabytes);
      for (const int q : comes_in_[r]) program_.set(row, q, 1);
    }
  }

  struct NicColumns {
    const Group* group;
    Rank rank;
    int all, handed;
  };

  const Ports& ports_;
  const bool least_bytes_;
  LinearProgram program_;
  const int t_;
  // The most copies of a group, and the largest part of one that a rank hands on: what is spread
  // over all can be sent in time.
  const int most_copies_, most_handed_;
  RateRows island_out_, island_in_, nic_out_, nic_in_, nvlink_out_;
  TrunkRows trunks_;
  const std::vector<bool>& full_;
  std::vector<int> out_place_, in_place_;   // by rank
  std::vector<double> lacks_;               // gigabytes by rank
  std::vector<std::vector<int>> comes_in_;  // columns by rank
  std::map<int, int> sends_;                // of the group that is being added, by island
  std::vector<NicColumns> nic_columns_;
};

}  // namespace

NvlinkBound nvlink_bound(const Demand& demand, const Cluster& cluster, const DomainClasses& view,
                         double seconds) {
  NvlinkBound bound{seconds, {}};
  const Ports ports(cluster, view);
  const std::vector<bool> full = full_islands(demand, view, ports, seconds);
  if (std::find(full.begin(), full.end(), true) == full.end()) return bound;
  if (about_columns(demand) > kMostColumns) return bound;
  std::vector<int> class_of_pair(demand.pairs.size(), 0);
  for (std::size_t p = 0; p < view.of_parcel.size(); ++p)
    class_of_pair[demand.pair_of_parcel[p]] = view.of_parcel[p];
  const std::vector<Group> groups = make_groups(demand, view, class_of_pair, full);
  bound.seconds =
      std::max(seconds, Program(groups, cluster, view, ports, full, seconds, {}).optimum().cost);
  const Program fewest(groups, cluster, view, ports, full, seconds, bound.seconds * kSlack);
  if (const auto solution = fewest.minimise())
    bound.nic_shares = fewest.nic_shares(*solution, demand.pairs.size());
  return bound;
}

}  // namespace refit::detail
