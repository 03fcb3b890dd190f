#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "executor/detail/socket.h"

namespace refit::fake {

using detail::Descriptor;

// Where a door can be found.
struct Place {
  char host[16] = {};  // IPv4
  std::int32_t port = 0;
};

// What a connection is for: an end of a communicator, seen from the one that knocks.
struct Knock {
  std::uint64_t club = 0;
  std::int32_t from = 0;
  std::int32_t zero = 0;

  friend auto operator<=>(const Knock&, const Knock&) = default;
};

// Takes the connections of one process's ends of communicators, on the lab's NIC of the network
// namespace that the process lives in, else on loopback. A thread accepts and sorts them.
class Door {
 public:
  Door();
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  const Place& place() const { return place_; }
  // The connection that has knocked so, if it has come.
  std::optional<Descriptor> take(const Knock& knock);

 private:
  void serve();

  Place place_;
  Descriptor listener_, wake_, woken_;  // closing wake_ ends the thread
  std::mutex mutex_;
  std::map<Knock, Descriptor> came_;
  std::thread thread_;
};

// Error(environment) if nobody is there.
Descriptor knock(const Place& place, const Knock& knock);

}  // namespace refit::fake
