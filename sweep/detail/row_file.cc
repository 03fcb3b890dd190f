#include "sweep/detail/row_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"

namespace refit::detail {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

}  // namespace

RowFile::RowFile(const std::string& path, std::string_view header, bool resume) : path_(path) {
  const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | (resume ? 0 : O_EXCL);
  file_ = ::open(path.c_str(), flags, 0666);
  if (file_ < 0 && errno == EEXIST) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: is there already; --resume continues it, or name another file", path));
  }
  if (file_ < 0) fail("cannot be written");
  try {
    // What a pipe or a device has to read need not end.
    struct stat status {};
    if (::fstat(file_, &status) == 0 && !S_ISREG(status.st_mode)) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("{}: is no plain file, which could be continued; name one", path));
    }
    take_lock();
    read_all();
    // A kill may have come between a line and its end, but nobody's other file is cut.
    const std::size_t end = text_.rfind('\n');
    const std::size_t whole = end == text_.npos ? 0 : end + 1;
    const std::string first = fmt::format("{}\n", header);
    if (!(whole == 0 ? first.starts_with(text_) : text_.starts_with(first))) {
      throw Error(
          ErrorCode::bad_input,
          fmt::format("{}: is no result of this sweep as it is now; name another file", path));
    }
    if (whole < text_.size() && ::ftruncate(file_, static_cast<off_t>(whole)) != 0)
      fail("cannot be cut to whole lines");
    text_.resize(whole);
    if (text_.empty()) {
      text_ = first;
      write(text_);
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

RowFile::~RowFile() { ::close(file_); }

void RowFile::append(std::string_view line) { write(fmt::format("{}\n", line)); }

void RowFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot be written");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void RowFile::take_lock() {
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    throw Error(ErrorCode::environment,
                fmt::format("{}: another process is writing it; give each its own file", path_));
  }
  // Some network file systems have no locks; without one nothing is worse than before.
}

void RowFile::read_all() {
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file_, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot be read");
    if (count == 0) return;
    text_.append(block, static_cast<std::size_t>(count));
    if (text_.size() > kMostBytes) {
      throw Error(ErrorCode::bad_input, fmt::format("{}: is larger than 1 GiB", path_));
    }
  }
}

void RowFile::fail(const char* what) const {
  throw Error(ErrorCode::environment, fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

}  // namespace refit::detail
