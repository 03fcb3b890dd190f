#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/yaml.h"

namespace refit {

namespace {

// A folder of this test's own, gone when the test is over.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(std::filesystem::temp_directory_path() / ("refit_yaml_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Error complaint(const std::string& path) {
  try {
    YamlNode::parse_file(path);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::check_failed, "(accepted)");
}

TEST_CASE("yaml file: places carry the path as it was given", "[base][yaml]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.yaml", "name: x\n");
  CHECK(YamlNode::parse_file(path).at("name").where() == path + ":1:7");
}

TEST_CASE("yaml file: a file that can't be read is the environment's fault", "[base][yaml]") {
  const TemporaryFolder folder;
  const Error missing = complaint(folder.path() + "/none.yaml");
  CHECK(missing.code() == ErrorCode::environment);
  CHECK(missing.what() == folder.path() + "/none.yaml: can't be read: No such file or directory");

  const Error is_folder = complaint(folder.path());
  CHECK(is_folder.code() == ErrorCode::environment);
  CHECK(is_folder.what() == folder.path() + ": is a folder; name a file");
}

TEST_CASE("yaml file: 16 MiB are read and one byte more is refused", "[base][yaml]") {
  const TemporaryFolder folder;
  const std::size_t limit = std::size_t{16} << 20;
  const std::string key = "a: ";
  const std::string fits = folder.file("fits.yaml", key + std::string(limit - key.size(), 'x'));
  CHECK(YamlNode::parse_file(fits).at("a").text().size() == limit - key.size());

  const std::string large = folder.file("large.yaml", key + std::string(limit, 'x'));
  const Error error = complaint(large);
  CHECK(error.code() == ErrorCode::bad_input);
  CHECK(error.what() == large + ": larger than 16 MiB; give a smaller YAML file");
}

TEST_CASE("yaml file: an endless device is too large, not endless work", "[base][yaml]") {
  const Error error = complaint("/dev/zero");
  CHECK(error.code() == ErrorCode::bad_input);
  CHECK(std::string(error.what()) == "/dev/zero: larger than 16 MiB; give a smaller YAML file");
}

}  // namespace

}  // namespace refit
