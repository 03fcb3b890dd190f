#pragma once

#include <string>
#include <string_view>

namespace refit {

enum class LinkKind {
  nvlink,  // a GPU's port to the NVLink switch of its domain
  pcie,    // PCIe or C2C between a GPU and its NIC, or between GPUs of a node without NVLink
  nic,     // a NIC port, or a bundle of NICs that the same GPUs share
  fabric,  // a leaf's trunk to the spine, or the core of a flat fabric
  wan,     // between sites
  store,   // what goes into an object store, or comes out of it
};

std::string_view to_string(LinkKind kind);

// One direction of one port or trunk. Transfers on it share its bandwidth.
struct Link {
  std::string name;  // "node 3 nic 5 in": for people, stable
  LinkKind kind = LinkKind::nvlink;
  double bandwidth_bytes_per_s = 0;
  double latency_s = 0;  // added once to every transfer that crosses it

  friend bool operator==(const Link&, const Link&) = default;
};

}  // namespace refit
