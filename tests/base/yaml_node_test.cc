#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/yaml.h"

namespace refit {

namespace {

template <class Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "(accepted)";
}

YamlNode parse(const std::string& text) { return YamlNode::parse_text(text, "t.yaml"); }

TEST_CASE("yaml: a node knows its line, column and path", "[base][yaml]") {
  const YamlNode root = parse("name: moe\nclusters:\n  - nic: a\n  - nic: b\n");
  CHECK(root.where() == "t.yaml:1:1");
  CHECK(root.path().empty());
  const YamlNode nic = root.at("clusters").items().at(1).at("nic");
  CHECK(nic.where() == "t.yaml:4:10");
  CHECK(nic.path() == "clusters[1].nic");
  CHECK(complaint([&] { nic.fail("no such port; use 0"); }) ==
        "t.yaml:4:10: clusters[1].nic: no such port; use 0");
  CHECK(complaint([&] { root.fail("too small; add ranks"); }) ==
        "t.yaml:1:1: too small; add ranks");
}

TEST_CASE("yaml: values are read with their types", "[base][yaml]") {
  const YamlNode root = parse(
      "text: a b\nquoted: 'null'\ninteger: -3\nnumber: 2.5e-1\nyes: true\nno: false\n"
      "bandwidth: 400 Gbit/s\nbytes: 64 MiB\nseconds: 5 us\n");
  CHECK(root.at("text").text() == "a b");
  CHECK(root.at("quoted").text() == "null");
  CHECK(root.at("integer").integer(-3, 10) == -3);
  CHECK(root.at("number").number() == 0.25);
  CHECK(root.at("yes").boolean());
  CHECK_FALSE(root.at("no").boolean());
  CHECK(root.at("bandwidth").bandwidth() == 50e9);
  CHECK(root.at("bytes").bytes() == 67'108'864);
  CHECK(root.at("seconds").seconds() == 5e-6);
}

TEST_CASE("yaml: kinds are told apart, and nothing is none of them", "[base][yaml]") {
  const YamlNode root = parse("map: {a: 1}\nlist: []\nscalar: x\nnothing:\ntilde: ~\n");
  CHECK(root.at("map").is_map());
  CHECK(root.at("list").is_list());
  CHECK(root.at("scalar").is_scalar());
  for (const char* key : {"nothing", "tilde"}) {
    const YamlNode node = root.at(key);
    CHECK_FALSE((node.is_map() || node.is_list() || node.is_scalar()));
  }
}

TEST_CASE("yaml: entries come in file order, whatever is nested between", "[base][yaml]") {
  const YamlNode root = parse("b: [1, [2, 3], {x: 4}]\na: {y: {z: 5}}\nc: 6\n");
  std::vector<std::string> keys;
  for (const auto& [key, node] : root.entries()) {
    keys.push_back(key);
    CHECK(node.path() == key);
  }
  CHECK(keys == std::vector<std::string>{"b", "a", "c"});
  CHECK(root.at("b").items().size() == 3);
  CHECK(root.at("b").items()[2].at("x").integer(0, 9) == 4);
  CHECK(root.at("c").integer(0, 9) == 6);
  CHECK_FALSE(root.find("x"));
  CHECK(root.find("a"));
}

TEST_CASE("yaml: an integer out of its range is refused with the range", "[base][yaml]") {
  const auto read = [](const std::string& value) {
    return complaint(
        [&] { parse("g:\n  tensor: " + value + "\n").at("g").at("tensor").integer(1, 1024); });
  };
  const std::string expected = "t.yaml:2:11: g.tensor: expected an integer from 1 to 1024, got ";
  CHECK(read("1024") == "(accepted)");
  CHECK(read("0") == expected + "'0'");
  CHECK(read("1025") == expected + "'1025'");
  CHECK(read("three") == expected + "'three'");
  CHECK(read("4.0") == expected + "'4.0'");
  CHECK(read("4 ranks") == expected + "'4 ranks'");
  CHECK(read("0x10") == expected + "'0x10'");
  CHECK(read("99999999999999999999") == expected + "'99999999999999999999'");
  CHECK(read("[4]") == expected + "a list");
  CHECK(read("{a: 4}") == expected + "a map");
  // A missing value is shown at its key.
  CHECK(read("") == "t.yaml:2:3: g.tensor: expected an integer from 1 to 1024, got nothing");
}

TEST_CASE("yaml: an integer without an upper end says so", "[base][yaml]") {
  CHECK(complaint([] { parse("a: -1").at("a").integer(0, INT64_MAX); }) ==
        "t.yaml:1:4: a: expected an integer of at least 0, got '-1'");
}

TEST_CASE("yaml: other types are refused with what was expected", "[base][yaml]") {
  const YamlNode root = parse("a: yes\nb: [1]\nc: .inf\nd: 1e999\n");
  CHECK(complaint([&] { root.at("a").boolean(); }) ==
        "t.yaml:1:4: a: expected true or false, got 'yes'");
  CHECK(complaint([&] { root.at("b").text(); }) == "t.yaml:2:4: b: expected text, got a list");
  CHECK(complaint([&] { root.at("c").number(); }) ==
        "t.yaml:3:4: c: expected a finite number, got '.inf'");
  CHECK(complaint([&] { root.at("d").number(); }) ==
        "t.yaml:4:4: d: expected a finite number, got '1e999'");
  CHECK(complaint([&] { root.at("a").items(); }) == "t.yaml:1:4: a: expected a list, got 'yes'");
  CHECK(complaint([&] { root.at("a").entries(); }) == "t.yaml:1:4: a: expected a map, got 'yes'");
  CHECK(complaint([&] { root.at("b").find("x"); }) ==
        "t.yaml:2:4: b: expected a map with key 'x', got a list");
  CHECK(complaint([&] { root.at("b").allow_only({"x"}); }) ==
        "t.yaml:2:4: b: expected a map, got a list");
}

TEST_CASE("yaml: quantities are refused with place and path in front", "[base][yaml]") {
  const YamlNode root = parse("link:\n  nic: 400\n  size: [1]\n  wait:\n").at("link");
  CHECK(complaint([&] { root.at("nic").bandwidth(); }) ==
        "t.yaml:2:8: link.nic: 400: a number without a unit; write it like '400 Gbit/s'");
  CHECK(complaint([&] { root.at("nic").bytes(); }) ==
        "t.yaml:2:8: link.nic: 400: a number without a unit; write it like '64 MiB'");
  CHECK(complaint([&] { root.at("size").bytes(); }) ==
        "t.yaml:3:9: link.size: expected a size like '64 MiB', got a list");
  CHECK(complaint([&] { root.at("size").bandwidth(); }) ==
        "t.yaml:3:9: link.size: expected a bandwidth like '400 Gbit/s', got a list");
  CHECK(complaint([&] { root.at("wait").seconds(); }) ==
        "t.yaml:4:3: link.wait: expected a time like '5 us', got nothing");
}

TEST_CASE("yaml: a missing key is named at its map", "[base][yaml]") {
  const YamlNode root = parse("generation:\n  expert: 8\n");
  CHECK(complaint([&] { root.at("name"); }) == "t.yaml:1:1: missing key 'name'");
  CHECK(complaint([&] { root.at("generation").at("tensor"); }) ==
        "t.yaml:2:3: generation: missing key 'tensor'");
}

TEST_CASE("yaml: an unknown key is named at its own place, with the nearest known one",
          "[base][yaml]") {
  const YamlNode root = parse("generation:\n  expert: 8\n  tensr: 4\n");
  CHECK(complaint([&] {
          root.at("generation").allow_only({"expert", "tensor"});
        }) ==
        "t.yaml:3:3: generation: unknown key 'tensr'; did you mean 'tensor'? "
        "known keys: expert, tensor");
  CHECK(complaint([&] { root.allow_only({"name"}); }) ==
        "t.yaml:1:1: unknown key 'generation'; known keys: name");
  CHECK(complaint([&] { root.allow_only({}); }) ==
        "t.yaml:1:1: unknown key 'generation'; known keys: none");
  CHECK(complaint([&] { root.allow_only({"generation", "name"}); }) == "(accepted)");
}

TEST_CASE("yaml: a choice is one of the listed spellings", "[base][yaml]") {
  const auto kind = [](const std::string& word) {
    return parse("kind: " + word).at("kind").one_of<int>({{"nvlink", 1}, {"nic", 2}});
  };
  CHECK(kind("nic") == 2);
  CHECK(
      complaint([&] { kind("nvlnk"); }) ==
      "t.yaml:1:7: kind: unknown value 'nvlnk'; did you mean 'nvlink'? known values: nvlink, nic");
  CHECK(complaint([&] { kind("NIC"); }) ==
        "t.yaml:1:7: kind: unknown value 'NIC'; did you mean 'nic'? known values: nvlink, nic");
  CHECK(complaint([&] { kind("carrier"); }) ==
        "t.yaml:1:7: kind: unknown value 'carrier'; known values: nvlink, nic");
}

}  // namespace

}  // namespace refit
