#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "executor/transport.h"

namespace refit::detail {

// What stands in front of every message on a data connection.
struct WireHeader {
  std::uint32_t magic = 0;  // ours, and the byte order
  std::uint32_t move = 0;
  std::uint32_t epoch = 0;  // the iteration: a late message of an earlier one must not count
  std::uint32_t zero = 0;
  std::uint64_t offset = 0;  // bytes [offset, offset + length) of the move; always the whole
  std::uint64_t length = 0;
};

// Runs at least this long are read and written in place; shorter ones go through a small buffer,
// since the kernel takes longer over an iovec than we over a copy.
constexpr std::size_t kLongRunBytes = 4096;

// The sending half of a connection: a queue of messages as one stream of bytes. Small messages and
// short runs are gathered, so that many share a system call.
class SendStream {
 public:
  void push(Message message, std::uint32_t epoch);
  bool empty() const { return queue_.empty(); }
  const Message& front() const { return queue_.front().message; }

  enum class Status { idle, full };
  // Writes until all is written or the socket takes no more. System errors come as Error.
  Status flush(int fd, std::vector<Ended>& ended);

 private:
  struct Outgoing {
    explicit Outgoing(Message m) : message(std::move(m)), cursor(message.boxes) {}
    Message message;
    BoxCursor cursor;                   // what has not been gathered or written
    std::int64_t left = message.bytes;  // from the cursor on
    WireHeader header;
    bool header_gathered = false;
    std::uint64_t end = 0;  // place of its last byte in the stream
  };

  void gather();

  std::deque<Outgoing> queue_;
  std::size_t gathering_ = 0;           // index of the message whose bytes come next
  std::unique_ptr<std::byte[]> stage_;  // made when first used
  std::size_t staged_ = 0, stage_sent_ = 0;
  std::uint64_t pushed_ = 0, written_ = 0;  // bytes of the stream
};

// The receiving half: finds the posted receive of each message and puts the bytes where it says.
// Stops reading while the next message has no receive, so that the sender feels it.
class ReceiveStream {
 public:
  // The posted receive of a move, or nothing if it is not posted yet.
  using Match = std::function<std::optional<Message>(const WireHeader&)>;

  enum class Status {
    drained,  // the socket has nothing more now
    more,     // it may have more; it is the others' turn
    parked,   // the next message has no receive yet
    closed,   // the peer will send no more
  };
  // `buffer` is scratch and may be shared by all connections of a thread. A short read means that
  // the socket is drained, unless `to_the_end`: the peer has closed, and what counts is to see it.
  Status read(int fd, std::span<std::byte> buffer, bool to_the_end, const Match& match,
              std::vector<Ended>& ended);

  // Something was read that has not ended.
  bool in_message() const { return header_bytes_ > 0; }
  // The next message has no receive yet.
  bool is_parked() const { return header_bytes_ == sizeof header_ && !current_; }

 private:
  // Returns how many of the bytes were used: all, unless the next message has no receive.
  std::size_t consume(std::span<const std::byte> bytes, const Match& match,
                      std::vector<Ended>& ended);
  void take(std::span<const std::byte> bytes);
  void end_if_complete(std::vector<Ended>& ended);

  WireHeader header_;
  std::size_t header_bytes_ = 0;
  std::optional<Message> current_;
  std::optional<BoxCursor> cursor_;
  std::int64_t left_ = 0;
  std::vector<std::byte> kept_;  // read and not used yet; at most a buffer
};

}  // namespace refit::detail
