#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace refit::detail {

// What ranks and the rendezvous say to each other: a kind, a length, and that many bytes.
enum class FrameKind : std::uint32_t {
  // from a rank
  hello,     // its rank and how many it expects
  gather,    // its blob of the next exchange
  arrive,    // it is at the next barrier
  beat,      // it is alive; what it does
  result,    // for whoever owns the rendezvous
  failed,    // a Failure it saw
  report,    // what it had received and what was open when it was told to stop
  finished,  // it needs nobody any more
  // to a rank
  gathered,  // all blobs, in rank order
  go,        // all have arrived: when to start
  stop,      // the run has failed; send a report
  verdict,   // the Failure that all agree on
  go_on,     // instead of a verdict: a Verdict with all reports
};

struct Frame {
  FrameKind kind = FrameKind::beat;
  std::string body;
};

template <class T>
void put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint64_t>(text.size()));
  out.append(text);
}

// Takes a value off the front; Error(environment) if there is not enough.
template <class T>
T take(std::string_view& in) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  if (in.size() < sizeof value)
    throw Error(ErrorCode::environment,
                "control connection: a message is shorter than its content");
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return value;
}

inline std::string take_text(std::string_view& in) {
  const auto size = take<std::uint64_t>(in);
  if (in.size() < size)
    throw Error(ErrorCode::environment,
                "control connection: a message is shorter than its content");
  std::string text(in.substr(0, size));
  in.remove_prefix(size);
  return text;
}

std::string encode(FrameKind kind, std::string_view body = {});

// Cuts a stream of bytes into frames.
class FrameReader {
 public:
  static constexpr std::uint64_t kMostBytes = 1ull << 30;  // of one frame: 60 million ops' times

  explicit FrameReader(std::uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // Takes what the socket has now. False if the other end has closed or the connection broke.
  bool fill(int fd);
  // Error(environment) on a frame that can't be one of ours.
  std::optional<Frame> next();
  // Bytes that have come in all.
  std::uint64_t received() const { return received_; }

 private:
  std::uint64_t most_bytes_;
  std::uint64_t received_ = 0;
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace refit::detail
