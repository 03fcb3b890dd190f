#include "tests/fakes/fake_club.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <list>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "tests/fakes/fake_cuda_nccl.h"

namespace refit::fake {
namespace {

using Clock = std::chrono::steady_clock;

// A safety net, far beyond any wait of a test that is right.
constexpr auto kPatience = std::chrono::seconds(60);
constexpr double kReadSeconds = 10;            // for what must be on its way
constexpr std::uint64_t kToMeet = 1ull << 63;  // in a Knock's club: a child comes together

[[noreturn]] void lose(const std::string& what) { throw Error(ErrorCode::environment, what); }

struct Hello {
  std::int32_t ranks = 0;
  Place place;
};

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

// The other side of meet_at.
class RootRoom {
 public:
  // The thread stays until it is joined: ranks end without destructors, and a thread that has ended
  // by then and nobody has joined is a leak to a thread sanitizer.
  RootRoom()
      : thread_([this] {
          serve();
          stop_.wait(false);
        }) {}
  ~RootRoom() {
    stop_ = true;
    stop_.notify_all();
    thread_.join();
  }
  Root root() const { return {door_.place(), name_}; }

 private:
  void serve() {
    std::vector<Descriptor> sockets;
    std::vector<Place> places;
    for (std::size_t r = 0; r == 0 || r < places.size(); ++r) {
      std::optional<Descriptor> socket;
      while (!(socket = door_.take({name_, static_cast<std::int32_t>(r), 0}))) {
        if (stop_) return;
        pause();
      }
      Hello hello;
      if (!detail::read_exactly(socket->get(), &hello, sizeof hello, kReadSeconds)) return;
      places.resize(static_cast<std::size_t>(hello.ranks));
      places[r] = hello.place;
      sockets.push_back(std::move(*socket));
    }
    for (const Descriptor& socket : sockets)
      send(socket.get(), places.data(), places.size() * sizeof(Place), MSG_NOSIGNAL);
  }

  static std::uint64_t next_name() {
    static std::atomic<std::uint32_t> made{0};
    return (static_cast<std::uint64_t>(getpid()) << 24 | ++made) & ~kToMeet;
  }

  Door door_;
  const std::uint64_t name_ = next_name();
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

Root open_root() {
  static std::mutex mutex;
  static std::list<RootRoom> rooms;
  const std::lock_guard lock(mutex);
  return rooms.emplace_back().root();
}

// The calls of a group that go one way between two ranks, one after the other.
struct Club::Ferry {
  int peer = 0;
  bool sending = false;
  int fd = -1;
  std::deque<Call> calls;
  std::uint64_t header = 0;
  std::size_t done = 0;  // of the first call, header included

  std::size_t all() const { return sizeof header + calls.front().bytes; }
  // Where its next byte lies, and how many follow there.
  std::pair<char*, std::size_t> next() {
    if (done < sizeof header)
      return {reinterpret_cast<char*>(&header) + done, sizeof header - done};
    const std::size_t at = done - sizeof header;
    return {static_cast<char*>(calls.front().at) + at, calls.front().bytes - at};
  }
};

Club::Club(const Place& root, std::uint64_t name, int ranks, int rank)
    : name_(name), ranks_(ranks), rank_(rank), door_(std::make_shared<Door>()) {
  start([this, root] { meet_at(root); });
}

Club::Club(const Club& parent, std::uint64_t name, const std::vector<int>& members)
    : name_(name), ranks_(static_cast<int>(members.size())), door_(parent.door_) {
  for (const int member : members) {
    if (member == parent.rank_) rank_ = static_cast<int>(places_.size());
    places_.push_back(parent.places_[static_cast<std::size_t>(member)]);
  }
  start([this] { meet_members(); });
}

Club::~Club() {
  stop(State::aborted);
  starter_.join();
}

void Club::start(const std::function<void()>& assemble) {
  std::tie(wake_, woken_) = detail::socket_pair();
  starter_ = std::thread([this, assemble] {
    try {
      assemble();
      end_as(State::ready, {});
    } catch (const std::exception& error) {
      end_as(State::lost, error.what());
    }
  });
}

void Club::meet_at(const Place& root) {
  const Descriptor socket = knock(root, {name_, rank_, 0});
  const Hello hello{ranks_, door_->place()};
  send(socket.get(), &hello, sizeof hello, MSG_NOSIGNAL);
  await_byte(socket);
  places_.resize(static_cast<std::size_t>(ranks_));
  if (!detail::read_exactly(socket.get(), places_.data(), places_.size() * sizeof(Place),
                            kReadSeconds))
    lose("the rank that made the id has gone");
}

// The first member lets all others go on when the last has come.
void Club::meet_members() {
  const char go = 1;
  if (rank_ > 0) {
    const Descriptor socket = knock(places_[0], {name_ | kToMeet, rank_, 0});
    await_byte(socket);
    char byte = 0;
    if (!detail::read_exactly(socket.get(), &byte, 1, kReadSeconds))
      lose("the first rank of the communicator has gone");
    return;
  }
  std::vector<Descriptor> sockets;
  for (int r = 1; r < ranks_; ++r) sockets.push_back(await({name_ | kToMeet, r, 0}));
  for (const Descriptor& socket : sockets) send(socket.get(), &go, 1, MSG_NOSIGNAL);
}

Descriptor Club::await(const Knock& knock) {
  while (!is_stopped()) {
    if (auto socket = door_->take(knock)) return std::move(*socket);
    pause();
  }
  lose("stopped");
}

void Club::await_byte(const Descriptor& socket) {
  while (!detail::wait_readable(socket.get(), 0.005))
    if (is_stopped()) lose("stopped");
}

Club::State Club::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::string Club::words() const {
  const std::lock_guard lock(mutex_);
  return words_;
}

bool Club::is_stopped() const {
  const State now = state();
  return now == State::aborted || now == State::revoked;
}

void Club::end_as(State state, const std::string& words) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::starting && state_ != State::ready) return;  // the first end counts
  state_ = state;
  words_ = words;
}

void Club::stop(State to) {
  std::unique_lock lock(mutex_);
  state_ = to;
  wake_.close();
  changed_.wait(lock, [&] { return !running_; });
  sockets_.clear();
}

void Club::run(const std::vector<Call>& calls) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !running_; });
    if (state_ != State::ready) return;
    running_ = true;
  }
  try {
    exchange_with_self(calls);
    exchange(calls);
  } catch (const Error& error) {
    const bool wrong = error.code() == ErrorCode::check_failed;
    if (wrong) note_fault(error.what());
    end_as(wrong ? State::wrong : State::lost, error.what());
  }
  const std::lock_guard lock(mutex_);
  running_ = false;
  changed_.notify_all();
}

namespace {

[[noreturn]] void unequal(int sender, std::uint64_t sent, int receiver, std::size_t expected) {
  throw Error(ErrorCode::check_failed, "rank " + std::to_string(sender) + " sends " +
                                           std::to_string(sent) + " bytes where rank " +
                                           std::to_string(receiver) + " expects " +
                                           std::to_string(expected));
}

void check(const Call& call) {
  if (!check_access(call.at, call.bytes, "a message"))
    throw Error(ErrorCode::check_failed, "a message lies where no memory is");
}

}  // namespace

void Club::exchange_with_self(const std::vector<Call>& calls) {
  std::deque<Call> sends;
  for (const Call& call : calls)
    if (call.sending && call.peer == rank_) sends.push_back(call);
  for (const Call& call : calls) {
    if (call.sending || call.peer != rank_) continue;
    if (sends.front().bytes != call.bytes) unequal(rank_, sends.front().bytes, rank_, call.bytes);
    pass_message(call.at, sends.front().at, call.bytes);
    sends.pop_front();
  }
}

std::map<std::pair<int, bool>, Club::Ferry> Club::ferries(const std::vector<Call>& calls) {
  std::map<std::pair<int, bool>, Ferry> result;
  for (const Call& call : calls) {
    if (call.peer == rank_) continue;
    check(call);
    Ferry& ferry = result[{call.peer, call.sending}];
    ferry.peer = call.peer;
    ferry.sending = call.sending;
    if (ferry.calls.empty() && call.sending) ferry.header = call.bytes;
    ferry.calls.push_back(call);
  }
  return result;
}

// The sender connects. False: it has not come yet.
bool Club::find_connection(Ferry& ferry) {
  if (ferry.fd >= 0) return true;
  Descriptor& socket = sockets_[{ferry.peer, ferry.sending}];
  if (!socket && ferry.sending) {
    socket = knock(places_[static_cast<std::size_t>(ferry.peer)], {name_, rank_, 0});
  } else if (!socket) {
    auto came = door_->take({name_, ferry.peer, 0});
    if (!came) return false;
    socket = std::move(*came);
  }
  ferry.fd = socket.get();
  return true;
}

void Club::exchange(const std::vector<Call>& calls) {
  auto open = ferries(calls);
  const auto end = Clock::now() + kPatience;
  while (!open.empty()) {
    std::vector<pollfd> fds{{woken_.get(), POLLIN, 0}};
    int timeout_ms = 1000;
    for (auto& [key, ferry] : open) {
      if (!find_connection(ferry)) {
        timeout_ms = 1;
        continue;
      }
      const bool writes = ferry.sending && ferry.done < ferry.all();
      fds.push_back({ferry.fd, static_cast<short>(writes ? POLLOUT : POLLIN), 0});
    }
    poll(fds.data(), fds.size(), timeout_ms);
    if (fds[0].revents != 0) return;
    for (auto& [key, ferry] : open) {
      if (ferry.fd < 0) continue;
      ferry.sending ? send_some(ferry) : receive_some(ferry);
    }
    if (Clock::now() > end) {
      const Ferry& first = open.begin()->second;
      throw Error(ErrorCode::check_failed, "rank " + std::to_string(rank_) + " waits in vain to " +
                                               (first.sending ? "send to" : "receive from") +
                                               " rank " + std::to_string(first.peer));
    }
    std::erase_if(open, [](const auto& entry) { return entry.second.calls.empty(); });
  }
}

void Club::send_some(Ferry& ferry) {
  while (!ferry.calls.empty()) {
    ssize_t n = 0;
    if (ferry.done < ferry.all()) {
      const auto [at, bytes] = ferry.next();
      n = send(ferry.fd, at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      char received = 0;
      n = recv(ferry.fd, &received, 1, MSG_DONTWAIT);
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) lose("the connection to rank " + std::to_string(ferry.peer) + " is closed");
    if (ferry.done < ferry.all()) {
      ferry.done += static_cast<std::size_t>(n);
      continue;
    }
    ferry.calls.pop_front();
    ferry.done = 0;
    if (!ferry.calls.empty()) ferry.header = ferry.calls.front().bytes;
  }
}

void Club::receive_some(Ferry& ferry) {
  while (!ferry.calls.empty()) {
    const auto [at, bytes] = ferry.next();
    const ssize_t n = recv(ferry.fd, at, bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) lose("the connection from rank " + std::to_string(ferry.peer) + " is closed");
    ferry.done += static_cast<std::size_t>(n);
    const Call& call = ferry.calls.front();
    if (ferry.done == sizeof ferry.header && ferry.header != call.bytes)
      unequal(ferry.peer, ferry.header, rank_, call.bytes);
    if (ferry.done < ferry.all()) continue;
    arrived(call.at, call.bytes);
    count_message(rank_);
    const char received = 1;
    send(ferry.fd, &received, 1, MSG_NOSIGNAL);
    ferry.calls.pop_front();
    ferry.done = 0;
  }
}

}  // namespace refit::fake
