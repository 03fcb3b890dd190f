#include "sweep/detail/formula.h"

#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

TEST_CASE("formula: whole numbers and paths, products before sums", "[sweep]") {
  const YamlTree tree = tree_of(YamlNode::parse_text("a: {b: 6}\nc: 4\nd: x\n", "f"));
  const auto value = [&](const std::string& f) { return detail::formula_value(f, tree, "w"); };
  CHECK(value("a.b * 8 - c * 2") == 40);
  CHECK(value("a.b*8/2+1") == 25);
  CHECK(value("7") == 7);
  const auto error = [&](const std::string& f) { return error_of([&] { value(f); }); };
  CHECK(error("a.b / c") == "w: 'a.b / c': 4 does not divide 6");
  CHECK(error("a.b / 0") == "w: 'a.b / 0': 0 does not divide 6");
  CHECK(error("a.x + 1") == "w: 'a.x + 1': there is nothing at a.x");
  CHECK(error("d + 1") == "w: 'd + 1': d is 'x', no whole number");
  CHECK(error("1 +") == "w: '1 +': a number or a path is missing");
  CHECK(error("1 1") ==
        "w: '1 1': can't read '1'; write whole numbers and paths, as in cluster.nodes * 8");
  CHECK(error("999999999 * 999999999") == "w: '999999999 * 999999999': is larger than 1000000000");
}

}  // namespace
}  // namespace refit::test
