#include "executor/detail/tcp_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>

#include "base/check.h"
#include "base/error.h"
#include "executor/detail/socket.h"

namespace refit::detail {
namespace {

constexpr std::uint32_t kMagic = 0x32666572;       // "ref2", and tells the byte order
constexpr std::size_t kStageBytes = 64 << 10;      // per connection that sends short runs
constexpr std::size_t kReadAheadBytes = 16 << 10;  // past the end of the message that is read
constexpr std::size_t kMostRuns = 64;              // of one system call
constexpr std::size_t kTurnBytes = 4 << 20;        // read before it is another connection's turn

// Adds the long runs at the cursor; steps over them.
std::size_t add_long_runs(BoxCursor& cursor, iovec* runs, std::size_t count, std::size_t most) {
  while (count < most && !cursor.done()) {
    const auto run = cursor.here();
    if (run.size() < kLongRunBytes) break;
    runs[count++] = {run.data(), run.size()};
    cursor.advance(static_cast<std::int64_t>(run.size()));
  }
  return count;
}

}  // namespace

void SendStream::push(Message message, std::uint32_t epoch) {
  const auto bytes = static_cast<std::uint64_t>(message.bytes);
  Outgoing& out = queue_.emplace_back(std::move(message));
  out.header = {kMagic, out.message.move, epoch, 0, 0, bytes};
  pushed_ += sizeof(WireHeader) + bytes;
  out.end = pushed_;
}

void SendStream::gather() {
  if (!stage_) stage_ = std::make_unique_for_overwrite<std::byte[]>(kStageBytes);
  staged_ = stage_sent_ = 0;
  for (; gathering_ < queue_.size(); ++gathering_) {
    Outgoing& out = queue_[gathering_];
    if (!out.header_gathered) {
      if (staged_ + sizeof(WireHeader) > kStageBytes) return;
      std::memcpy(stage_.get() + staged_, &out.header, sizeof(WireHeader));
      staged_ += sizeof(WireHeader);
      out.header_gathered = true;
    }
    // A long run is written from where it lies. From a short one on, all is copied as far as the
    // stage goes: runs are mostly alike, and one copy() is faster than a look at each.
    if (!out.cursor.done() && out.cursor.here().size() < kLongRunBytes) {
      const auto n = std::min(out.left, static_cast<std::int64_t>(kStageBytes - staged_));
      const StridedBox to = contiguous(stage_.get() + staged_, n);
      BoxCursor writer({&to, 1});
      copy(out.cursor, writer, n);
      out.left -= n;
      staged_ += static_cast<std::size_t>(n);
    }
    if (!out.cursor.done()) return;
  }
}

SendStream::Status SendStream::flush(int fd, std::vector<Ended>& ended) {
  while (!queue_.empty()) {
    if (stage_sent_ == staged_) gather();
    iovec runs[kMostRuns];
    std::size_t count = 0;
    const std::size_t staged = staged_ - stage_sent_;
    if (staged > 0) runs[count++] = {stage_.get() + stage_sent_, staged};
    if (gathering_ < queue_.size() && queue_[gathering_].header_gathered) {
      BoxCursor ahead = queue_[gathering_].cursor;
      count = add_long_runs(ahead, runs, count, kMostRuns);
    }
    REFIT_CHECK(count > 0);
    msghdr message{};
    message.msg_iov = runs;
    message.msg_iovlen = count;
    const ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Status::full;
    if (n < 0) throw Error(ErrorCode::environment, last_error());
    const auto wrote = static_cast<std::size_t>(n);
    written_ += wrote;
    const std::size_t from_stage = std::min(wrote, staged);
    stage_sent_ += from_stage;
    if (wrote > from_stage) {
      const auto in_place = static_cast<std::int64_t>(wrote - from_stage);
      queue_[gathering_].cursor.skip(in_place);
      queue_[gathering_].left -= in_place;
    }
    while (!queue_.empty() && queue_.front().end <= written_) {
      ended.push_back({queue_.front().message.move, true});
      queue_.pop_front();
      if (gathering_ > 0) --gathering_;
    }
  }
  return Status::idle;
}

void ReceiveStream::end_if_complete(std::vector<Ended>& ended) {
  if (left_ > 0) return;
  ended.push_back({current_->move, false});
  cursor_.reset();
  current_.reset();
  header_bytes_ = 0;
}

void ReceiveStream::take(std::span<const std::byte> bytes) {
  // copy() reads only; StridedBox has no const twin.
  const StridedBox from =
      contiguous(const_cast<std::byte*>(bytes.data()), static_cast<std::int64_t>(bytes.size()));
  BoxCursor reader({&from, 1});
  copy(reader, *cursor_, static_cast<std::int64_t>(bytes.size()));
  left_ -= static_cast<std::int64_t>(bytes.size());
}

std::size_t ReceiveStream::consume(std::span<const std::byte> bytes, const Match& match,
                                   std::vector<Ended>& ended) {
  std::size_t used = 0;
  while (true) {
    if (!current_) {
      const std::size_t n = std::min(sizeof header_ - header_bytes_, bytes.size() - used);
      if (n > 0)
        std::memcpy(reinterpret_cast<std::byte*>(&header_) + header_bytes_, bytes.data() + used, n);
      header_bytes_ += n;
      used += n;
      if (header_bytes_ < sizeof header_) return used;
      if (header_.magic != kMagic)
        throw Error(ErrorCode::check_failed,
                    "a message starts with something else than our header");
      current_ = match(header_);
      if (!current_) return used;
      cursor_.emplace(current_->boxes);
      left_ = current_->bytes;
    }
    const std::size_t n = std::min(static_cast<std::size_t>(left_), bytes.size() - used);
    if (n > 0) take(bytes.subspan(used, n));
    used += n;
    const bool complete = left_ == 0;
    end_if_complete(ended);
    if (!complete) return used;
  }
}

ReceiveStream::Status ReceiveStream::read(int fd, std::span<std::byte> buffer, bool to_the_end,
                                          const Match& match, std::vector<Ended>& ended) {
  if (is_parked()) {
    kept_.erase(kept_.begin(),
                kept_.begin() + static_cast<std::ptrdiff_t>(consume(kept_, match, ended)));
    if (is_parked()) return Status::parked;
  }
  for (std::size_t turn = 0; turn < kTurnBytes;) {
    iovec runs[kMostRuns];
    std::size_t count = 0;
    std::size_t direct = 0;
    if (current_) {
      BoxCursor ahead = *cursor_;
      count = add_long_runs(ahead, runs, 0, kMostRuns - 1);
      for (std::size_t i = 0; i < count; ++i) direct += runs[i].iov_len;
    }
    const std::size_t rest = current_ ? static_cast<std::size_t>(left_) - direct : 0;
    const std::size_t buffer_bytes = std::min(buffer.size(), rest + kReadAheadBytes);
    runs[count++] = {buffer.data(), buffer_bytes};
    const ssize_t n = readv(fd, runs, static_cast<int>(count));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Status::drained;
    if (n < 0) throw Error(ErrorCode::environment, last_error());
    if (n == 0) return Status::closed;
    const auto got = static_cast<std::size_t>(n);
    turn += got;
    const std::size_t in_place = std::min(got, direct);
    if (in_place > 0) {
      cursor_->skip(static_cast<std::int64_t>(in_place));
      left_ -= static_cast<std::int64_t>(in_place);
      end_if_complete(ended);
    }
    const auto buffered = buffer.subspan(0, got - in_place);
    const std::size_t used = consume(buffered, match, ended);
    kept_.assign(buffered.begin() + static_cast<std::ptrdiff_t>(used), buffered.end());
    if (is_parked()) return Status::parked;
    if (got < direct + buffer_bytes && !to_the_end) return Status::drained;
  }
  return Status::more;
}

}  // namespace refit::detail
