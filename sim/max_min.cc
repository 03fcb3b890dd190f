#include "sim/max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace refit {
namespace {

constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();
constexpr double kUnfixed = -1;
// Relative differences below these are rounding. Too small costs a larger region, never exactness
// beyond that digit.
constexpr double kSameRate = 1e-11;
constexpr double kUnchangedRate = 1e-13;

}  // namespace

MaxMin::MaxMin(const LinkPaths& paths)
    : paths_(paths),
      capacity_bytes_per_s_(paths.capacity_bytes_per_s),
      links_(paths.capacity_bytes_per_s.size()),
      free_slots_(paths.size()) {}

void MaxMin::make_room(FlowId flow) {
  if (flow < rate_.size()) return;
  // Grows like a vector, or many small steps would be quadratic.
  const std::size_t size = std::max<std::size_t>(flow + 1, 2 * rate_.size());
  first_slot_.resize(size, 0);
  rate_.resize(size, 0);
  new_rate_.resize(size, 0);
  path_.resize(size, 0);
  bottleneck_.resize(size, kNoLink);
  region_pass_.resize(size, 0);
}

void MaxMin::add(FlowId flow, PathId path) {
  make_room(flow);
  if (path >= free_slots_.size()) free_slots_.resize(paths_.size());
  path_[flow] = path;
  const auto links = links_of(flow);
  REFIT_CHECK(!links.empty());
  std::vector<std::uint32_t>& free = free_slots_[path_[flow]];
  if (free.empty()) {
    REFIT_CHECK(place_.size() + links.size() < kNoLink);
    first_slot_[flow] = static_cast<std::uint32_t>(place_.size());
    place_.resize(place_.size() + links.size());
  } else {
    first_slot_[flow] = free.back();
    free.pop_back();
  }
  std::uint32_t slot = first_slot_[flow];
  for (const PathLink& crossed : links) {
    std::vector<Share>& shares = links_[crossed.link.index()].shares;
    place_[slot] = static_cast<std::uint32_t>(shares.size());
    shares.push_back({flow, slot, crossed.weight});
    ++slot;
  }
  added_.push_back(flow);
}

void MaxMin::remove(FlowId flow) {
  std::uint32_t slot = first_slot_[flow];
  for (const PathLink& crossed : links_of(flow)) {
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
  free_slots_[path_[flow]].push_back(first_slot_[flow]);
  rate_[flow] = 0;
}

void MaxMin::hand_over(FlowId flow, FlowId next) {
  make_room(next);
  path_[next] = path_[flow];
  first_slot_[next] = first_slot_[flow];
  rate_[next] = std::exchange(rate_[flow], 0);
  bottleneck_[next] = bottleneck_[flow];
  std::uint32_t slot = first_slot_[next];
  for (const PathLink& crossed : links_of(next))
    links_[crossed.link.index()].shares[place_[slot++]].flow = next;
}

void MaxMin::set_capacity(LinkId link, double bytes_per_s) {
  capacity_bytes_per_s_[link.index()] = bytes_per_s;
  resized_.push_back(static_cast<std::uint32_t>(link.index()));
}

std::span<const FlowId> MaxMin::settle() {
  region_.clear();
  touched_.clear();
  changed_.clear();
  for (const FlowId flow : added_) join(flow);
  for (const std::uint32_t l : freed_) {
    for (const Share& share : links_[l].shares) {
      if (bottleneck_[share.flow] == l) join(share.flow);
    }
  }
  for (const std::uint32_t l : resized_)
    for (const Share& share : links_[l].shares) join(share.flow);
  added_.clear();
  freed_.clear();
  resized_.clear();
  if (!region_.empty()) {
    do {
      fill();
    } while (grow());
    for (const FlowId flow : region_) {
      if (std::abs(new_rate_[flow] - rate_[flow]) <= kUnchangedRate * new_rate_[flow]) continue;
      rate_[flow] = new_rate_[flow];
      changed_.push_back(flow);
    }
  }
  ++pass_;
  REFIT_CHECK(pass_ != 0);
  return changed_;
}

double MaxMin::load(LinkId link) const {
  double sum = 0;
  for (const Share& share : links_[link.index()].shares) sum += share.weight * rate_[share.flow];
  return sum;
}

void MaxMin::join(FlowId flow) {
  if (in_region(flow)) return;
  region_pass_[flow] = pass_;
  region_.push_back(flow);
  for (const PathLink& crossed : links_of(flow)) {
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
  for (const FlowId flow : region_) new_rate_[flow] = kUnfixed;
  heap_.clear();
  for (const std::uint32_t l : touched_) {
    LinkState& link = links_[l];
    open_link(link, capacity_bytes_per_s_[l]);
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
      if (!in_region(share.flow) || new_rate_[share.flow] != kUnfixed) continue;
      fix(share.flow, level, first.link);
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
    if (in_region(share.flow)) {
      link.open_weight += share.weight;
      ++link.open;
    } else {
      link.residual -= share.weight * rate_[share.flow];
    }
  }
  link.residual = std::max(link.residual, 0.0);
}

void MaxMin::fix(FlowId flow, double rate, std::uint32_t bottleneck) {
  new_rate_[flow] = rate;
  bottleneck_[flow] = bottleneck;
  for (const PathLink& crossed : links_of(flow)) {
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
      const bool has_new = in_region(share.flow) && new_rate_[share.flow] != kUnfixed;
      fastest = std::max(fastest, has_new ? new_rate_[share.flow] : rate_[share.flow]);
    }
    const bool full = link.residual <= kSameRate * capacity_bytes_per_s_[l];
    for (const Share& share : link.shares) {
      if (in_region(share.flow)) continue;
      const double rate = rate_[share.flow];
      const bool takes_more = link.level >= 0 && rate > link.level * (1 + kSameRate);
      const bool lost = bottleneck_[share.flow] == l && (!full || rate < fastest * (1 - kSameRate));
      if (takes_more || lost) join(share.flow);
    }
  }
  return region_.size() > before;
}

}  // namespace refit
