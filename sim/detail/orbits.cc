#include "sim/detail/orbits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace refit::detail {
namespace {

using Colours = std::vector<int>;

// Numbers equal keys alike, in the order in which they come.
template <class Key>
Colours numbered(const std::vector<Key>& keys) {
  std::map<Key, int> numbers;
  Colours colours;
  for (const Key& key : keys) {
    colours.push_back(numbers.try_emplace(key, static_cast<int>(numbers.size())).first->second);
  }
  return colours;
}

int count(const Colours& colours) {
  return colours.empty() ? 0 : *std::max_element(colours.begin(), colours.end()) + 1;
}

Colours sorted_colours(const std::vector<int>& islands, const Colours& colour) {
  Colours sorted;
  for (const int island : islands) sorted.push_back(colour[static_cast<std::size_t>(island)]);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// Pods are told apart by their trunks only; which islands share one is part of their colour.
Colours first_colours(const DomainClasses& view) {
  std::vector<std::tuple<double, double, int>> keys;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.islands); ++i) {
    keys.emplace_back(view.in_bytes_per_s[i], view.out_bytes_per_s[i], view.pod[i]);
  }
  return numbered(keys);
}

Colours class_colours(const DomainClasses& view, const Colours& island) {
  std::vector<std::tuple<Colours, Colours, double>> keys;
  for (const DomainClasses::Class& c : view.classes) {
    keys.emplace_back(sorted_colours(c.owners, island), sorted_colours(c.needers, island), c.bytes);
  }
  return numbered(keys);
}

Colours refined(const DomainClasses& view, const Colours& island, const Colours& of_class) {
  std::vector<std::pair<int, std::vector<std::pair<int, int>>>> keys;
  for (const int colour : island) keys.push_back({colour, {}});
  for (std::size_t c = 0; c < view.classes.size(); ++c) {
    for (const int owner : view.classes[c].owners)
      keys[static_cast<std::size_t>(owner)].second.emplace_back(of_class[c], 0);
    for (const int needer : view.classes[c].needers)
      keys[static_cast<std::size_t>(needer)].second.emplace_back(of_class[c], 1);
  }
  for (auto& key : keys) std::sort(key.second.begin(), key.second.end());
  return numbered(keys);
}

Orbits orbits_of(const DomainClasses& view, Colours island, Colours of_class) {
  Orbits orbits;
  orbits.islands_of_colour.assign(static_cast<std::size_t>(count(island)), 0);
  for (const int colour : island) ++orbits.islands_of_colour[static_cast<std::size_t>(colour)];
  const auto classes = static_cast<std::size_t>(count(of_class));
  orbits.classes_of_orbit.assign(classes, 0);
  orbits.first_class.assign(classes, -1);
  for (std::size_t c = 0; c < view.classes.size(); ++c) {
    const auto orbit = static_cast<std::size_t>(of_class[c]);
    if (orbits.first_class[orbit] < 0) orbits.first_class[orbit] = static_cast<int>(c);
    ++orbits.classes_of_orbit[orbit];
  }
  orbits.colour_of_island = std::move(island);
  orbits.orbit_of_class = std::move(of_class);
  return orbits;
}

}  // namespace

Orbits find_orbits(const DomainClasses& view) {
  Colours island = first_colours(view);
  Colours of_class = class_colours(view, island);
  while (true) {
    Colours finer = refined(view, island, of_class);
    Colours finer_classes = class_colours(view, finer);
    const bool stable = count(finer) == count(island) && count(finer_classes) == count(of_class);
    island = std::move(finer);
    of_class = std::move(finer_classes);
    if (stable) return orbits_of(view, std::move(island), std::move(of_class));
  }
}

Orbits no_orbits(const DomainClasses& view) {
  Colours island(static_cast<std::size_t>(view.islands));
  Colours of_class(view.classes.size());
  std::iota(island.begin(), island.end(), 0);
  std::iota(of_class.begin(), of_class.end(), 0);
  return orbits_of(view, std::move(island), std::move(of_class));
}

}  // namespace refit::detail
