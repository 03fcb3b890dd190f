#include "models/import/model_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/shown.h"
#include "base/text_file.h"
#include "base/units.h"
#include "models/import/hf_json.h"
#include "models/import/safetensors.h"
#include "models/import/tensor_model.h"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 10'000;  // of a checkpoint
constexpr std::int64_t kMostNames = 2'000'000;

[[noreturn]] void fail(const std::string& where, const std::string& message) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, message));
}

// The beginning of a file up to the end of its header, however many terabytes follow.
std::string safetensors_beginning(const std::string& path, std::uint64_t& file_bytes) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  file_bytes = fs::file_size(path, error);
  if (!file || error) throw Error(ErrorCode::environment, fmt::format("{}: can't be read", path));
  note_read(path);
  std::string text(8, '\0');
  file.read(text.data(), 8);
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
  text.resize(
      std::min<std::uint64_t>(std::min(length, file_bytes) + 8, std::uint64_t{100'000'008}));
  file.clear();
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

void add_tensors(const std::string& path, std::vector<ListedTensor>& tensors) {
  std::uint64_t file_bytes = 0;
  const std::string text = safetensors_beginning(path, file_bytes);
  const SafetensorsHeader header =
      read_safetensors_header(std::as_bytes(std::span(text.data(), text.size())), file_bytes, path);
  for (const SafetensorsTensor& tensor : header.tensors) {
    ListedTensor listed{tensor.name, {}, Dtype::bf16};
    for (const std::uint64_t size : tensor.shape)
      listed.shape.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(size, INT64_MAX)));
    try {
      listed.dtype = parse_dtype(tensor.dtype);
    } catch (const Error& error) {
      fail(path, fmt::format("{}: dtype: {}", shown(tensor.name, 120), error.what()));
    }
    tensors.push_back(std::move(listed));
  }
}

// The checkpoint that an index lists: every tensor must be in the file that it names.
std::vector<ListedTensor> tensors_beside(const std::string& text, const std::string& path) {
  const auto file_of = read_safetensors_index(text, path);
  std::set<std::string> files;
  for (const auto& [name, file] : file_of) files.insert(file);
  if (files.size() > kMostFiles)
    fail(path, fmt::format("names {} files; at most {} are read", files.size(), kMostFiles));
  std::vector<ListedTensor> tensors;
  for (const std::string& file : files) {
    const fs::path beside = fs::path(path).parent_path() / file;
    std::error_code ignored;
    if (!fs::exists(beside, ignored))
      throw Error(ErrorCode::environment,
                  fmt::format("{}: an index has no shapes, and {} is not beside it; use the "
                              "model's config.json, or bring the files",
                              path, shown(file)));
    const std::size_t before = tensors.size();
    add_tensors(beside.string(), tensors);
    for (std::size_t i = before; i < tensors.size(); ++i) {
      const auto listed = file_of.find(tensors[i].name);
      if (listed == file_of.end() || listed->second != file)
        fail(path, fmt::format("{} is in {}, but not so in the index", shown(tensors[i].name, 120),
                               shown(file)));
    }
  }
  if (tensors.size() != file_of.size())
    fail(path, fmt::format("lists {} tensors, the files have {}", file_of.size(), tensors.size()));
  return tensors;
}

bool has_key(const std::string& text, const char* key) {
  return text.find(fmt::format("\"{}\"", key)) != std::string::npos;
}

std::string name_of(const fs::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view suffix : {".json", ".index", ".safetensors", ".model"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  const std::string folder = path.parent_path().filename().string();
  return name == "model" && !folder.empty() ? folder : name;
}

}  // namespace

ModelSpec load_model(const std::string& path, const HfConfigOptions& options) {
  const auto named = [&](ModelSpec model) {
    model.name = name_of(path);
    return model;
  };
  if (path.ends_with(".safetensors")) {
    std::vector<ListedTensor> tensors;
    add_tensors(path, tensors);
    return named(model_of_tensors(tensors, path));
  }
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return load_hf_config(path, options);
  const std::string text = read_text_file(path, kMostConfigBytes);
  if (has_key(text, "weight_map")) return named(model_of_tensors(tensors_beside(text, path), path));
  const bool is_config =
      has_key(text, "architectures") || has_key(text, "model_type") || !has_key(text, "shape");
  if (is_config) return load_hf_config(path, options);
  return named(parse_m2n_model(text, path));
}

CheckpointIndex parse_checkpoint_index(const std::string& text, const std::string& where) {
  CheckpointIndex index;
  std::set<std::string> files;
  for (const auto& [name, file] : read_safetensors_index(text, where)) {
    index.names.push_back(name);
    files.insert(file);
  }
  index.files = files.size();
  const nlohmann::json document = parse_hf_json(text, where);
  const auto metadata = document.find("metadata");
  if (metadata != document.end() && metadata->is_object()) {
    const auto total = metadata->find("total_size");
    // Some writers make it a floating number.
    if (total != metadata->end() && total->is_number() && total->get<double>() >= 0 &&
        total->get<double>() < 9e18)
      index.total_bytes = total->is_number_integer()
                              ? total->get<std::int64_t>()
                              : static_cast<std::int64_t>(total->get<double>());
  }
  return index;
}

std::vector<std::string> differences(const CheckpointIndex& index, const ModelSpec& model) {
  // A short configuration may have more experts than names fit into memory, as no checkpoint has.
  if (model.checkpoint_tensors() > kMostNames)
    return {fmt::format("the index has {} tensor{}, {} has {}",
                        format_count(static_cast<std::int64_t>(index.names.size())),
                        index.names.size() == 1 ? "" : "s", model.name,
                        format_count(model.checkpoint_tensors()))};
  std::set<std::string> expected;
  for (const TensorSpec& tensor : model.tensors) {
    const std::size_t at = tensor.name.find("{expert}");
    for (int e = 0; e < tensor.checkpoint_tensors(); ++e) {
      std::string name = tensor.name;
      if (at != std::string::npos) name.replace(at, 8, fmt::format("{}", e));
      expected.insert(std::move(name));
    }
  }
  const std::set<std::string> listed(index.names.begin(), index.names.end());
  const auto without = [](const std::set<std::string>& a, const std::set<std::string>& b) {
    std::vector<std::string> rest;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
    return rest;
  };
  std::vector<std::string> found;
  const auto say = [&](const std::vector<std::string>& names, const char* what) {
    if (names.empty()) return;
    found.push_back(
        fmt::format("{} {} {}, such as {}", format_count(static_cast<std::int64_t>(names.size())),
                    names.size() == 1 ? "tensor" : "tensors", what, shown(names.front(), 120)));
  };
  say(without(expected, listed), fmt::format("of {} not in the index", model.name).c_str());
  say(without(listed, expected), fmt::format("of the index not in {}", model.name).c_str());
  if (index.total_bytes && *index.total_bytes != model.bytes()) {
    found.push_back(fmt::format("total_size is {} bytes, {} has {}",
                                format_count(*index.total_bytes), model.name,
                                format_count(model.bytes())));
  }
  return found;
}

}  // namespace refit
