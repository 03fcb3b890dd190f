// Max-min rates against a slow, obvious filling of all links from nothing.
#include "sim/max_min.h"

#include <limits>
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "sim/event_heap.h"

using namespace refit;

namespace {

// All flows rise together until a link is full; its flows stay there and the others rise on.
std::map<FlowId, double> fill_from_nothing(const std::vector<double>& capacity,
                                           const std::map<FlowId, std::vector<PathLink>>& flows) {
  std::map<FlowId, double> rates;
  while (rates.size() < flows.size()) {
    double level = std::numeric_limits<double>::infinity();
    LinkId fullest;
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      double left = capacity[l], rising = 0;
      for (const auto& [flow, links] : flows) {
        for (const PathLink& crossed : links) {
          if (crossed.link.index() != l) continue;
          if (rates.contains(flow)) {
            left -= crossed.weight * rates.at(flow);
          } else {
            rising += crossed.weight;
          }
        }
      }
      if (rising > 0 && std::max(left, 0.0) / rising < level) {
        level = std::max(left, 0.0) / rising;
        fullest = LinkId{static_cast<std::int64_t>(l)};
      }
    }
    for (const auto& [flow, links] : flows) {
      for (const PathLink& crossed : links) {
        if (crossed.link == fullest) rates.try_emplace(flow, level);
      }
    }
  }
  return rates;
}

struct Network {
  std::mt19937 random;
  LinkPaths paths;

  int pick(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  void add_paths(int count, bool weighted) {
    for (int i = 0; i < count; ++i) {
      std::set<LinkId> links;
      const int all = static_cast<int>(paths.capacity_bytes_per_s.size());
      for (int l = 1 + pick(4); l > 0; --l) links.insert(LinkId{pick(all)});
      std::vector<PathLink> path;
      for (const LinkId link : links) path.push_back({link, weighted ? 0.25 * (1 + pick(8)) : 1});
      paths.add(path);
    }
  }
};

}  // namespace

// Run with --rng-seed N for other cases.
TEST_CASE("max-min: rates are those of filling from nothing, whatever came, went and changed",
          "[sim][solver]") {
  const bool weighted = GENERATE(false, true);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t seed = Catch::rngSeed() + i;
    CAPTURE(seed, weighted);
    Network network{std::mt19937(seed), {}};
    // Few distinct rates, so that links fill together, which is where ties are.
    for (int l = 4 + network.pick(20); l > 0; --l)
      network.paths.capacity_bytes_per_s.push_back(1e9 * (1 + network.pick(4)));
    network.add_paths(30, weighted);
    std::vector<double> capacity = network.paths.capacity_bytes_per_s;
    MaxMin rates(network.paths);
    std::map<FlowId, std::vector<PathLink>> flows;
    std::map<FlowId, double> known;
    for (int step = 0; step < 60; ++step) {
      for (int changes = 1 + network.pick(4); changes > 0; --changes) {
        const auto flow = static_cast<FlowId>(network.pick(25));
        if (network.pick(8) == 0) {
          const int l = network.pick(static_cast<int>(capacity.size()));
          double& now = capacity[static_cast<std::size_t>(l)];
          now = network.pick(3) == 0 ? 0 : 1e9 * network.pick(6);
          rates.set_capacity(LinkId{l}, now);
        } else if (known.contains(flow)) {
          rates.remove(flow);
          flows.erase(flow);
          known.erase(flow);
        } else if (!flows.contains(flow)) {
          const auto path = static_cast<PathId>(1 + network.pick(30));
          rates.add(flow, path);
          const auto links = network.paths.of(path);
          flows[flow].assign(links.begin(), links.end());
        }
      }
      for (const FlowId flow : rates.settle()) known[flow] = rates.rate(flow);
      const auto expected = fill_from_nothing(capacity, flows);
      for (const auto& [flow, rate] : expected) {
        CAPTURE(step, flow);
        REQUIRE(rates.rate(flow) == Approx(rate).epsilon(1e-9).margin(1e-3));
        // Who is not told of a change knows the rate from before.
        const double told = known.emplace(flow, 0).first->second;
        REQUIRE(told == rates.rate(flow));
      }
    }
  }
}

TEST_CASE("max-min: a flow alone runs at its slowest link by weight, and is slowed by company",
          "[sim][solver]") {
  // Links of 4, 6 and 9 GB/s. A crosses the first with weight 1 and the second with weight 2: 3
  // GB/s by the second. B joins it there with weight 1: both get 6 / 3 = 2 GB/s. The second fails:
  // both stand still. It comes back with 30 GB/s: A gets 4 by the first, and B 9 by the third.
  LinkPaths paths;
  paths.capacity_bytes_per_s = {4e9, 6e9, 9e9};
  const PathId a = paths.add(std::vector<PathLink>{{LinkId{0}, 1}, {LinkId{1}, 2}});
  const PathId b = paths.add(std::vector<PathLink>{{LinkId{1}, 1}, {LinkId{2}, 1}});
  MaxMin rates(paths);
  rates.add(0, a);
  rates.settle();
  REQUIRE(rates.rate(0) == 3e9);
  rates.add(1, b);
  rates.settle();
  REQUIRE(rates.rate(0) == 2e9);
  REQUIRE(rates.rate(1) == 2e9);
  REQUIRE(rates.load(LinkId{1}) == 6e9);
  rates.set_capacity(LinkId{1}, 0);
  rates.settle();
  REQUIRE(rates.rate(0) == 0);
  REQUIRE(rates.rate(1) == 0);
  rates.set_capacity(LinkId{1}, 30e9);
  rates.settle();
  REQUIRE(rates.rate(0) == 4e9);
  REQUIRE(rates.rate(1) == 9e9);
}

TEST_CASE("event heap: the first is the earliest, of equals the smallest number, after any change",
          "[sim][solver]") {
  std::mt19937 random(Catch::rngSeed());
  CAPTURE(Catch::rngSeed());
  EventHeap heap;
  std::map<std::uint32_t, double> times;  // the slow, obvious one
  for (int step = 0; step < 5000; ++step) {
    const auto id = static_cast<std::uint32_t>(random() % 60);
    if (random() % 3 == 0) {
      heap.erase(id);
      times.erase(id);
    } else {
      const double time_s = static_cast<double>(random() % 20);
      heap.set(id, time_s);
      times[id] = time_s;
    }
    REQUIRE(heap.empty() == times.empty());
    if (times.empty()) continue;
    std::set<std::pair<double, std::uint32_t>> order;
    for (const auto& [other, time_s] : times) order.emplace(time_s, other);
    REQUIRE(heap.first().time_s == order.begin()->first);
    REQUIRE(heap.first().id == order.begin()->second);
  }
}
