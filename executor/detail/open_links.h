#pragma once

#include <vector>

#include "executor/detail/socket.h"
#include "executor/rank_control.h"
#include "executor/rank_network.h"
#include "executor/tcp_transport.h"

namespace refit::detail {

// A connection that a rank's moves need.
struct LinkNeed {
  int lane = 0;
  Rank peer;
  bool by_nvlink = false;

  friend auto operator<=>(const LinkNeed&, const LinkNeed&) = default;
};

struct OpenLinks {
  std::vector<TcpLink> links;
  bool one_host = false;  // all ranks run under one kernel: their steady clocks are one
};

// Opens them all: every rank listens, tells its addresses, connects to the peers below it and
// accepts those above. Collective.
OpenLinks open_links(RankControl& control, const RankNetwork& network,
                     const std::vector<LinkNeed>& needs, const SocketOptions& options);

}  // namespace refit::detail
