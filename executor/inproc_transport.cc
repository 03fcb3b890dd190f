#include "executor/inproc_transport.h"

#include <utility>

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
      // Something was copied in receive(): report it without waiting for more.
      for (const InprocHub::Event& event : hub_.take_events(box, ended_.empty())) handle(event);
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

std::deque<InprocHub::Event> InprocHub::take_events(Mailbox& box, bool may_wait) {
  std::unique_lock lock(box.mutex);
  const auto is_filled = [&] { return !box.events.empty() || !box.aborted.empty(); };
  if (may_wait && !is_filled()) {
    lock.unlock();
    change(0, 1);
    lock.lock();
    box.filled.wait(lock, is_filled);
    lock.unlock();
    // Before it takes what it was sent: who finds all waiting finds that there, too.
    change(0, -1);
    lock.lock();
  }
  if (!box.aborted.empty()) throw Error(box.code, box.aborted);
  return std::exchange(box.events, {});
}

void InprocHub::enter() { change(1, 0); }

void InprocHub::leave() { change(-1, 0); }

void InprocHub::change(int moving, int waiting) {
  const std::lock_guard lock(standing_);
  moving_ += moving;
  waiting_ += waiting;
  const bool may_stand = moving < 0 || waiting > 0;
  if (!may_stand || moving_ == 0 || waiting_ < moving_) return;
  for (const auto& box : mailboxes_) {
    const std::lock_guard box_lock(box->mutex);
    if (!box->events.empty()) return;
  }
  abort("every rank waits for another and nothing was sent: the ops wait for each other",
        ErrorCode::check_failed);
}

void InprocHub::abort(const std::string& reason, ErrorCode code) {
  for (const auto& box : mailboxes_) {
    {
      const std::lock_guard lock(box->mutex);
      if (box->aborted.empty()) {
        box->aborted = reason;
        box->code = code;
      }
    }
    box->filled.notify_one();
  }
}

}  // namespace refit
