#pragma once

#include <memory>

#include <simgrid/s4u.hpp>

namespace refit::detail {

// SimGrid's engine without the corrections for TCP that its defaults make (docs/network_model.md):
// they would add 3 to 8 % to every transfer.
std::unique_ptr<simgrid::s4u::Engine> start_engine();

}  // namespace refit::detail
