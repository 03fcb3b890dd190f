#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "delta/version_store.h"

namespace refit {
namespace {

struct Path {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("refit-version-" + std::to_string(::getpid()));
  std::string file = (folder / "version").string();

  Path() { std::filesystem::create_directories(folder); }
  ~Path() { std::filesystem::remove_all(folder); }
};

TEST_CASE("version store: a file keeps the record, and changes it only from what is expected",
          "[delta]") {
  const Path path;
  VersionRecord record{7, {}, false, 0, {}};
  record.state.bytes[15] = std::byte{0xa0};
  FileVersionStore::create(path.file, record);
  CHECK_THROWS_AS(FileVersionStore::create(path.file, record), Error);
  FileVersionStore store(path.file);
  CHECK(store.read() == record);
  VersionRecord applying = record;
  applying.applying = true;
  applying.next_version = 8;
  applying.next_state.bytes[0] = std::byte{1};
  CHECK(!store.compare_and_set(applying, record));
  CHECK(store.compare_and_set(record, applying));
  CHECK(FileVersionStore(path.file).read() == applying);
  CHECK(!store.compare_and_set(record, applying));
}

TEST_CASE("version store: of many who want the next version one gets it", "[delta]") {
  const Path path;
  FileVersionStore::create(path.file, {});
  std::atomic<int> won = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      threads.emplace_back([&, i] {
        FileVersionStore store(path.file);
        won += store.compare_and_set({}, {i, {}, false, 0, {}}) ? 1 : 0;
      });
    }
  }
  CHECK(won == 1);
}

TEST_CASE("version store: a damaged file is refused", "[delta]") {
  const Path path;
  const std::string good = "refit.version/1\nversion 7\nstate 000102030405060708090a0b0c0d0e0f\n";
  const auto read = [&](const std::string& text) {
    std::ofstream(path.file, std::ios::trunc) << text;
    return FileVersionStore(path.file).read();
  };
  CHECK(read(good).version == 7);
  for (const std::string& bad :
       {std::string(), std::string("refit.version/2\n"), good.substr(0, 40), good + "applying 8\n",
        good + "x",
        std::string("refit.version/1\nversion -7\nstate 000102030405060708090a0b0c0d0e0f\n"),
        std::string("refit.version/1\nversion 7\nstate 0001020304050607x8090a0b0c0d0e0f\n")}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(read(bad), Error);
  }
}

}  // namespace
}  // namespace refit
