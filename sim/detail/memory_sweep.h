#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/timeline.h"
#include "sim/memory.h"
#include "topology/cluster.h"

namespace refit::detail {

// What every rank holds before anything moves.
std::vector<MemoryTerms> memory_at_start(const Schedule& schedule, const Refit& refit,
                                         const MemoryOptions& options);

// Goes through a refit in time, and keeps how full every rank gets.
class MemorySweep {
 public:
  MemorySweep(const Schedule& schedule, const Cluster& cluster, const Timeline& timeline,
              const MemoryOptions& options, std::vector<MemoryTerms> start);

  // Keeps the curve of a rank, too, in so many parts; before run().
  void trace(Rank rank, std::size_t points);

  void run();

  const std::vector<RankMemoryUse>& peaks() const { return peak_; }
  const std::vector<MemoryTerms>& curve(Rank rank) const { return traces_.at(rank).points; }
  double makespan_s() const { return makespan_s_; }

 private:
  // An op begins or ends.
  struct Event {
    double time_s = 0;
    std::uint32_t op = 0;

    friend auto operator<=>(const Event&, const Event&) = default;
  };
  struct Trace {
    std::vector<MemoryTerms> points;
    std::size_t open = 0;  // the part that we are in
  };

  void find_relays();
  bool to_relay(const Op& op) const;
  void apply(const Event& event, bool begins);
  void copy(Rank rank, const Op& op, bool sending, MemoryTerm term, double bytes);
  void copy_to_host(const Op& op, double bytes);
  void change(Rank rank, MemoryTerm term, double bytes);
  void open_parts(Trace& trace, std::size_t part, const MemoryTerms& now) const;

  const Schedule& schedule_;
  const Cluster& cluster_;
  const Timeline& timeline_;
  const MemoryOptions& options_;
  std::vector<MemoryTerms> now_;  // by rank
  std::vector<RankMemoryUse> peak_;
  std::vector<double> packed_, by_socket_;  // bytes in flight by rank, lane, direction
  std::vector<bool> is_relay_;              // by op
  std::vector<int> uses_;                   // by op: how many still send what it brought to a relay
  std::map<Rank, Trace> traces_;
  double makespan_s_ = 0, now_s_ = 0;
};

}  // namespace refit::detail
