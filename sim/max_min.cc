#include "sim/max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace refit {
namespace {

constexpr std::uint32_t kMostCrossings = std::numeric_limits<std::uint32_t>::max();
constexpr double kUnfixed = -1;
// Relative differences below these are rounding. Too small costs a larger region, never exactness
// beyond that digit.
constexpr double kSameRate = 1e-11;
constexpr double kUnchangedRate = 1e-13;

}  // namespace

MaxMin::MaxMin(const LinkPaths& paths) : paths_(paths), links_(paths.capacity_bytes_per_s.size()) {
  for (std::size_t l = 0; l < links_.size(); ++l)
    links_[l].capacity_bytes_per_s = paths.capacity_bytes_per_s[l];
}

void MaxMin::add(FlowId id, std::span<const PathLink> links) {
  REFIT_CHECK(!links.empty());
  if (id >= flows_.size()) flows_.resize(id + 1);
  Flow& flow = flows_[id];
  flow.rate = 0;
  flow.crossings = take_crossings(links.size());
  flow.crossing_count = static_cast<std::uint32_t>(links.size());
  std::uint32_t c = flow.crossings;
  for (const PathLink& crossed : links) {
    const auto l = static_cast<LinkIndex>(crossed.link.index());
    std::vector<Share>& shares = links_[l].shares;
    crossings_[c] = {l, static_cast<std::uint32_t>(shares.size()), crossed.weight};
    shares.push_back({id, c, crossed.weight});
    ++c;
  }
  added_.push_back(id);
}

std::uint32_t MaxMin::take_crossings(std::size_t count) {
  if (count >= free_crossings_.size()) free_crossings_.resize(count + 1);
  std::vector<std::uint32_t>& free = free_crossings_[count];
  if (!free.empty()) {
    const std::uint32_t first = free.back();
    free.pop_back();
    return first;
  }
  const std::size_t first = crossings_.size();
  REFIT_CHECK(first + count < kMostCrossings);
  crossings_.resize(first + count);
  return static_cast<std::uint32_t>(first);
}

void MaxMin::remove(FlowId id) {
  const Flow& flow = flows_[id];
  for (const Crossing& crossing : crossings_of(flow)) {
    LinkState& link = links_[crossing.link];
    Share& share = link.shares[crossing.place];
    share = link.shares.back();
    crossings_[share.crossing].place = crossing.place;
    link.shares.pop_back();
    if (link.freed != pass_) {
      link.freed = pass_;
      freed_.push_back(crossing.link);
    }
  }
  free_crossings_[flow.crossing_count].push_back(flow.crossings);
}

void MaxMin::set_capacity(LinkId link, double bytes_per_s) {
  links_[link.index()].capacity_bytes_per_s = bytes_per_s;
  resized_.push_back(static_cast<LinkIndex>(link.index()));
}

std::span<const FlowId> MaxMin::settle() {
  region_.clear();
  alone_.clear();
  touched_.clear();
  changed_.clear();
  for (const FlowId flow : added_) join(flow);
  for (const LinkIndex l : freed_) {
    for (const Share& share : links_[l].shares) {
      if (flows_[share.flow].bottleneck == l) join(share.flow);
    }
  }
  for (const LinkIndex l : resized_) {
    for (const Share& share : links_[l].shares) join(share.flow);
  }
  added_.clear();
  freed_.clear();
  resized_.clear();
  if (!region_.empty()) {
    do {
      fill();
    } while (grow());
  }
  for (const auto* list : {&region_, &alone_}) {
    for (const FlowId id : *list) {
      Flow& flow = flows_[id];
      if (std::abs(flow.new_rate - flow.rate) <= kUnchangedRate * flow.new_rate) continue;
      flow.rate = flow.new_rate;
      changed_.push_back(id);
    }
  }
  ++pass_;
  REFIT_CHECK(pass_ != 0);
  return changed_;
}

double MaxMin::load(LinkId link) const {
  double sum = 0;
  for (const Share& share : links_[link.index()].shares)
    sum += share.weight * flows_[share.flow].rate;
  return sum;
}

void MaxMin::join(FlowId id) {
  Flow& flow = flows_[id];
  if (flow.region == pass_) return;
  flow.region = pass_;
  if (fix_if_alone(flow)) {
    alone_.push_back(id);
    return;
  }
  region_.push_back(id);
  for (const Crossing& crossing : crossings_of(flow)) {
    LinkState& link = links_[crossing.link];
    if (link.touched == pass_) continue;
    link.touched = pass_;
    touched_.push_back(crossing.link);
  }
}

// What fill() would find for a flow that shares no link with another: most flows of a plan without
// conflicts.
bool MaxMin::fix_if_alone(Flow& flow) {
  double rate = std::numeric_limits<double>::infinity();
  LinkIndex bottleneck = 0;
  for (const Crossing& crossing : crossings_of(flow)) {
    const LinkState& link = links_[crossing.link];
    if (link.shares.size() > 1) return false;
    const double level = link.capacity_bytes_per_s / crossing.weight;
    if (level < rate || (level == rate && crossing.link < bottleneck)) {
      rate = level;
      bottleneck = crossing.link;
    }
  }
  flow.new_rate = rate;
  flow.bottleneck = bottleneck;
  return true;
}

// Progressive filling: the link that fills first decides the rate of its flows, and so on.
void MaxMin::fill() {
  const auto later = [](const Level& a, const Level& b) {
    return a.rate > b.rate || (a.rate == b.rate && a.link > b.link);
  };
  for (const FlowId flow : region_) flows_[flow].new_rate = kUnfixed;
  heap_.clear();
  for (const LinkIndex l : touched_) {
    LinkState& link = links_[l];
    open_link(link);
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
      Flow& flow = flows_[share.flow];
      if (flow.region != pass_ || flow.new_rate != kUnfixed) continue;
      fix(flow, level, first.link);
      --unfixed;
    }
  }
}

void MaxMin::open_link(LinkState& link) {
  link.residual = link.capacity_bytes_per_s;
  link.open_weight = 0;
  link.open = 0;
  link.outside = 0;
  link.level = kUnfixed;
  for (const Share& share : link.shares) {
    const Flow& flow = flows_[share.flow];
    if (flow.region == pass_) {
      link.open_weight += share.weight;
      ++link.open;
    } else {
      link.residual -= share.weight * flow.rate;
      ++link.outside;
    }
  }
  link.residual = std::max(link.residual, 0.0);
}

void MaxMin::fix(Flow& flow, double rate, LinkIndex bottleneck) {
  flow.new_rate = rate;
  flow.bottleneck = bottleneck;
  for (const Crossing& crossing : crossings_of(flow)) {
    LinkState& link = links_[crossing.link];
    link.residual = std::max(link.residual - crossing.weight * rate, 0.0);
    link.open_weight -= crossing.weight;
    --link.open;
  }
}

// Lets flows join whose bottleneck does not hold with the region's new rates.
bool MaxMin::grow() {
  const std::size_t before = region_.size();
  const std::size_t touched = touched_.size();  // those that joins add are seen after the next fill
  for (std::size_t i = 0; i < touched; ++i) {
    if (links_[touched_[i]].outside > 0) grow_on(touched_[i]);
  }
  return region_.size() > before;
}

void MaxMin::grow_on(LinkIndex l) {
  const LinkState& link = links_[l];
  double fastest = 0;
  for (const Share& share : link.shares) {
    const Flow& flow = flows_[share.flow];
    fastest = std::max(
        fastest, flow.region == pass_ && flow.new_rate != kUnfixed ? flow.new_rate : flow.rate);
  }
  const bool full = link.residual <= kSameRate * link.capacity_bytes_per_s;
  for (const Share& share : link.shares) {
    const Flow& flow = flows_[share.flow];
    if (flow.region == pass_) continue;
    const bool takes_more = link.level >= 0 && flow.rate > link.level * (1 + kSameRate);
    const bool lost = flow.bottleneck == l && (!full || flow.rate < fastest * (1 - kSameRate));
    if (takes_more || lost) join(share.flow);
  }
}

}  // namespace refit
