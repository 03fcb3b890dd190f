#include "sweep/yaml_tree.h"

#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

YamlTree tree(const std::string& text) { return tree_of(YamlNode::parse_text(text, "f.yaml")); }

TEST_CASE("yaml tree: what is written reads back as the same tree", "[sweep]") {
  const std::string text =
      "a: {b: [1, 2], c: [[1], {d: x}], e: {}, f: [], g: }\n"
      "\"k: ey\": \"quote \\\" and \\\\, line\\nend\"\n"
      "n: \"null\"\n"
      "list:\n  - x: 1\n    y: [{z: 2}]\n  - - 3\n    - 4\n";
  const YamlTree first = tree(text);
  const YamlTree second = tree(WrittenTree(first, "w").text());
  CHECK(one_line(second) == one_line(first));
  CHECK(one_line(first) ==
        "{a: {b: [1, 2], c: [[1], {d: x}], e: {}, f: [], g: ~}, \"k: ey\": \"quote \\\" and \\\\, "
        "line\\nend\", n: \"null\", list: [{x: 1, y: [{z: 2}]}, [3, 4]]}");
}

TEST_CASE("yaml tree: a complaint about what was put in names where it came from", "[sweep]") {
  YamlTree base = tree("cluster:\n  nodes: 4\n  fabric: {spines: 2}\n");
  put_into(base, {"cluster", "nodes"}, scalar_tree("many", "sweep.yaml:7:12"));
  put_into(base, {"plan", "chunks"}, scalar_tree("0", "sweep.yaml:8:3"));
  const WrittenTree written(base, "base.yaml");
  const YamlNode root = YamlNode::parse_text(written.text(), "base.yaml");
  const auto complaint = [&](const auto& read) { return written.with_origins(error_of(read)); };
  CHECK(complaint([&] { root.at("cluster").at("nodes").integer(1, 9); }) ==
        "sweep.yaml:7:12: cluster.nodes: expected an integer from 1 to 9, got 'many'");
  CHECK(complaint([&] { root.at("plan").at("chunks").integer(1, 9); }) ==
        "sweep.yaml:8:3: plan.chunks: expected an integer from 1 to 9, got '0'");
  CHECK(complaint([&] { root.at("cluster").at("fabric").at("spines").integer(3, 9); }) ==
        "f.yaml:3:20: cluster.fabric.spines: expected an integer from 3 to 9, got '2'");
  // A key has the place of its value.
  CHECK(complaint([&] { root.at("plan").allow_only({"streams"}); }) ==
        "sweep.yaml:8:3: plan: unknown key 'chunks'; known keys: streams");
}

TEST_CASE("yaml tree: paths lead through maps and lists, and nowhere else", "[sweep]") {
  CHECK(split_path("a.b[2].c", "w") == std::vector<std::string>{"a", "b", "2", "c"});
  for (const std::string bad : {"", ".", "a.", ".a", "a..b", "a[", "a[x]", "[1]", "a[1]b"}) {
    CAPTURE(bad);
    CHECK(error_of([&] { split_path(bad, "f:1:1"); }) ==
          "f:1:1: '" + bad +
              "' is no path of keys; write one like cluster.nic_bandwidth or "
              "cluster.groups[0].nodes");
  }
  YamlTree base = tree("model: x\nlist: [1, {a: 2}]\n");
  put_into(base, {"list", "1", "a"}, scalar_tree("3", "w"));
  CHECK(one_line(base) == "{model: x, list: [1, {a: 3}]}");
  CHECK(error_of([&] {
          put_into(base, {"model", "dtype"}, scalar_tree("f32", "s:2:3"));
        }) ==
        "s:2:3: model is x in the base scenario and has no 'dtype'; write it there as a map of "
        "keys");
  CHECK(error_of([&] {
          put_into(base, {"list", "2"}, scalar_tree("f32", "s:2:3"));
        }) ==
        "s:2:3: list is a list in the base scenario and has no '2'; write an index that it has, as "
        "in [0]");
}

}  // namespace
}  // namespace refit::test
