#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "executor/transport.h"

namespace refit {

// Ranks are threads of one process. The receiver copies straight from the sender's memory to its
// own, so nothing is buffered; any schedule can be proved bit by bit on any machine.
//
// When all ranks that move wait and nobody has been sent anything, they wait for each other for
// ever: Error(check_failed) on all of them.
class InprocHub {
 public:
  explicit InprocHub(int ranks);

  // The transport of one rank; to be used by one thread.
  std::unique_ptr<Transport> transport(Rank rank);

  // A rank's moves begin, once for all of them before the first waits; and have all ended.
  void enter();
  void leave();

  // Wakes every rank with an error, so that nobody waits for a rank that has failed.
  void abort(const std::string& reason, ErrorCode code = ErrorCode::environment);

 private:
  friend class InprocTransport;

  struct Event {
    std::uint32_t move = 0;
    bool sent = false;               // our send has been taken
    const Message* offer = nullptr;  // a sender's message, ready to be copied
  };
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<Event> events;
    std::string aborted;
    ErrorCode code = ErrorCode::environment;  // of that
  };

  void put(Rank rank, Event event);
  std::deque<Event> take_events(Mailbox& box, bool may_wait);
  void change(int moving, int waiting);

  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
  std::mutex standing_;           // taken before a mailbox's
  int moving_ = 0, waiting_ = 0;  // ranks; the latter are among the former
};

}  // namespace refit
