#include "cli/output.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/text_file.h"
#include "tests/cli/program.h"

namespace refit {
namespace {

ErrorCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::check_failed;
}

TEST_CASE("a file is written whole, with the rights of a plain new file", "[cli][output]") {
  const Folder folder;
  write_output(folder / "a", "first");
  CHECK(text_of(folder / "a") == "first");
  write_output(folder / "a", "second");
  CHECK(text_of(folder / "a") == "second");
  CHECK(folder.files() == 1);
  folder.write("plain", "");
  struct stat ours {
  }, plain{};
  REQUIRE(::stat((folder / "a").c_str(), &ours) == 0);
  REQUIRE(::stat((folder / "plain").c_str(), &plain) == 0);
  CHECK(ours.st_mode == plain.st_mode);
}

TEST_CASE("a failure on the way leaves the old file and no other", "[cli][output]") {
  const Folder folder;
  folder.write("a", "old");
  CHECK(code_of([&] {
          write_output(folder / "a", [](std::ostream& out) {
            out << "half";
            throw Error(ErrorCode::check_failed, "no");
          });
        }) == ErrorCode::check_failed);
  CHECK(text_of(folder / "a") == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("a full disk and a missing folder are environment errors", "[cli][output]") {
  const Folder folder;
  CHECK(code_of([] { write_output("/dev/full", "text"); }) == ErrorCode::environment);
  CHECK(code_of([&] { write_output(folder / "none/a", "text"); }) == ErrorCode::environment);
  CHECK(code_of([&] { write_output(folder / ".", "text"); }) == ErrorCode::environment);
  CHECK(code_of([&] { read_file(folder / "none"); }) == ErrorCode::environment);
  CHECK(code_of([&] { read_file(folder / "."); }) == ErrorCode::environment);
}

TEST_CASE("what was read is not overwritten, also under another name", "[cli][output]") {
  const Folder folder;
  const std::string model = folder.write("config.json", "{}");
  CHECK(read_text_file(model, 9) == "{}");
  std::filesystem::create_symlink(model, folder / "link");
  CHECK(code_of([&] { write_output(folder / "link", "new"); }) == ErrorCode::bad_input);
  CHECK(code_of([&] { require_other_file("-", folder / "./config.json"); }) ==
        ErrorCode::bad_input);
  CHECK(text_of(model) == "{}");
}

TEST_CASE("through a link the file behind it is replaced", "[cli][output]") {
  const Folder folder;
  folder.write("real", "old");
  std::filesystem::create_symlink(folder / "real", folder / "link");
  write_output(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(text_of(folder / "real") == "new");
}

TEST_CASE("an empty file reads as an empty text", "[cli][output]") {
  const Folder folder;
  CHECK(read_file(folder.write("empty", "")).empty());
  CHECK(read_file(folder.write("zero", std::string("a\0b", 3))) == std::string("a\0b", 3));
}

}  // namespace
}  // namespace refit
