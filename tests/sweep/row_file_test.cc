#include "sweep/detail/row_file.h"

#include "tests/cli/program.h"
#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

TEST_CASE("row file: it grows by lines, and goes on after whole ones", "[sweep]") {
  const Folder folder;
  const std::string path = folder / "f.csv";
  {
    detail::RowFile file(path, "head", false);
    file.append("one");
    CHECK(file.text() == "head\n");
  }
  // A kill in the middle of a line.
  folder.write("f.csv", text_of(path) + "tw");
  {
    detail::RowFile file(path, "head", true);
    CHECK(file.text() == "head\none\n");
    file.append("two");
  }
  CHECK(text_of(path) == "head\none\ntwo\n");
}

TEST_CASE("row file: a kill in the middle of the first line leaves nothing to lose", "[sweep]") {
  const Folder folder;
  for (const std::string torn : {"", "h", "hea"}) {
    const std::string path = folder.write("f.csv", torn);
    detail::RowFile file(path, "head", true);
    CHECK(file.text() == "head\n");
    CHECK(text_of(path) == "head\n");
  }
  for (const std::string text : {"letter", "dear\nreader", "heading\n", "head,\nx"}) {
    const std::string other = folder.write("other.csv", text);
    CHECK(error_of([&] { detail::RowFile(other, "head", true); }) ==
          other + ": is no result of this sweep as it is now; name another file");
    CHECK(text_of(other) == text);
  }
}

TEST_CASE("row file: nobody's file is overwritten, and two do not write one", "[sweep]") {
  const Folder folder;
  const std::string path = folder / "f.csv";
  const detail::RowFile file(path, "head", false);
  CHECK(error_of([&] { detail::RowFile(path, "head", false); }) ==
        path + ": is there already; --resume continues it, or name another file");
  CHECK(error_of([&] { detail::RowFile(path, "head", true); }, ErrorCode::environment) ==
        path + ": another process is writing it; give each its own file");
  CHECK(error_of([&] { detail::RowFile("/dev/zero", "head", true); }) ==
        "/dev/zero: is no plain file, which could be continued; name one");
  CHECK(error_of([&] { detail::RowFile(folder / "no/f.csv", "head", true); },
                 ErrorCode::environment) ==
        folder / "no/f.csv" + ": cannot be written: No such file or directory");
}

}  // namespace
}  // namespace refit::test
