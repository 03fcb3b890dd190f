#pragma once

#include <string>

#include "base/error.h"
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

  // From now on every packet to and from this port of a rank vanishes, without a word to anybody.
  // Called in the rank's own process. Error(bad_input) if the network has no such means.
  virtual void darken(Rank rank, bool nvlink) {
    (void)rank, (void)nvlink;
    throw Error(ErrorCode::bad_input,
                "this network has no links that could go dark; use an emulated cluster (--lab)");
  }
  virtual bool can_darken() const { return false; }

  // Whether the rank's NIC or NVLink port answers this one within a moment. True if the network
  // can't tell.
  virtual bool reaches(Rank rank, bool by_nvlink) const {
    (void)rank, (void)by_nvlink;
    return true;
  }
};

// All ranks on 127.0.0.1.
class LoopbackNetwork : public RankNetwork {
 public:
  void enter(Rank) override {}
  std::string address(Rank, bool) const override { return "127.0.0.1"; }
};

}  // namespace refit
