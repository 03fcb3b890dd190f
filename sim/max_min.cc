#include "sim/detail/max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace refit::detail {
namespace {

constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();
constexpr double kUnfixed = -1;
// Relative differences below these are rounding. Too small costs a larger region, never exactness
// beyond that digit.
constexpr double kSameRate = 1e-11;
constexpr double kUnchangedRate = 1e-13;

}  // namespace

MaxMin::MaxMin(const TaskGraph& graph)
    : graph_(graph),
      links_(graph.capacity_bytes_per_s.size()),
      first_slot_(graph.tasks(), 0),
      free_slots_(graph.paths()),
      rate_(graph.tasks(), 0),
      new_rate_(graph.tasks(), 0),
      bottleneck_(graph.tasks(), kNoLink),
      region_pass_(graph.tasks(), 0) {}

void MaxMin::add(TaskId task) {
  const auto links = links_of(task);
  REFIT_CHECK(!links.empty());
  std::vector<std::uint32_t>& free = free_slots_[graph_.path[task]];
  if (free.empty()) {
    REFIT_CHECK(place_.size() + links.size() < kNoLink);
    first_slot_[task] = static_cast<std::uint32_t>(place_.size());
    place_.resize(place_.size() + links.size());
  } else {
    first_slot_[task] = free.back();
    free.pop_back();
  }
  std::uint32_t slot = first_slot_[task];
  for (const PathLink& crossed : links) {
    std::vector<Share>& shares = links_[crossed.link.index()].shares;
    place_[slot] = static_cast<std::uint32_t>(shares.size());
    shares.push_back({task, slot, crossed.weight});
    ++slot;
  }
  added_.push_back(task);
}

void MaxMin::remove(TaskId task) {
  std::uint32_t slot = first_slot_[task];
  for (const PathLink& crossed : links_of(task)) {
    LinkState& link = links_[crossed.link.index()];
    const std::uint32_t place = place_[slot++];
    link.shares[place] = link.shares.back();
    place_[link.shares[place].slot] = place;
    link.shares.pop_back();
    if (link.freed != pass_) {
      link.freed = pass_;
      freed_.push_back(static_cast<std::uint32_t>(crossed.link.index()));
    }
  }
  free_slots_[graph_.path[task]].push_back(first_slot_[task]);
  rate_[task] = 0;
}

std::span<const TaskId> MaxMin::settle() {
  region_.clear();
  touched_.clear();
  changed_.clear();
  for (const TaskId task : added_) join(task);
  for (const std::uint32_t l : freed_) {
    for (const Share& share : links_[l].shares) {
      if (bottleneck_[share.task] == l) join(share.task);
    }
  }
  added_.clear();
  freed_.clear();
  if (!region_.empty()) {
    do {
      fill();
    } while (grow());
    for (const TaskId task : region_) {
      if (std::abs(new_rate_[task] - rate_[task]) <= kUnchangedRate * new_rate_[task]) continue;
      rate_[task] = new_rate_[task];
      changed_.push_back(task);
    }
  }
  ++pass_;
  REFIT_CHECK(pass_ != 0);
  return changed_;
}

double MaxMin::load(LinkId link) const {
  double sum = 0;
  for (const Share& share : links_[link.index()].shares) sum += share.weight * rate_[share.task];
  return sum;
}

void MaxMin::join(TaskId task) {
  if (in_region(task)) return;
  region_pass_[task] = pass_;
  region_.push_back(task);
  for (const PathLink& crossed : links_of(task)) {
    LinkState& link = links_[crossed.link.index()];
    if (link.touched == pass_) continue;
    link.touched = pass_;
    touched_.push_back(static_cast<std::uint32_t>(crossed.link.index()));
  }
}

// Progressive filling: the link that fills first decides the rate of its flows, and so on.
void MaxMin::fill() {
  const auto later = [](const Level& a, const Level& b) {
    return a.rate > b.rate || (a.rate == b.rate && a.link > b.link);
  };
  for (const TaskId task : region_) new_rate_[task] = kUnfixed;
  heap_.clear();
  for (const std::uint32_t l : touched_) {
    LinkState& link = links_[l];
    open_link(link, graph_.capacity_bytes_per_s[l]);
    if (link.open > 0) heap_.push_back({link.residual / link.open_weight, l});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);

  std::size_t unfixed = region_.size();
  while (unfixed > 0) {
    REFIT_CHECK(!heap_.empty());
    const Level first = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    LinkState& link = links_[first.link];
    if (link.open == 0) continue;
    const double level = link.residual / link.open_weight;
    if (level > first.rate * (1 + kUnchangedRate)) {  // others on it got their rate meanwhile
      heap_.push_back({level, first.link});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    link.level = level;
    for (const Share& share : link.shares) {
      if (!in_region(share.task) || new_rate_[share.task] != kUnfixed) continue;
      fix(share.task, level, first.link);
      --unfixed;
    }
  }
}

void MaxMin::open_link(LinkState& link, double capacity) {
  link.residual = capacity;
  link.open_weight = 0;
  link.open = 0;
  link.level = kUnfixed;
  for (const Share& share : link.shares) {
    if (in_region(share.task)) {
      link.open_weight += share.weight;
      ++link.open;
    } else {
      link.residual -= share.weight * rate_[share.task];
    }
  }
  link.residual = std::max(link.residual, 0.0);
}

void MaxMin::fix(TaskId task, double rate, std::uint32_t bottleneck) {
  new_rate_[task] = rate;
  bottleneck_[task] = bottleneck;
  for (const PathLink& crossed : links_of(task)) {
    LinkState& link = links_[crossed.link.index()];
    link.residual = std::max(link.residual - crossed.weight * rate, 0.0);
    link.open_weight -= crossed.weight;
    --link.open;
  }
}

// Lets flows join whose bottleneck does not hold with the region's new rates.
bool MaxMin::grow() {
  const std::size_t before = region_.size();
  const std::size_t touched = touched_.size();  // those that joins add are seen after the next fill
  for (std::size_t i = 0; i < touched; ++i) {
    const std::uint32_t l = touched_[i];
    const LinkState& link = links_[l];
    double fastest = 0;
    for (const Share& share : link.shares) {
      const bool has_new = in_region(share.task) && new_rate_[share.task] != kUnfixed;
      fastest = std::max(fastest, has_new ? new_rate_[share.task] : rate_[share.task]);
    }
    const bool full = link.residual <= kSameRate * graph_.capacity_bytes_per_s[l];
    for (const Share& share : link.shares) {
      if (in_region(share.task)) continue;
      const double rate = rate_[share.task];
      const bool takes_more = link.level >= 0 && rate > link.level * (1 + kSameRate);
      const bool lost = bottleneck_[share.task] == l && (!full || rate < fastest * (1 - kSameRate));
      if (takes_more || lost) join(share.task);
    }
  }
  return region_.size() > before;
}

}  // namespace refit::detail
