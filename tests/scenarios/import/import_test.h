#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "scenarios/import/imported.h"

namespace refit::test {

// What a call complains about.
template <class Call>
std::string error_in(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "no error";
}

// A folder of small files, removed at the end.
class Files {
 public:
  Files() {
    std::string name = (std::filesystem::temp_directory_path() / "refit-files-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Files() { std::filesystem::remove_all(path_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

// "tensor=8 expert=16", in the order of the part.
inline std::string keys_in(const ImportedPart& part) {
  std::string text;
  for (const ImportedKey& key : part)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key.key, key.value);
  return text;
}

inline bool says(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace refit::test
