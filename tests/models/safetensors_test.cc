#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "models/import/safetensors.h"

namespace refit {
namespace {

std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file + header + std::string(data_bytes, '\0');
}

SafetensorsHeader read(const std::string& file) {
  return read_safetensors_header(std::as_bytes(std::span(file)), file.size(), "m.safetensors");
}

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

std::string refusal(const std::string& header, std::size_t data_bytes) {
  return refusal([&] { read(file_of(header, data_bytes)); });
}

TEST_CASE("safetensors: names, dtypes, shapes and places are read from the header alone",
          "[models]") {
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},)"
      R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("none":{"dtype":"I64","shape":[0,7],"data_offsets":[12,12]},)"
      R"("four":{"dtype":"F4","shape":[6],"data_offsets":[16,19]}}   )";
  const SafetensorsHeader header = read(file_of(json, 19));
  const std::uint64_t data = 8 + json.size();
  CHECK(header.data_begin == data);
  CHECK(header.tensors == std::vector<SafetensorsTensor>{{"a", "BF16", 16, {2, 3}, data, 12},
                                                         {"none", "I64", 64, {0, 7}, data + 12, 0},
                                                         {"b", "F32", 32, {}, data + 12, 4},
                                                         {"four", "F4", 4, {6}, data + 16, 3}});
}

TEST_CASE("safetensors: an empty file of tensors is one", "[models]") {
  CHECK(read(file_of("{}", 0)).tensors.empty());
}

TEST_CASE("safetensors: a length that is not there allocates nothing and is refused", "[models]") {
  CHECK(refusal([] { read("1234567"); }) ==
        "m.safetensors: has 7 bytes; a safetensors file begins with 8 bytes of header length");
  std::string file = file_of("{}", 0);
  file[7] = '\x7f';
  CHECK(refusal([&] { read(file); }) ==
        "m.safetensors: says its header has 9151314442816847874 bytes; at most 100000000 are "
        "allowed: no "
        "safetensors file?");
  file = file_of("{}", 0);
  file[0] = 3;
  CHECK(refusal([&] { read(file); }) ==
        "m.safetensors: is cut off: its header has 3 bytes, 2 are there");
}

TEST_CASE("safetensors: each mistake in the header has its message", "[models]") {
  const auto tensor = [](const std::string& dtype, const std::string& shape,
                         const std::string& at) {
    return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + at + "}";
  };
  const auto one = [&](const std::string& dtype, const std::string& shape, const std::string& at) {
    return R"({"w":)" + tensor(dtype, shape, at) + "}";
  };
  CHECK(refusal("{", 0) == "m.safetensors: header: has no proper JSON at byte 2 of it");
  // JSON's reader has an exception of its own for it, which ended the program.
  CHECK(refusal(R"({"w":1e999})", 0) ==
        "m.safetensors: header: has JSON with a number too large to be read");
  CHECK_THROWS_WITH(
      read_safetensors_index(R"({"metadata":{"total_size":777E7777},"weight_map":{}})", "i.json"),
      "i.json: has JSON with a number too large to be read");
  CHECK(refusal("[1]", 0) == "m.safetensors: header: has JSON that is no object; begin with '{'");
  CHECK(refusal(R"({"w":{}, "w":{}})", 0) == "m.safetensors: header: names 'w' twice");
  CHECK(refusal(R"({"w":3})", 0) ==
        "m.safetensors: w: is no object with dtype, shape and data_offsets");
  CHECK(refusal(R"({"w":{"dtype":"U8"}})", 0) == "m.safetensors: w: has no 'shape'");
  CHECK(refusal(R"({"__metadata__":{"a":1}})", 0) ==
        "m.safetensors: has a __metadata__ that is no object of texts");
  CHECK(refusal(one("BF17", "[1]", "[0,2]"), 2)
            .rfind("m.safetensors: w.dtype: is 'BF17'; use one of BOOL, U8, ", 0) == 0);
  CHECK(refusal(one("U8", "[-1]", "[0,1]"), 1) ==
        "m.safetensors: w.shape: is -1; use a whole number from 0 on");
  CHECK(refusal(one("U8", "[1.5]", "[0,1]"), 1) ==
        "m.safetensors: w.shape: is 1.5; use a whole number from 0 on");
  CHECK(refusal(one("F32", "[4294967296,4294967296]", "[0,0]"), 0) ==
        "m.safetensors: w.shape: has more elements than any file");
  CHECK(refusal(one("F4", "[3]", "[0,1]"), 1) ==
        "m.safetensors: w.shape: makes 12 bits, no whole bytes");
  CHECK(refusal(one("U8", "[3]", "[0,4]"), 3) ==
        "m.safetensors: w.data_offsets: is [0, 4]; the file has 3 bytes of data");
  CHECK(refusal(one("BF16", "[2]", "[0,3]"), 3) ==
        "m.safetensors: w.data_offsets: hold 3 bytes; shape and dtype make 4");
  CHECK(refusal(one("U8", "[3]", "[0,3]"), 4) ==
        "m.safetensors: has 65 bytes, its tensors end at byte 64");
  const auto two = [&](const std::string& a, const std::string& b) {
    return R"({"a":)" + tensor("U8", "[2]", a) + R"(,"b":)" + tensor("U8", "[2]", b) + "}";
  };
  CHECK(refusal(two("[0,2]", "[3,5]"), 5) ==
        "m.safetensors: b.data_offsets: begin at byte 3 of the data, the tensor before ends at 2: "
        "a hole");
  CHECK(
      refusal(two("[0,2]", "[1,3]"), 3) ==
      "m.safetensors: b.data_offsets: begin at byte 1 of the data, the tensor before ends at 2: an "
      "overlap");
  CHECK(refusal(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})", 0) ==
        "m.safetensors: w: has an unknown key 'x'");
}

TEST_CASE("safetensors: a list of files stays in its folder", "[models]") {
  const auto index = [](const std::string& file) {
    return read_safetensors_index(
        R"({"metadata":{"total_size":4},"weight_map":{"w":")" + file + "\"}}", "i.json");
  };
  CHECK(index("a-1.safetensors").at("w") == "a-1.safetensors");
  for (const char* file : {"", "..", "../x", "/x", "a/b", ".hidden"}) {
    CAPTURE(file);
    CHECK(refusal([&] { index(file); })
              .rfind("i.json: weight_map.w: is '" + std::string(file) + "'; use the name of a file",
                     0) == 0);
  }
  CHECK(refusal([] { read_safetensors_index("{}", "i.json"); }) == "i.json: has no 'weight_map'");
}

}  // namespace
}  // namespace refit
