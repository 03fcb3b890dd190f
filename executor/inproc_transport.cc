#include "executor/inproc_transport.h"

#include "base/check.h"
#include "base/error.h"

namespace refit {

class InprocTransport : public Transport {
 public:
  InprocTransport(InprocHub& hub, Rank rank) : hub_(hub), rank_(rank) {}

  void send(Message message) override {
    const Rank peer = message.peer;
    const std::uint32_t move = message.move;
    const auto [at, is_new] = sending_.emplace(move, std::move(message));
    REFIT_CHECK(is_new);
    hub_.put(peer, {move, false, &at->second});
  }

  void receive(Message message) override {
    const std::uint32_t move = message.move;
    const auto offered = offers_.find(move);
    if (offered != offers_.end()) {
      take(*offered->second, message);
      offers_.erase(offered);
    } else {
      receiving_.emplace(move, std::move(message));
    }
  }

  void wait(std::vector<Ended>& ended) override {
    InprocHub::Mailbox& box = *hub_.mailboxes_[rank_.index()];
    while (true) {
      std::deque<InprocHub::Event> events;
      {
        std::unique_lock lock(box.mutex);
        // Something was copied in receive(): report it without waiting for more.
        if (ended_.empty())
          box.filled.wait(lock, [&] { return !box.events.empty() || !box.aborted.empty(); });
        if (!box.aborted.empty()) throw Error(ErrorCode::environment, box.aborted);
        events.swap(box.events);
      }
      for (const InprocHub::Event& event : events) handle(event);
      if (ended_.empty()) continue;
      ended.insert(ended.end(), ended_.begin(), ended_.end());
      ended_.clear();
      return;
    }
  }

 private:
  void handle(const InprocHub::Event& event) {
    if (event.sent) {
      sending_.erase(event.move);
      ended_.push_back({event.move, true});
      return;
    }
    const auto waiting = receiving_.find(event.move);
    if (waiting == receiving_.end()) {
      offers_.emplace(event.move, event.offer);
      return;
    }
    take(*event.offer, waiting->second);
    receiving_.erase(waiting);
  }

  void take(const Message& from, const Message& to) {
    if (from.bytes != to.bytes) {
      throw Error(ErrorCode::check_failed, "both ends of a message name different sizes");
    }
    BoxCursor reader(from.boxes), writer(to.boxes);
    copy(reader, writer, to.bytes);
    ended_.push_back({to.move, false});
    hub_.put(to.peer, {to.move, true, nullptr});
  }

  InprocHub& hub_;
  Rank rank_;
  std::unordered_map<std::uint32_t, Message> sending_;    // until the receiver has taken it
  std::unordered_map<std::uint32_t, Message> receiving_;  // until somebody offers it
  std::unordered_map<std::uint32_t, const Message*> offers_;
  std::vector<Ended> ended_;
};

InprocHub::InprocHub(int ranks) {
  for (int r = 0; r < ranks; ++r) mailboxes_.push_back(std::make_unique<Mailbox>());
}

std::unique_ptr<Transport> InprocHub::transport(Rank rank) {
  return std::make_unique<InprocTransport>(*this, rank);
}

void InprocHub::put(Rank rank, Event event) {
  Mailbox& box = *mailboxes_[rank.index()];
  {
    const std::lock_guard lock(box.mutex);
    box.events.push_back(event);
  }
  box.filled.notify_one();
}

void InprocHub::abort(const std::string& reason) {
  for (const auto& box : mailboxes_) {
    {
      const std::lock_guard lock(box->mutex);
      if (box->aborted.empty()) box->aborted = reason;
    }
    box->filled.notify_one();
  }
}

}  // namespace refit
