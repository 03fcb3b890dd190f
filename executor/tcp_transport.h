#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "executor/detail/socket.h"
#include "executor/detail/tcp_stream.h"
#include "executor/failure.h"
#include "executor/rank_control.h"
#include "executor/transport.h"

namespace refit {

// An open connection: the messages of one lane between this rank and a peer, both ways.
struct TcpLink {
  detail::Descriptor socket;
  Rank peer;
  int lane = 0;
};

// Messages over TCP, one connection per (lane, peer), one thread, blocked in epoll when nothing
// moves. A message is a header and its bytes, read and written in place where its runs are long.
// A receiver does not read past a message that nobody has asked for: what it holds is bounded, and
// the sender is held back by TCP itself.
//
// A peer whose connection closes, or whose link acknowledges nothing for the time-out, is PeerLost.
class TcpTransport : public Transport {
 public:
  // `control` is watched while waiting; null in a benchmark of the transport alone.
  TcpTransport(Rank self, std::vector<TcpLink> links, std::size_t moves,
               RankControl* control = nullptr);
  ~TcpTransport() override;

  // A new iteration: all of the last must have ended. Before the barrier that starts it.
  void begin(std::uint32_t epoch);

  void send(Message message) override;
  void receive(Message message) override;
  void wait(std::vector<Ended>& ended) override;

  // Looks for dark links; PeerLost. Also to be called, once per tick, while a rank waits for others
  // elsewhere: what it has written may not have arrived.
  void check_links();

  // What has arrived and what is open, also after wait() has thrown.
  RankReport report();

 private:
  struct Connection {
    detail::Descriptor socket;
    Rank peer;
    int lane = 0;
    detail::SendStream out;
    detail::ReceiveStream in;
    bool writable = true;  // the socket may take bytes
    bool readable = true;  // the socket may have bytes
    bool hung_up = false;  // the peer has closed; there may still be bytes
    bool closed = false;   // all that it sent has been read
    bool listed = false;   // in active_
    // Since when something sent is without answer; nothing: at the last look all was answered.
    std::optional<double> asked_s = {};
  };

  Connection& connection(int lane, Rank peer);
  void activate(Connection& c);
  void turn_all();
  void turn(Connection& c);
  void read(Connection& c);
  void account();
  void take_events(bool may_block);
  void tick();
  std::optional<Message> match(const Connection& c, const detail::WireHeader& header);
  std::optional<std::uint32_t> oldest_with(const Connection* c) const;
  [[noreturn]] void lose(const Connection& c, const std::string& why) const;

  Rank self_;
  RankControl* control_;
  detail::Descriptor epoll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::uint64_t, Connection*> at_;
  std::vector<Connection*> active_, turning_;  // may have something to do
  std::unordered_map<std::uint32_t, Message> posted_;
  std::unordered_map<std::uint32_t, const Connection*> open_;
  std::vector<std::uint64_t> received_;
  std::vector<std::byte> buffer_;
  std::vector<Ended> ended_;
  std::size_t accounted_ = 0;  // of ended_
  std::uint32_t epoch_ = 0;
  bool is_waiting_ = false;  // in wait()
  double next_tick_s_ = 0, last_links_s_ = 0;
};

}  // namespace refit
