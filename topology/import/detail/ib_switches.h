#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "topology/import/node_shape.h"

namespace refit::detail {

struct IbPort {
  long number = 0;
  std::string peer;  // "S-0002..." or "H-0002..."
  long peer_port = 0;
  std::string peer_name;  // what is written behind it
  double bytes_per_s = 0;
};

struct IbSwitch {
  std::string id;
  std::vector<IbPort> ports;
};

// The lines of `ibnetdiscover`: every switch with what hangs on its ports.
struct IbNetwork {
  std::vector<IbSwitch> switches;
  int adapters = 0;                   // with a description of their own
  std::set<std::string> aggregation;  // adapters inside switches
  ImportNotes notes;                  // what shows that the text is a part, or was cut
};

bool is_aggregation(std::string_view name);

// Error(bad_input) if it is no such output, is larger than 256 MiB, or says two things at once.
IbNetwork read_ib_network(std::string_view text, const std::string& name);

}  // namespace refit::detail
