#include "scenarios/import/hydra_config.h"

#include "tests/scenarios/import/import_test.h"

namespace refit::test {
namespace {

HydraConfig config_of(const std::string& text) { return HydraConfig::parse(text, "c.yaml"); }

std::string text_at(HydraConfig& config, const std::string& path) {
  const auto value = config.find(path);
  return value ? value->text : "nothing";
}

TEST_CASE("hydra: files stand on others, and the nearest one wins", "[scenarios][import]") {
  const Files files;
  files.write("root.yaml", "a: {b: 1, c: [1, 2], d: {e: 5}}\nf: root\n");
  files.write("deep/middle.yaml", "defaults: ../root.yaml\na: {b: 2, d: null}\n");
  const std::string leaf =
      files.write("deep/leaf.yaml", "defaults: [middle.yaml]\na: {c: [3]}\ng: leaf\n");
  HydraConfig config = HydraConfig::load(leaf);
  CHECK(text_at(config, "a.b") == "2");
  CHECK(config.words("a.c") == std::vector<std::string>{"3"});  // lists are not joined
  CHECK(config.is_null("a.d"));                                 // null takes a whole map away
  CHECK(text_at(config, "f") == "root");
  CHECK(text_at(config, "g") == "leaf");
  CHECK(config.node("defaults") == nullptr);
}

TEST_CASE("hydra: a map that says _override_ replaces the whole one", "[scenarios][import]") {
  const Files files;
  files.write("root.yaml", "a: {b: 1, c: 2}\n");
  HydraConfig config = HydraConfig::load(
      files.write("leaf.yaml", "defaults: root.yaml\na: {_override_: true, c: 3}\n"));
  CHECK(text_at(config, "a.b") == "nothing");
  CHECK(text_at(config, "a.c") == "3");
}

TEST_CASE("hydra: merge keys give way to a map's own keys, wherever they stand",
          "[scenarios][import]") {
  HydraConfig config = HydraConfig::parse(
      "a: &A {b: 1, c: 2, deep: &D {x: 1, y: 2}}\nother: &O {b: 7, z: 8}\n"
      "one:\n  b: 3\n  <<: *A\n  deep: {<<: *D, y: 5}\n"
      "two:\n  <<: [*A, *O]\n  c: 4\n",
      "r.yaml");
  CHECK(text_at(config, "one.b") == "3");
  CHECK(text_at(config, "one.c") == "2");
  CHECK(text_at(config, "one.deep.x") == "1");
  CHECK(text_at(config, "one.deep.y") == "5");
  CHECK(text_at(config, "two.b") == "1");  // of several the first
  CHECK(text_at(config, "two.z") == "8");
  CHECK(text_at(config, "two.c") == "4");
  CHECK(text_at(config, "a.deep.y") == "2");  // what was merged stays as it is
  CHECK(config.node("one.<<") == nullptr);
  CHECK(error_in([] { HydraConfig::parse("a: {<<: 3}\n", "r.yaml"); }) ==
        "r.yaml:1:9: '<<' must stand for a map, or a list of maps");
}

TEST_CASE("hydra: a cycle of files is named, and a missing one", "[scenarios][import]") {
  const Files files;
  files.write("a.yaml", "defaults: b.yaml\n");
  const std::string b = files.write("b.yaml", "defaults: a.yaml\n");
  CHECK_THAT(error_in([&] { HydraConfig::load(b); }),
             Catch::Contains("defaults: a cycle: b.yaml -> a.yaml -> b.yaml"));
  const std::string lost = files.write("c.yaml", "x: 1\ndefaults: nowhere.yaml\n");
  try {
    HydraConfig::load(lost);
    FAIL("a chain without one of its files");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::environment);  // as for the first file
    CHECK_THAT(error.what(), Catch::Contains("c.yaml:2:11: defaults: there is no file"));
  }
}

TEST_CASE("hydra: references are followed, also relative ones and those in references",
          "[scenarios][import]") {
  HydraConfig config = config_of(
      "p:\n  q: 4\n  r: ${.q}\n  s: ${p.q}-${p.r}\n  t:\n    u: ${..q}\n  v: ${p.t}\n"
      "n: ${p.gone.none}\nz: null\ny: ${z}\n"
      "len: ${mul:${p.q}, ${mul:2, ${p.r}}}\nhalf: ${div:${p.q},8}\neight: ${div:64,8}\n"
      "env: ${oc.env:NOBODY_SETS_THIS,7}\nodd: ${strange:1}\n");
  CHECK(text_at(config, "p.r") == "4");
  CHECK(text_at(config, "p.s") == "4-4");
  CHECK(text_at(config, "p.t.u") == "4");
  CHECK(text_at(config, "p.v.u") == "4");
  CHECK(text_at(config, "y") == "nothing");  // a reference to null is null
  CHECK(text_at(config, "len") == "32");     // 4 x (2 x 4)
  CHECK(text_at(config, "half") == "0.5");
  CHECK(config.find("eight")->integer(1, 100) == 8);
  CHECK(text_at(config, "env") == "7");
  CHECK_THAT(error_in([&] { config.find("odd"); }),
             Catch::Contains("c.yaml:15:6: odd: resolver 'strange' is not known; known are mul"));
  CHECK_THAT(error_in([&] { config.find("n"); }), Catch::Contains("there is no p.gone.none"));
}

TEST_CASE("hydra: references that never end are refused", "[scenarios][import]") {
  HydraConfig config = config_of("a: ${b}\nb: ${a}\nc: ${mul:${c},2}\n");
  CHECK(error_in([&] { config.find("a"); }) ==
        "c.yaml:2:4: a: refers to itself: a -> b -> a; write one of them out");
  CHECK(error_in([&] { config.find("c"); }) ==
        "c.yaml:3:4: c: refers to itself: c -> c; write one of them out");
  std::string laughs = "x0: haha\n";  // 10 references each, 30 levels: 10^30 of them
  for (int i = 1; i <= 30; ++i) {
    laughs += fmt::format("x{}: '", i);
    for (int j = 0; j < 10; ++j) laughs += fmt::format("${{x{}}}", i - 1);
    laughs += "'\n";
  }
  HydraConfig many = config_of(laughs);
  CHECK_THAT(error_in([&] { many.find("x30"); }), Catch::Contains("references"));
}

TEST_CASE("hydra: words change, add and take away", "[scenarios][import]") {
  HydraConfig config = config_of("a: {b: 1, c: null, keep: 2}\n");
  config.apply("a.b=8");
  CHECK(text_at(config, "a.b") == "8");
  config.apply("a.c=true");  // null is there to be changed
  CHECK(config.flag("a.c", false));
  config.apply("+a.n.m=[x, y]");
  CHECK(config.words("a.n.m") == std::vector<std::string>{"x", "y"});
  config.apply("++a.b=9");
  config.apply("a.keep=${a.b}");
  CHECK(text_at(config, "a.keep") == "9");
  config.apply("~a.b");
  CHECK(config.node("a.b") == nullptr);
  config.apply("a.c=null");
  CHECK(config.is_null("a.c"));

  CHECK(error_in([&] { config.apply("a.kep=1"); }) ==
        "override a.kep=1: there is no a.kep to change (did you mean 'keep'?); to add it write "
        "'+a.kep=...'");
  CHECK_THAT(error_in([&] { config.apply("+a.keep=1"); }), Catch::Contains("is there already"));
  CHECK_THAT(error_in([&] { config.apply("~a.gone"); }), Catch::Contains("no a.gone to take away"));
  CHECK_THAT(error_in([&] { config.apply("+a.keep.x=1"); }), Catch::Contains("no map"));
  for (const char* bad : {"a", "=1", "a..b=1", "+~a=1", ""})
    CHECK_THAT(error_in([&] { config.apply(bad); }), Catch::Contains("expected a.b=c"));
}

TEST_CASE("hydra: what nobody asked for can be listed", "[scenarios][import]") {
  HydraConfig config = config_of("a: {b: 1, c: 2, d: null, e: {f: 3}}\n");
  config.find("a.b");
  std::string rest;
  for (const HydraValue& value : config.not_asked("a")) rest += value.path + " ";
  CHECK(rest == "a.c a.e.f ");
}

}  // namespace
}  // namespace refit::test
