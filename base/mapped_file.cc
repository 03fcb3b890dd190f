#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "base/text_file.h"

namespace refit {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(ErrorCode::environment,
              fmt::format("{}: can't be mapped: {}", path, std::generic_category().message(error)));
}

}  // namespace

MappedFile::MappedFile(const std::string& path, Access access)
    : path_(path), writable_(access == Access::write) {
  // Without waiting, where a pipe has nobody at its other end.
  const int file = ::open(path.c_str(), (writable_ ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(path, errno);
  struct stat status = {};
  void* memory = nullptr;
  int error = ::fstat(file, &status) == 0 ? 0 : errno;
  if (error == 0 && !S_ISREG(status.st_mode)) error = S_ISDIR(status.st_mode) ? EISDIR : ENODEV;
  if (error == 0 && status.st_size > 0) {
    memory = ::mmap(nullptr, static_cast<std::size_t>(status.st_size),
                    writable_ ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  ::close(file);
  if (error != 0) fail(path, error);
  bytes_ = {static_cast<std::byte*>(memory), static_cast<std::size_t>(status.st_size)};
  if (!writable_) note_read(path);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::exchange(other.bytes_, {})),
      writable_(other.writable_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(writable_, other.writable_);
  return *this;
}

std::span<std::byte> MappedFile::writable_bytes() {
  REFIT_CHECK(writable_);
  return bytes_;
}

void MappedFile::flush() {
  if (bytes_.empty()) return;
  if (::msync(bytes_.data(), bytes_.size(), MS_SYNC) != 0) {
    throw Error(ErrorCode::environment, fmt::format("{}: can't be written to the disk: {}", path_,
                                                    std::generic_category().message(errno)));
  }
}

}  // namespace refit
