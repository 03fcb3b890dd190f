#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/fake_door.h"

namespace refit::fake {

// One send or receive of a group.
struct Call {
  bool sending = false;
  void* at = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
};

// One rank's end of a stand-in communicator. Ranks are threads or processes, on loopback or in the
// namespaces of a lab: every message is a header with its length and its bytes on a TCP connection
// of its own per pair and direction, and one byte back when the receiver has it all. A send ends
// with that byte, so nothing is ever under way that nobody waits for.
class Club {
 public:
  enum class State {
    starting,
    ready,
    revoked,  // quiet, and children may be made of it
    aborted,
    lost,   // a peer's connection has closed
    wrong,  // used against the rules
  };

  // Comes together with the others in the background, at the door that the unique id names.
  Club(const Place& root, std::uint64_t name, int ranks, int rank);
  // With those of `parent` that are in `members`: its ranks, ascending, this one among them.
  Club(const Club& parent, std::uint64_t name, const std::vector<int>& members);
  ~Club();
  Club(const Club&) = delete;
  Club& operator=(const Club&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::uint64_t name() const { return name_; }
  State state() const;
  std::string words() const;  // what was wrong

  // In a stream: returns when all calls have ended, or the club is no longer ready.
  void run(const std::vector<Call>& calls);

  // Returns when nothing runs. `to`: revoked or aborted.
  void stop(State to);

 private:
  struct Ferry;

  void start(const std::function<void()>& assemble);
  void meet_at(const Place& root);
  void meet_members();
  Descriptor await(const Knock& knock);
  void await_byte(const Descriptor& socket);
  void end_as(State state, const std::string& words);
  bool is_stopped() const;
  void exchange(const std::vector<Call>& calls);
  void exchange_with_self(const std::vector<Call>& calls);
  std::map<std::pair<int, bool>, Ferry> ferries(const std::vector<Call>& calls);
  bool find_connection(Ferry& ferry);
  void send_some(Ferry& ferry);
  void receive_some(Ferry& ferry);

  const std::uint64_t name_;
  int ranks_ = 0, rank_ = 0;
  std::shared_ptr<Door> door_;
  std::vector<Place> places_;  // by rank
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::starting;
  std::string words_;
  bool running_ = false;
  Descriptor wake_, woken_;                             // closing wake_ ends every wait
  std::map<std::pair<int, bool>, Descriptor> sockets_;  // by peer and whether we send
  std::thread starter_;
};

// What makes a unique id: waits in the background for all ranks and tells each where the others
// are. Lives as long as the process.
struct Root {
  Place place;
  std::uint64_t name = 0;
};
Root open_root();

}  // namespace refit::fake
