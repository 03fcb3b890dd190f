#pragma once

#include <string>
#include <vector>

#include <poll.h>

#include "base/id.h"
#include "executor/detail/frame.h"
#include "executor/detail/socket.h"

namespace refit::detail {

// What a rank says first on its control connection.
struct Introduction {
  Rank rank;
  std::int32_t ranks = 0;  // that it expects
  std::string job;         // two jobs on one host may have chosen one port
};

std::string encode(const Introduction& introduction);
// Error(environment) if it is none.
Introduction decode_introduction(std::string_view in);

// The door of a rendezvous that others come to by themselves: lets in who says in time that it is a
// rank of this job. Port scanners, browsers and ranks of other jobs are sent away.
class Reception {
 public:
  Reception(Descriptor listener, std::string job);

  struct Guest {
    Introduction introduction;
    Descriptor socket;
    FrameReader reader;  // may hold more than it has said first
  };
  // Who has come since the last look.
  std::vector<Guest> look();

  void watch(std::vector<pollfd>& fds) const;

 private:
  struct Stranger {  // has connected and not said who it is
    Descriptor socket;
    FrameReader reader;
    double since_s;
  };

  Descriptor listener_;
  std::string job_;
  std::vector<Stranger> strangers_;
};

}  // namespace refit::detail
