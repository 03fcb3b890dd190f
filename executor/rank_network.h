#pragma once

#include <string>

#include "base/id.h"

namespace refit {

// Where the ranks of a TCP run live. The address that a rank connects to chooses the link: a
// cluster emulated in network namespaces has one for the NIC and one for the NVLink port of every
// rank.
class RankNetwork {
 public:
  virtual ~RankNetwork() = default;

  // Called in the rank's own process before it opens a socket.
  virtual void enter(Rank rank) = 0;

  // The IPv4 address on which `rank` listens for peers of its NVLink domain, or for all others.
  virtual std::string address(Rank rank, bool by_nvlink) const = 0;
};

// All ranks on 127.0.0.1.
class LoopbackNetwork : public RankNetwork {
 public:
  void enter(Rank) override {}
  std::string address(Rank, bool) const override { return "127.0.0.1"; }
};

}  // namespace refit
