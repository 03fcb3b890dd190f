#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "executor/cuda/device_buffer.h"
#include "executor/cuda/wire.h"

namespace refit {

// Virtual ranks: threads of one process that share a GPU. Every message is one copy on the device
// by the receiver's stream. Events order it after the sender's packing and before the sender's
// stream goes on, so a group ends on both sides as an NCCL group does.
class LocalHub {
 public:
  std::unique_ptr<Wire> wire(Rank rank);

  void abort(const std::string& reason);

 private:
  friend class LocalWire;

  struct Post {
    std::byte* at = nullptr;
    std::int64_t bytes = 0;
    std::shared_ptr<Event> packed;  // recorded: the bytes are there behind it
    std::shared_ptr<Event> taken;  // set and recorded by the receiver: the bytes are free behind it
  };
  using Pair = std::tuple<int, Rank, Rank>;  // lane, sender, receiver

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Pair, std::deque<std::shared_ptr<Post>>> posts_;
  std::string aborted_;
};

}  // namespace refit
