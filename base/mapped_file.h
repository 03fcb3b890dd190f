#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace refit {

// A file as memory: pages come when they are touched and go when memory is short, so a file of any
// size costs no memory of ours. An empty file is an empty span.
class MappedFile {
 public:
  enum class Access { read, write };  // `write`: what is written to the memory is in the file

  // Error(environment) names the file and why it can't be mapped.
  explicit MappedFile(const std::string& path, Access access = Access::read);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> writable_bytes();  // only of a file mapped for `write`
  void flush();                           // returns when what was written is on the disk

 private:
  std::string path_;
  std::span<std::byte> bytes_;
  bool writable_ = false;
};

}  // namespace refit
