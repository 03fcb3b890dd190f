#pragma once

#include <functional>
#include <string>
#include <utility>

namespace refit::detail {

// A network namespace held by a file descriptor: it lives as long as that, or a process in it.
class NetNamespace {
 public:
  // The one that this thread is in.
  static NetNamespace current();
  // A new one, without links; this thread stays where it is. Error(environment) if refused.
  static NetNamespace create();

  NetNamespace(NetNamespace&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  NetNamespace& operator=(NetNamespace&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~NetNamespace();

  int fd() const { return fd_; }
  void enter() const;  // moves this thread

 private:
  explicit NetNamespace(int fd) : fd_(fd) {}
  int fd_;
};

// Brings a thread back to where it was, whatever happens between.
class NamespaceVisit {
 public:
  NamespaceVisit() : home_(NetNamespace::current()) {}
  ~NamespaceVisit();
  NamespaceVisit(const NamespaceVisit&) = delete;
  NamespaceVisit& operator=(const NamespaceVisit&) = delete;

 private:
  NetNamespace home_;
};

// Writes a kernel setting of the namespace this thread is in; one that does not exist is left out.
void write_setting(const std::string& path, const std::string& value);

}  // namespace refit::detail
