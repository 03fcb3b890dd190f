#pragma once

#include <vector>

#include "sim/domain_classes.h"

namespace refit::detail {

// Islands and classes that no exchange of names can tell apart, found by colour refinement. A
// linear program that treats equals equally has the same optimum with one variable for all of them.
struct Orbits {
  std::vector<int> colour_of_island;
  std::vector<int> islands_of_colour;  // how many
  std::vector<int> orbit_of_class;
  std::vector<int> first_class;       // by orbit
  std::vector<int> classes_of_orbit;  // how many
};

// Exact: colours are compared as what they are, not by hash.
Orbits find_orbits(const DomainClasses& view);

// Everything its own orbit.
Orbits no_orbits(const DomainClasses& view);

}  // namespace refit::detail
