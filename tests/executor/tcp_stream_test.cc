#include <catch2/catch.hpp>

#include <random>
#include <thread>

#include <sys/socket.h>

#include "executor/detail/socket.h"
#include "executor/tcp_transport.h"

namespace refit::test {
namespace {

// Two ranks of one process, joined by one connection of lane 0.
struct Pair {
  explicit Pair(std::size_t moves) {
    const detail::SocketOptions options;
    const auto listener = detail::listen_on("127.0.0.1", 0, options);
    auto out = detail::connect_to("127.0.0.1", detail::port_of(listener), options, 5);
    detail::Descriptor in(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    a = make(Rank(0), Rank(1), std::move(out), moves);
    b = make(Rank(1), Rank(0), std::move(in), moves);
  }
  static std::unique_ptr<TcpTransport> make(Rank self, Rank peer, detail::Descriptor socket,
                                            std::size_t moves) {
    std::vector<TcpLink> links;
    links.push_back({std::move(socket), peer, 0});
    return std::make_unique<TcpTransport>(self, std::move(links), moves);
  }
  std::unique_ptr<TcpTransport> a, b;
};

Message message(std::uint32_t move, Rank peer, std::vector<StridedBox> boxes) {
  Message m;
  m.move = move;
  m.peer = peer;
  for (const StridedBox& box : boxes) m.bytes += box.bytes();
  m.boxes = std::move(boxes);
  return m;
}

void wait_for(TcpTransport& t, std::size_t count) {
  std::vector<Ended> ended;
  while (ended.size() < count) t.wait(ended);
}

std::vector<std::byte> random_bytes(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(n);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace

TEST_CASE("tcp: runs of any length, long and short in turn, keep their order", "[executor][tcp]") {
  const unsigned seed = 3;
  CAPTURE(seed);
  std::mt19937 random(seed);
  // Around the length that is written in place (4096), and far from it.
  const std::size_t lengths[] = {1, 2, 33, 4095, 4096, 4097, 70000, 300000, 1};
  constexpr int kMessages = 200;
  std::vector<std::byte> from = random_bytes(1 << 20, seed), to(from.size() * 2);
  std::vector<std::vector<StridedBox>> sent, received;
  std::vector<std::vector<std::byte>> expected;
  std::vector<std::unique_ptr<std::vector<std::byte>>> targets;
  for (int i = 0; i < kMessages; ++i) {
    std::vector<StridedBox> boxes;
    std::vector<std::byte> content;
    for (auto n = random() % 6; n > 0; --n) {  // 0: an empty message
      const std::size_t run = lengths[random() % std::size(lengths)];
      const std::int64_t count = run < 100 ? 1 + random() % 300 : 1 + random() % 3;
      const std::size_t stride = run + random() % 7;
      StridedBox box{
          from.data() + random() % (from.size() - stride * static_cast<std::size_t>(count)),
          static_cast<std::int64_t>(run),
          {{count, static_cast<std::int64_t>(stride)}}};
      for (std::int64_t k = 0; k < count; ++k) {
        const std::byte* at = box.base + k * static_cast<std::int64_t>(stride);
        content.insert(content.end(), at, at + run);
      }
      boxes.push_back(box);
    }
    // The receiver cuts the same bytes otherwise.
    targets.push_back(std::make_unique<std::vector<std::byte>>(content.size()));
    std::vector<StridedBox> places;
    for (std::size_t at = 0; at < content.size();) {
      const std::size_t run = std::min(content.size() - at, lengths[random() % std::size(lengths)]);
      places.push_back(contiguous(targets.back()->data() + at, static_cast<std::int64_t>(run)));
      at += run;
    }
    sent.push_back(boxes);
    received.push_back(places);
    expected.push_back(content);
  }
  Pair pair(kMessages);
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < kMessages; ++i) pair.a->send(message(i, Rank(1), sent[i]));
    wait_for(*pair.a, kMessages);
  });
  // Receives are posted in blocks from the back, so that messages are found parked.
  for (std::uint32_t block = 0; block < kMessages; block += 20) {
    for (std::uint32_t i = block + 20; i-- > block;)
      pair.b->receive(message(i, Rank(0), received[i]));
    wait_for(*pair.b, 20);
  }
  sender.join();
  for (std::size_t i = 0; i < kMessages; ++i) {
    CAPTURE(i);
    REQUIRE(*targets[i] == expected[i]);
  }
}

TEST_CASE("tcp: a message that nobody asks for holds its sender back", "[executor][tcp]") {
  // 64 MiB into sockets of 256 KiB: the first send ends only when the receiver has taken most of
  // it.
  constexpr std::size_t kBytes = 64 << 20;
  std::vector<std::byte> from(kBytes, std::byte{7}), to(kBytes), small(1);
  Pair pair(2);
  pair.a->send(message(0, Rank(1), {contiguous(from.data(), kBytes)}));
  // The other way stays open meanwhile.
  pair.b->send(message(1, Rank(0), {contiguous(from.data(), 1)}));
  pair.a->receive(message(1, Rank(1), {contiguous(small.data(), 1)}));
  wait_for(*pair.b, 1);
  std::vector<Ended> ended;
  pair.a->wait(ended);
  REQUIRE(ended.size() == 1);
  REQUIRE(ended[0].move == 1);
  REQUIRE_FALSE(ended[0].sent);
  REQUIRE(pair.a->report().open.size() == 1);
  std::thread sender([&] { wait_for(*pair.a, 1); });
  pair.b->receive(message(0, Rank(0), {contiguous(to.data(), kBytes)}));
  wait_for(*pair.b, 1);
  sender.join();
  REQUIRE(to == from);
  REQUIRE(pair.b->report().received == std::vector<std::uint64_t>{1});  // move 0; move 1 was sent
}

TEST_CASE("tcp: a peer that closes is lost only to those who still expect something",
          "[executor][tcp]") {
  std::vector<std::byte> from(100, std::byte{1}), to(100);
  Pair pair(2);
  pair.a->send(message(0, Rank(1), {contiguous(from.data(), 100)}));
  wait_for(*pair.a, 1);
  pair.a.reset();
  pair.b->receive(message(0, Rank(0), {contiguous(to.data(), 100)}));
  wait_for(*pair.b, 1);
  REQUIRE(to == from);
  pair.b->receive(message(1, Rank(0), {contiguous(to.data(), 100)}));
  std::vector<Ended> ended;
  try {
    while (true) pair.b->wait(ended);
  } catch (const PeerLost& lost) {
    REQUIRE(lost.peer() == Rank(0));
    REQUIRE(lost.move() == 1u);
  }
}

TEST_CASE("tcp: a message of more than 4 GiB arrives", "[executor][tcp][.slow]") {
  // The same 64 MiB 65 times: 4.06 GiB of stream from and into little memory.
  constexpr std::int64_t kBlock = 64 << 20, kBlocks = 65;
  std::vector<std::byte> from = random_bytes(kBlock, 1), to(kBlock);
  Pair pair(1);
  std::thread sender([&] {
    pair.a->send(message(0, Rank(1), {{from.data(), kBlock, {{kBlocks, 0}}}}));
    wait_for(*pair.a, 1);
  });
  pair.b->receive(message(0, Rank(0), {{to.data(), kBlock, {{kBlocks, 0}}}}));
  wait_for(*pair.b, 1);
  sender.join();
  REQUIRE(to == from);
}

}  // namespace refit::test
