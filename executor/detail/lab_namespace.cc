#include "executor/detail/lab_namespace.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"

namespace refit::detail {
namespace {

[[noreturn]] void refused(const char* what) {
  throw Error(ErrorCode::environment,
              fmt::format("lab: {}: {}; a lab needs network namespaces: run as root, or allow user "
                          "namespaces, or run without a lab",
                          what, std::strerror(errno)));
}

}  // namespace

NetNamespace NetNamespace::current() {
  const int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (fd < 0) refused("cannot open /proc/thread-self/ns/net");
  return NetNamespace(fd);
}

NetNamespace NetNamespace::create() {
  const NamespaceVisit visit;
  if (unshare(CLONE_NEWNET) != 0) refused("cannot make a network namespace");
  // Otherwise every link starts with packets of its own, which the shapers would count.
  write_setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
  write_setting("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
  write_setting("/proc/sys/net/bridge/bridge-nf-call-iptables", "0");
  return current();
}

NetNamespace::~NetNamespace() {
  if (fd_ >= 0) close(fd_);
}

void NetNamespace::enter() const {
  if (setns(fd_, CLONE_NEWNET) != 0) refused("cannot enter a network namespace");
}

NamespaceVisit::~NamespaceVisit() {
  // Going on in the wrong namespace would put sockets on the wrong link.
  if (setns(home_.fd(), CLONE_NEWNET) != 0) std::abort();
}

void write_setting(const std::string& path, const std::string& value) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, value.data(), value.size());
  close(fd);
}

}  // namespace refit::detail
