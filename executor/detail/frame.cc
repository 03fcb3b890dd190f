#include "executor/detail/frame.h"

#include <cerrno>

#include <sys/socket.h>

namespace refit::detail {
namespace {

constexpr std::uint32_t kMagic = 0x74666572;  // "reft", and tells the byte order

struct Head {
  std::uint32_t magic = kMagic;
  FrameKind kind = FrameKind::beat;
  std::uint64_t bytes = 0;
};

}  // namespace

std::string encode(FrameKind kind, std::string_view body) {
  std::string out;
  out.reserve(sizeof(Head) + body.size());
  put(out, Head{kMagic, kind, body.size()});
  out.append(body);
  return out;
}

bool FrameReader::fill(int fd) {
  char part[64 << 10];
  while (true) {
    const ssize_t n = recv(fd, part, sizeof part, MSG_DONTWAIT);
    if (n > 0) {
      bytes_.append(part, static_cast<std::size_t>(n));
      received_ += static_cast<std::uint64_t>(n);
      if (static_cast<std::size_t>(n) < sizeof part) return true;
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

std::optional<Frame> FrameReader::next() {
  std::string_view rest = std::string_view(bytes_).substr(at_);
  if (rest.size() < sizeof(Head)) return std::nullopt;
  const auto head = take<Head>(rest);
  if (head.magic != kMagic || head.kind > FrameKind::go_on || head.bytes > most_bytes_)
    throw Error(ErrorCode::environment, "control connection: not a message of ours");
  if (rest.size() < head.bytes) return std::nullopt;
  Frame frame{head.kind, std::string(rest.substr(0, head.bytes))};
  at_ += sizeof(Head) + head.bytes;
  if (at_ == bytes_.size() || at_ > (1u << 20)) {
    bytes_.erase(0, at_);
    at_ = 0;
  }
  return frame;
}

}  // namespace refit::detail
