#include "models/import/safetensors_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/text_file.h"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostIndexBytes = 100'000'000;  // a million tensors

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, problem));
}

// The index of a folder, or its only file.
std::string entry_of(const std::string& folder) {
  const fs::path index = fs::path(folder) / kSafetensorsIndex;
  if (fs::exists(index)) return index.string();
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path().string());
  }
  if (found.size() == 1) return found[0];
  refuse(folder, fmt::format("has no {} and {} files .safetensors; name the file that is meant",
                             kSafetensorsIndex, found.size()));
}

}  // namespace

SafetensorsCheckpoint::SafetensorsCheckpoint(const std::string& path, MappedFile::Access access)
    : path_(path) {
  std::error_code ignored;  // what can't be looked at can't be mapped either
  const std::string entry = fs::is_directory(path, ignored) ? entry_of(path) : path;
  if (fs::path(entry).extension() == ".json") {
    index_path_ = entry;
    const std::string text = read_text_file(entry, kMostIndexBytes);
    if (text.size() > kMostIndexBytes) {
      refuse(entry, fmt::format("has over {} bytes; no index is that large", kMostIndexBytes));
    }
    const std::map<std::string, std::string> listed = read_safetensors_index(text, entry);
    std::set<std::string> names;
    for (const auto& [tensor, file] : listed) names.insert(file);
    const std::vector<std::string> in_order(names.begin(), names.end());
    for (const std::string& name : in_order) {
      open_file((fs::path(entry).parent_path() / name).string(), access);
    }
    for (const CheckpointTensor& tensor : tensors_) {
      const auto found = listed.find(tensor.tensor.name);
      if (found == listed.end() || found->second != in_order[tensor.file]) {
        refuse(files_[tensor.file].path(),
               fmt::format(
                   "has tensor {}, which {} {}", shown(tensor.tensor.name, 120), entry,
                   found == listed.end() ? "does not list" : "says is in " + shown(found->second)));
      }
    }
    if (tensors_.size() != listed.size()) {
      std::set<std::string> there;
      for (const CheckpointTensor& tensor : tensors_) there.insert(tensor.tensor.name);
      for (const auto& [tensor, file] : listed) {
        if (!there.contains(tensor)) {
          refuse(entry, fmt::format("lists tensor {} in {}, which does not have it",
                                    shown(tensor, 120), shown(file)));
        }
      }
    }
  } else {
    open_file(entry, access);
  }
  std::ranges::sort(tensors_, {},
                    [](const CheckpointTensor& t) -> const std::string& { return t.tensor.name; });
}

void SafetensorsCheckpoint::open_file(const std::string& path, MappedFile::Access access) {
  files_.emplace_back(path, access);
  const auto bytes = files_.back().bytes();
  for (SafetensorsTensor& tensor : read_safetensors_header(bytes, bytes.size(), path).tensors) {
    tensors_.push_back({std::move(tensor), files_.size() - 1});
  }
}

std::uint64_t SafetensorsCheckpoint::bytes() const {
  std::uint64_t sum = 0;
  for (const CheckpointTensor& tensor : tensors_) sum += tensor.tensor.bytes;
  return sum;
}

std::span<const std::byte> SafetensorsCheckpoint::data(const CheckpointTensor& tensor) const {
  return files_[tensor.file].bytes().subspan(tensor.tensor.begin, tensor.tensor.bytes);
}

std::span<std::byte> SafetensorsCheckpoint::writable_data(const CheckpointTensor& tensor) {
  return files_[tensor.file].writable_bytes().subspan(tensor.tensor.begin, tensor.tensor.bytes);
}

void SafetensorsCheckpoint::flush() {
  for (MappedFile& file : files_) file.flush();
}

}  // namespace refit
