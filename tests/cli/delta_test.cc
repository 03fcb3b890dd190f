#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

namespace fs = std::filesystem;

struct TensorText {
  std::string name;
  std::string dtype;
  std::string shape;  // "[300,200]"
  std::string data;
};

std::string safetensors(const std::vector<TensorText>& tensors) {
  std::string header = "{";
  std::string data;
  for (const TensorText& tensor : tensors) {
    header += header.size() > 1 ? "," : "";
    header += "\"" + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":)" +
              tensor.shape + R"(,"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + tensor.data.size()) + "]}";
    data += tensor.data;
  }
  header += "}";
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + data;
}

std::string random_data(std::size_t bytes, std::mt19937_64& random) {
  std::string data(bytes, '\0');
  for (char& c : data) c = static_cast<char>(random());
  return data;
}

// One element of two bytes in a hundred is another.
std::string updated_data(std::string data, std::mt19937_64& random) {
  for (std::size_t i = 0; i + 1 < data.size(); i += 2) {
    if (random() % 100 == 0) data[i] = static_cast<char>(data[i] + 1);
  }
  return data;
}

// Versions 1 to 3 of a model with tensors of all widths; `big` is cut into two segments.
struct Model {
  std::mt19937_64 random{42};
  std::vector<std::vector<TensorText>> versions;

  Model() {
    versions.push_back({{"big", "BF16", "[1100,1000]", random_data(2'200'000, random)},
                        {"wide", "F64", "[70]", random_data(560, random)},
                        {"single", "F32", "[]", random_data(4, random)},
                        {"scales", "F8_E8M0", "[33]", random_data(33, random)},
                        {"nibbles", "F4", "[6]", random_data(3, random)},
                        {"nothing", "BF16", "[0,8]", ""},
                        {"video", "BF16", "[2,3,2,3,2]", random_data(144, random)}});
    for (int v = 0; v < 2; ++v) {
      std::vector<TensorText> next = versions.back();
      for (TensorText& tensor : next) tensor.data = updated_data(tensor.data, random);
      versions.push_back(next);
    }
  }

  std::string file(std::size_t version) const { return safetensors(versions[version]); }

  // Two files and their index in a folder; `big` is alone.
  std::string sharded(const Folder& folder, const std::string& name, std::size_t version) const {
    const fs::path place = folder / name;
    fs::create_directories(place);
    const auto& tensors = versions[version];
    std::string index = R"({"metadata":{"total_size":1},"weight_map":{)";
    for (const TensorText& tensor : tensors) {
      index += (&tensor == &tensors[0] ? "\"" : ",\"") + tensor.name + "\":\"" +
               (tensor.name == "big" ? "m-1.safetensors" : "m-2.safetensors") + "\"";
    }
    std::ofstream(place / "m-1.safetensors", std::ios::binary) << safetensors({tensors[0]});
    std::ofstream(place / "m-2.safetensors", std::ios::binary)
        << safetensors({tensors.begin() + 1, tensors.end()});
    std::ofstream(place / "model.safetensors.index.json") << index << "}}";
    return place.string();
  }
};

TEST_CASE("delta: diff and apply bring one file to the other, byte by byte, in every profile",
          "[cli]") {
  const Model model;
  const Folder folder;
  const std::string a = folder.write("a.safetensors", model.file(0));
  const std::string b = folder.write("b.safetensors", model.file(1));
  const std::string x = folder / "x.rfd";
  const std::string made = folder / "made.safetensors";
  std::map<std::string, std::uintmax_t> sizes;
  for (const char* profile : {"auto", "rice", "conditioned", "overwrite", "dense", "anchor"}) {
    CAPTURE(profile);
    const Outcome diff = refit_program({"delta", "diff", a, b, "-o", x, "--profile", profile});
    REQUIRE(diff.err.empty());
    REQUIRE(diff.code == 0);
    const Outcome apply = refit_program({"delta", "apply", a, x, "-o", made});
    REQUIRE(apply.err.empty());
    REQUIRE(apply.code == 0);
    CHECK((text_of(made) == model.file(1)));
    sizes[profile] = fs::file_size(x);
  }
  CHECK(sizes["auto"] <= sizes["rice"]);
  CHECK(sizes["rice"] < sizes["overwrite"]);
  // 1.1 million elements, 1 in 100 changed: 2.2 MB whole, about 1.2 bytes a change (docs/delta.md).
  CHECK(sizes["rice"] < 11'000 * 3 / 2);
  CHECK(sizes["dense"] > 2'200'000);
  CHECK(folder.files() == 4);  // nothing temporary is left
}

TEST_CASE("delta: inspect says what there is, as text and as JSON", "[cli]") {
  const Model model;
  const Folder folder;
  const std::string a = folder.write("a.safetensors", model.file(0));
  const std::string b = folder.write("b.safetensors", model.file(1));
  const std::string x = folder / "x.rfd";
  REQUIRE(refit_program({"delta", "diff", a, b, "-o", x, "--base-version", "7"}).code == 0);
  const Outcome text = refit_program({"delta", "inspect", x});
  CHECK(text.code == 0);
  CHECK(has(text.out, "delta      version 7 to version 8\n"));
  // 1,100,000 + 2 * 70 + 1 + 33 + 3 + 72 elements in 6 regions, big in two segments; 2.20 MB
  CHECK(has(text.out, "elements   1,100,249 in 6 regions and 7 segments, 2.20 MB\n"));
  CHECK(has(text.out, " B per change"));
  const auto json = nlohmann::json::parse(refit_program({"delta", "inspect", x, "--json"}).out);
  CHECK(json["format"] == "refit.delta/1");
  CHECK(json["elements"] == 1'100'249);
  CHECK(json["file_bytes"] == fs::file_size(x));
  CHECK(json["regions"].size() == 6);
  CHECK(json["regions"][0]["extent"] == nlohmann::json{1'100'000});
}

TEST_CASE("delta: a checkpoint of several files is one, and comes out as a folder", "[cli]") {
  const Model model;
  const Folder folder;
  const std::string a = model.sharded(folder, "a", 0);
  const std::string b =
      folder.write("b.safetensors", model.file(1));  // the same tensors in one file
  const std::string x = folder / "x.rfd";
  REQUIRE(refit_program({"delta", "diff", a, b, "-o", x}).code == 0);
  const std::string made = folder / "made";
  const Outcome apply =
      refit_program({"delta", "apply", a + "/model.safetensors.index.json", x, "-o", made});
  REQUIRE(apply.err.empty());
  REQUIRE(apply.code == 0);
  const std::string right = model.sharded(folder, "right", 1);
  for (const char* file : {"m-1.safetensors", "m-2.safetensors", "model.safetensors.index.json"}) {
    CAPTURE(file);
    CHECK((text_of(made + "/" + file) == text_of(right + "/" + file)));
  }
  const Outcome again = refit_program({"delta", "apply", a, x, "-o", made});
  CHECK(again.code == 2);
  CHECK(has(again.err, "made: is there already; "));
  CHECK(folder.files() == 5);
}

TEST_CASE("delta: in place, interrupted at any segment, the same call finishes it", "[cli]") {
  const Model model;
  const Folder folder;
  const std::string a = folder.write("a.safetensors", model.file(0));
  const std::string b = folder.write("b.safetensors", model.file(1));
  const std::string x = folder / "x.rfd";
  REQUIRE(refit_program({"delta", "diff", a, b, "-o", x}).code == 0);
  const std::string recovery = a + ".rfd-recovery";

  // What a kill would have left: the recovery file, which is the delta as new elements, and weights
  // of which some are new, some old, and some of one segment new.
  const std::string old_text = model.file(0);
  const std::string new_text = model.file(1);
  for (const std::size_t at :
       {std::size_t{20'000}, old_text.size() / 3, old_text.size() - 20'000}) {
    CAPTURE(at);
    REQUIRE(refit_program({"delta", "diff", a, b, "-o", recovery, "--profile", "overwrite"}).code ==
            0);
    const std::string torn = new_text.substr(0, at) + old_text.substr(at);
    folder.write("a.safetensors", torn);
    const Outcome verify = refit_program({"delta", "verify", x, a});
    CHECK(verify.code == 1);
    CHECK(has(verify.out, "; an apply --in-place was interrupted, repeat it"));
    const Outcome copy = refit_program({"delta", "apply", a, x, "-o", folder / "c.safetensors"});
    CHECK(copy.code == 2);
    CHECK(has(copy.err, "finish that first"));
    const Outcome apply = refit_program({"delta", "apply", a, x, "--in-place"});
    REQUIRE(apply.err.empty());
    REQUIRE(apply.code == 0);
    CHECK(has(apply.out, " mended after an interruption"));
    CHECK((text_of(a) == new_text));
    CHECK(!fs::exists(recovery));
    folder.write("a.safetensors", old_text);
  }

  // A kill before the recovery file was whole leaves one of a temporary name, which the next call
  // removes, and nothing else.
  folder.write("a.safetensors.rfd-recovery.aB3x9Q", "half");
  const Outcome apply = refit_program({"delta", "apply", a, x, "--in-place"});
  CHECK(apply.code == 0);
  CHECK((text_of(a) == new_text));
  const Outcome twice = refit_program({"delta", "apply", a, x, "--in-place"});
  CHECK(twice.code == 0);
  CHECK(has(twice.out, "0 segments written, 7 were there already"));
  CHECK((text_of(a) == new_text));
  CHECK(folder.files() == 3);
}

TEST_CASE("delta: in place on another checkpoint changes nothing", "[cli]") {
  const Model model;
  const Folder folder;
  const std::string a = folder.write("a.safetensors", model.file(0));
  const std::string b = folder.write("b.safetensors", model.file(1));
  const std::string c = folder.write("c.safetensors", model.file(2));
  const std::string x = folder / "x.rfd";
  REQUIRE(refit_program({"delta", "diff", a, b, "-o", x}).code == 0);
  for (const bool in_place : {true, false}) {
    std::vector<std::string> arguments{"delta", "apply", c, x};
    arguments.push_back(in_place ? "--in-place" : "-o");
    if (!in_place) arguments.push_back(folder / "d.safetensors");
    const Outcome outcome = refit_program(arguments);
    CHECK(outcome.code == 2);
    CHECK(has(outcome.err,
              " was made for: big, elements 0 to 1,048,575 differ; nothing was changed"));
    CHECK(has(outcome.err, c + ": is not the checkpoint "));  // not its copy of a temporary name
    CHECK((text_of(c) == model.file(2)));
  }
  CHECK(folder.files() == 4);
}

TEST_CASE("delta: verify finds damage, and says whose base or target a checkpoint is", "[cli]") {
  const Model model;
  const Folder folder;
  const std::string a = folder.write("a.safetensors", model.file(0));
  const std::string b = folder.write("b.safetensors", model.file(1));
  const std::string c = folder.write("c.safetensors", model.file(2));
  const std::string x = folder / "x.rfd";
  REQUIRE(refit_program({"delta", "diff", a, b, "-o", x}).code == 0);
  CHECK(has(refit_program({"delta", "verify", x}).out, "x.rfd: whole, 7 segments with "));
  CHECK(has(refit_program({"delta", "verify", x, a}).out, "is the base, version 0, by all hashes"));
  CHECK(
      has(refit_program({"delta", "verify", x, b}).out, "is the target, version 1, by all hashes"));
  const Outcome neither = refit_program({"delta", "verify", x, c});
  CHECK(neither.code == 1);
  CHECK(has(neither.out, "is neither base nor target: of 7 segments "));

  std::string bytes = text_of(x);
  bytes[bytes.size() - 200] = static_cast<char>(bytes[bytes.size() - 200] ^ 1);
  folder.write("x.rfd", bytes);
  const Outcome damaged = refit_program({"delta", "verify", x});
  CHECK(damaged.code == 2);
  CHECK(has(damaged.err, "the payload is damaged"));
  const Outcome apply = refit_program({"delta", "apply", a, x, "--in-place"});
  CHECK(apply.code == 2);
  CHECK((text_of(a) == model.file(0)));
  CHECK(!fs::exists(a + ".rfd-recovery"));
}

TEST_CASE("delta: merged deltas are the delta from the first to the last", "[cli]") {
  const Model model;
  const Folder folder;
  std::vector<std::string> versions;
  for (std::size_t v = 0; v < 3; ++v) {
    versions.push_back(folder.write(std::to_string(v) + ".safetensors", model.file(v)));
  }
  const auto diff = [&](std::size_t from, std::size_t to, const std::string& name,
                        const char* profile) {
    const std::string path = folder / name;
    REQUIRE(refit_program({"delta", "diff", versions[from], versions[to], "-o", path, "--profile",
                           profile, "--base-version", std::to_string(from), "--target-version",
                           std::to_string(to)})
                .code == 0);
    return path;
  };
  const std::string merged = folder / "merged.rfd";
  const std::string first = diff(0, 1, "1.rfd", "rice");
  const std::string second = diff(1, 2, "2.rfd", "rice");
  REQUIRE(refit_program({"delta", "merge", first, second, "-o", merged}).code == 0);
  CHECK((text_of(merged) == text_of(diff(0, 2, "right.rfd", "rice"))));

  const std::string mixed = diff(1, 2, "mixed.rfd", "overwrite");
  const Outcome refused = refit_program({"delta", "merge", first, mixed, "-o", merged});
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "give the base to merge the two"));
  REQUIRE(
      refit_program({"delta", "merge", first, mixed, "-o", merged, "--base", versions[0]}).code ==
      0);
  CHECK((text_of(merged) == text_of(diff(0, 2, "right.rfd", "auto"))));
  const Outcome order = refit_program({"delta", "merge", second, first, "-o", merged});
  CHECK(order.code == 2);
  CHECK(has(order.err, "begins at state "));
}

TEST_CASE("delta: what is no pair of checkpoints of one model is refused", "[cli]") {
  const Model model;
  const Folder folder;
  const std::string a = folder.write("a.safetensors", model.file(0));
  const std::string x = folder / "x.rfd";
  const auto refusal = [&](const std::function<void(std::vector<TensorText>&)>& change) {
    std::vector<TensorText> tensors = model.versions[1];
    change(tensors);
    const std::string b = folder.write("b.safetensors", safetensors(tensors));
    const Outcome outcome = refit_program({"delta", "diff", a, b, "-o", x});
    CHECK(outcome.code == 2);
    CHECK(!fs::exists(x));
    return outcome.err;
  };
  CHECK(
      has(refusal([](auto& t) { t.erase(t.begin() + 1); }), "tensor wide is only in the first; "));
  CHECK(has(refusal([](auto& t) {
              t.push_back({"zoo", "U8", "[1]", "z"});
            }),
            "tensor zoo is only in the second; "));
  CHECK(has(refusal([](auto& t) { t[0].shape = "[1000,1100]"; }),
            "tensor big is BF16 [1100, 1000] in the first and BF16 [1000, 1100] in the second; "));
  CHECK(
      has(refusal([](auto& t) { t[0].dtype = "F16"; }), "BF16 [1100, 1000] in the first and F16 "));
  CHECK(refit_program({"delta", "diff", a, a, "-o", a}).code == 2);  // would overwrite the input
  CHECK((text_of(a) == model.file(0)));
  CHECK(refit_program({"delta", "diff", a, a, "-o", "-"}).code == 2);
  CHECK(refit_program({"delta", "diff", a, folder / "none.safetensors", "-o", x}).code == 3);
  CHECK(refit_program({"delta", "inspect", a}).code == 2);
  CHECK(refit_program({"delta", "apply", a, a}).code == 2);
  CHECK(refit_program({"delta"}).code == 2);
}

TEST_CASE("delta: a folder that is not one checkpoint is refused", "[cli]") {
  const Model model;
  const Folder folder;
  const std::string x = folder / "x.rfd";
  const std::string good = model.sharded(folder, "good", 0);
  const std::string bad = model.sharded(folder, "bad", 0);
  const auto refused = [&](const std::string& part) {
    const Outcome outcome = refit_program({"delta", "diff", good, bad, "-o", x});
    CAPTURE(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(has(outcome.err, part));
  };
  const std::string index_path = bad + "/model.safetensors.index.json";
  const std::string index = text_of(index_path);
  const auto write_index = [&](const std::string& from, const std::string& to) {
    std::string text = index;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(index_path, std::ios::trunc) << text;
  };
  write_index("\"wide\":\"m-2.safetensors\",", "");
  refused("has tensor wide, which " + index_path + " does not list");
  write_index("\"wide\":\"m-2", "\"wide\":\"m-1");
  refused("has tensor wide, which " + index_path + " says is in m-1.safetensors");
  write_index("\"wide\":", "\"more\":\"m-1.safetensors\",\"wide\":");
  refused("lists tensor more in m-1.safetensors, which does not have it");
  fs::remove(index_path);
  refused(
      "bad: has no model.safetensors.index.json and 2 files .safetensors; name the file that is "
      "meant");
}

}  // namespace
}  // namespace refit
