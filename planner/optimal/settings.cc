#include "planner/optimal/settings.h"

namespace refit {
namespace {

constexpr std::size_t kMany = 400'000;        // transfers; above: one setting, and a cheaper search
constexpr std::size_t kVeryMany = 4'000'000;  // above: fewer owners are asked

SwarmOptions cheap_search(bool frugal = false) {
  SwarmOptions cheap;
  cheap.frugal = frugal;
  cheap.augment = false;
  cheap.look = 6;
  cheap.scan = 16;
  cheap.wakes = 4;
  cheap.offers = 6;
  return cheap;
}

Setting setting_of(double chunk_share, SwarmOptions swarm = {}, TrunkPlaces places = {}) {
  Setting setting;
  setting.chunk_share = chunk_share;
  setting.swarm = swarm;
  setting.places = places;
  return setting;
}

// Fewer ops and less memory: larger chunks, and no NIC that works for a neighbour.
void add_frugal(const PlanLimits& limits, std::vector<Setting>& settings) {
  const SwarmOptions search = settings.front().swarm;
  for (const double share : {0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 1e3}) {
    for (const bool proxies : {true, false}) {
      settings.push_back(setting_of(share, search));
      settings.back().proxies = proxies;
    }
  }
  for (Setting& setting : settings) {
    setting.swarm.peers = limits.peers.value_or(0);
    setting.swarm.steal = setting.swarm.steal && setting.proxies;
  }
}

}  // namespace

std::vector<Setting> usual_settings(std::size_t transfers, bool trunks, const PlanLimits& limits) {
  std::vector<Setting> settings;
  if (transfers > kMany) {
    settings.push_back(setting_of(0.01, cheap_search(true)));
    if (transfers > kVeryMany) settings.back().holders = 2;
  } else {
    settings = {setting_of(0.003, cheap_search()),
                setting_of(0.001, cheap_search()),
                setting_of(0.003),
                setting_of(0.003, cheap_search(true)),
                setting_of(0.001, cheap_search(true)),
                setting_of(0.001),
                setting_of(0.003)};
    settings.back().swarm.steal = false;
    if (trunks) {
      settings.push_back(setting_of(0.003));
      settings.back().swarm.trunk_budgets = false;
      TrunkPlaces places;
      places.shared_sends = false;
      settings.push_back(setting_of(0.003, cheap_search(), places));
      settings.push_back(setting_of(0.003, {}, places));
    }
  }
  if (limits.any()) add_frugal(limits, settings);
  return settings;
}

std::vector<Setting> more_settings(bool trunks) {
  std::vector<Setting> settings;
  const auto add = [&](double chunk_share, int inside, int crossing, double equal_part = 1) {
    const TrunkPlaces places{inside, crossing, true, equal_part};
    settings.push_back(setting_of(chunk_share, cheap_search(), places));
    settings.push_back(setting_of(chunk_share, {}, places));
  };
  if (!trunks) {
    add(0.003, 1, 1);
    for (Setting& setting : settings) setting.demanders_send = true;
    add(0.003, 2, 1);
    add(0.003, 4, 1);
    add(0.0005, 1, 1);
    add(0.001, 2, 1);
    add(0.001, 4, 1);
    return settings;
  }
  add(0.003, 4, 4, 0.5);
  add(0.003, 1, 4);
  add(0.003, 4, 2);
  add(0.003, 4, 1);
  add(0.003, 8, 8);
  add(0.003, 16, 8);
  add(0.003, 16, 1);
  settings.push_back(setting_of(0.003, {}, {8, 8, true, 1}));
  settings.back().swarm.trunk_budgets = false;
  settings.push_back(setting_of(0.003, {}, {4, 8, true, 4}));
  add(0.001, 4, 2);
  add(0.001, 4, 4, 0.5);
  add(0.001, 8, 8);
  add(0.0005, 1, 1);
  for (Setting& setting : settings) setting.window_times = 2;
  return settings;
}

}  // namespace refit
