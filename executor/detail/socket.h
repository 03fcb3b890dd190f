#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace refit::detail {

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() { Descriptor(std::move(*this)); }

 private:
  int fd_ = -1;
};

struct SocketOptions {
  // Fixed: the kernel's auto-tuning would let one connection fill a queue that all share.
  int buffer_bytes = 256 << 10;
  std::string congestion_control = "cubic";  // the system's own where the kernel lacks it
};

// An IPv4 TCP socket that listens on `host` (an address or a name); port 0 lets the kernel choose.
Descriptor listen_on(const std::string& host, int port, const SocketOptions& options);

// Connects; while nobody listens there yet, tries again until `timeout_s` has passed.
Descriptor connect_to(const std::string& host, int port, const SocketOptions& options,
                      double timeout_s);

// Whether a machine has this address and answers in time, even if only to say that nobody listens.
bool answers(const std::string& host, double timeout_s);

int port_of(const Descriptor& socket);
std::string local_address_of(const Descriptor& socket);

// Both ends of a local stream.
std::pair<Descriptor, Descriptor> socket_pair();

void make_nonblocking(const Descriptor& socket);

// Whether fd can be read within `timeout_s`. A signal may end the wait early.
bool wait_readable(int fd, double timeout_s);

// Whether all `bytes` came within `timeout_s`.
bool read_exactly(int fd, void* to, std::size_t bytes, double timeout_s);

std::string last_error();  // errno in words

}  // namespace refit::detail
