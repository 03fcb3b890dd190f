#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "executor/transport.h"

namespace refit {

// Ranks are threads of one process. The receiver copies straight from the sender's memory to its
// own, so nothing is buffered; any schedule can be proved bit by bit on any machine.
class InprocHub {
 public:
  explicit InprocHub(int ranks);

  // The transport of one rank; to be used by one thread.
  std::unique_ptr<Transport> transport(Rank rank);

  // Wakes every rank with an error, so that nobody waits for a rank that has failed.
  void abort(const std::string& reason);

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
  };

  void put(Rank rank, Event event);

  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
};

}  // namespace refit
