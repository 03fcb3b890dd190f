#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "models/import/safetensors.h"

namespace refit {

struct CheckpointTensor {
  SafetensorsTensor tensor;
  std::size_t file = 0;  // position in SafetensorsCheckpoint::files()
};

// The weights of a model on disk: one .safetensors file, or several that an index lists. Files are
// mapped, so opening one reads the headers and no data.
class SafetensorsCheckpoint {
 public:
  // A .safetensors file, an index (.json), or a folder with either. Error(bad_input): a header or
  // an index is wrong, they do not agree, or it is not clear which file is meant;
  // Error(environment): a file can't be read.
  explicit SafetensorsCheckpoint(const std::string& path,
                                 MappedFile::Access access = MappedFile::Access::read);

  const std::string& path() const { return path_; }
  const std::string& index_path() const { return index_path_; }  // empty: a single file
  const std::vector<MappedFile>& files() const { return files_; }
  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }  // by name
  std::uint64_t bytes() const;                                               // of all tensors

  std::span<const std::byte> data(const CheckpointTensor& tensor) const;
  std::span<std::byte> writable_data(const CheckpointTensor& tensor);
  void flush();  // returns when what was written is on the disk

 private:
  void open_file(const std::string& path, MappedFile::Access access);

  std::string path_;
  std::string index_path_;
  std::vector<MappedFile> files_;
  std::vector<CheckpointTensor> tensors_;
};

}  // namespace refit
