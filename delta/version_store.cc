#include "delta/version_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text_file.h"
#include "delta/hash.h"

namespace refit {
namespace {

constexpr std::string_view kFirstLine = "refit.version/1";
constexpr std::size_t kMostBytes = 4096;

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Error(ErrorCode::environment,
              fmt::format("{}: {}: {}", path, what, std::generic_category().message(errno)));
}

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags)
      : path_(path), file_(::open(path.c_str(), flags, 0666)) {
    if (file_ < 0) fail(path, "can't be opened");
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int number() const { return file_; }
  void flush() const {
    if (::fsync(file_) != 0) fail(path_, "can't be written to the disk");
  }

 private:
  std::string path_;
  int file_;
};

std::string text_of(const VersionRecord& record) {
  std::string text =
      fmt::format("{}\nversion {}\nstate {}\n", kFirstLine, record.version, to_hex(record.state));
  if (record.applying) {
    text +=
        fmt::format("applying {}\nnext_state {}\n", record.next_version, to_hex(record.next_state));
  }
  return text;
}

// Values of lines "key value"; the file is ours, so anything else is damage.
class RecordReader {
 public:
  RecordReader(const std::string& text, const std::string& path) : in_(text), path_(path) {}

  VersionRecord read() {
    std::string line;
    if (!std::getline(in_, line) || line != kFirstLine) fail_at(kFirstLine);
    VersionRecord record;
    record.version = number("version");
    record.state = hash("state");
    if (in_.peek() == std::istringstream::traits_type::eof()) return record;
    record.applying = true;
    record.next_version = number("applying");
    record.next_state = hash("next_state");
    if (in_.peek() != std::istringstream::traits_type::eof()) fail_at("its end");
    return record;
  }

 private:
  [[noreturn]] void fail_at(std::string_view expected) const {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("{}: is no version record: {} is not where it should be", path_, expected));
  }

  std::string value(std::string_view key) {
    std::string line;
    if (!std::getline(in_, line) || line.rfind(fmt::format("{} ", key), 0) != 0) fail_at(key);
    return line.substr(key.size() + 1);
  }

  std::uint64_t number(std::string_view key) {
    const std::string text = value(key);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) fail_at(key);
    return number;
  }

  Hash128 hash(std::string_view key) {
    const std::string text = value(key);
    Hash128 hash;
    if (text.size() != 32) fail_at(key);
    for (std::size_t i = 0; i < 16; ++i) {
      unsigned byte = 0;
      const char* digits = text.data() + 2 * i;
      const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
      if (error != std::errc() || end != digits + 2) fail_at(key);
      hash.bytes[i] = static_cast<std::byte>(byte);
    }
    return hash;
  }

  std::istringstream in_;
  std::string path_;
};

void replace(const std::string& path, const VersionRecord& record) {
  const std::string next = path + ".next";  // under the lock there is one writer
  const std::string text = text_of(record);
  {
    const OpenFile file(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      fail(next, "can't be written");
    }
    file.flush();
  }
  if (::rename(next.c_str(), path.c_str()) != 0) fail(path, "can't be replaced");
  const std::size_t slash = path.rfind('/');
  OpenFile(slash == std::string::npos ? "." : path.substr(0, slash + 1),
           O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      .flush();
}

}  // namespace

std::string to_string(const VersionRecord& record) {
  std::string text = fmt::format("version {} (state {})", record.version, to_hex(record.state));
  if (record.applying) text += fmt::format(", on the way to version {}", record.next_version);
  return text;
}

VersionRecord MemoryVersionStore::read() {
  const std::lock_guard lock(mutex_);
  return record_;
}

bool MemoryVersionStore::compare_and_set(const VersionRecord& expected, const VersionRecord& next) {
  const std::lock_guard lock(mutex_);
  if (record_ != expected) return false;
  record_ = next;
  return true;
}

FileVersionStore::FileVersionStore(std::string path) : path_(std::move(path)) {}

void FileVersionStore::create(const std::string& path, const VersionRecord& record) {
  { const OpenFile only_if_new(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC); }
  replace(path, record);
}

VersionRecord FileVersionStore::read() {
  return RecordReader(read_text_file(path_, kMostBytes), path_).read();
}

bool FileVersionStore::compare_and_set(const VersionRecord& expected, const VersionRecord& next) {
  const OpenFile lock(path_ + ".lock", O_RDWR | O_CREAT | O_CLOEXEC);
  while (::flock(lock.number(), LOCK_EX) != 0) {
    if (errno != EINTR) fail(path_ + ".lock", "can't be locked");
  }
  if (read() != expected) return false;
  replace(path_, next);
  return true;
}

}  // namespace refit
