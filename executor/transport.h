#pragma once

#include <cstdint>
#include <vector>

#include "base/id.h"
#include "executor/strided_box.h"

namespace refit {

// One end of a move as a transport sees it. Both ends name the same move and the same bytes.
struct Message {
  std::uint32_t move = 0;
  Rank peer;
  int lane = 0;
  bool by_nvlink = false;  // peer is in the same NVLink domain
  std::int64_t bytes = 0;
  std::vector<StridedBox> boxes;  // where the bytes lie, as one stream; empty if bytes is 0
};

struct Ended {
  std::uint32_t move = 0;
  bool sent = false;  // false: received
};

// Moves bytes between the ranks of a run, seen from one rank. Not thread-safe: one thread per rank.
class Transport {
 public:
  virtual ~Transport() = default;

  // Start a message and return. The boxes must stay until its end is reported.
  virtual void send(Message message) = 0;
  virtual void receive(Message message) = 0;

  // Blocks until at least one message that was started has ended, and appends all that have.
  // Error(environment) if a peer is lost or the run was aborted; the message says which rank.
  virtual void wait(std::vector<Ended>& ended) = 0;

  // Whether messages move in groups that must be started as a whole. Then lanes with a window start
  // all that is ready.
  virtual bool in_groups() const { return false; }
};

}  // namespace refit
