#include "models/import/safetensors.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/shown.h"

namespace refit {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // as the format's own reader
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostDims = 64;

struct DtypeBits {
  std::string_view name;
  int bits;
};
constexpr DtypeBits kDtypes[] = {
    {"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},
    {"I32", 32},    {"U32", 32}, {"F32", 32}, {"F64", 64},    {"I64", 64},
    {"U64", 64},    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
};

[[noreturn]] void refuse(const std::string& where, const std::string& problem) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", where, problem));
}

// JSON of an object, without keys that stand twice: of two tensors of one name one would be lost.
Json parse_object(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> keys;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > 8) refuse(where, "has JSON nested deeper than 8 levels");
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second)
        refuse(where, fmt::format("names '{}' twice", shown(key, 120)));
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), look);
  } catch (const Json::parse_error& error) {
    refuse(where, fmt::format("has no proper JSON at byte {} of it", error.byte));
  } catch (const Json::out_of_range&) {
    refuse(where, "has JSON with a number too large to be read");
  }
  if (!json.is_object()) refuse(where, "has JSON that is no object; begin with '{'");
  return json;
}

std::uint64_t natural(const Json& json, const std::string& where) {
  if (!json.is_number_unsigned()) {
    refuse(where,
           fmt::format("is {}; use a whole number from 0 on", shown(json.dump(-1, ' ', true), 40)));
  }
  return json.get<std::uint64_t>();
}

const Json& member(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) refuse(where, fmt::format("has no '{}'", key));
  return *found;
}

int bits_of(const std::string& dtype, const std::string& where) {
  for (const DtypeBits& known : kDtypes) {
    if (known.name == dtype) return known.bits;
  }
  std::vector<std::string_view> names;
  for (const DtypeBits& known : kDtypes) names.push_back(known.name);
  refuse(where, fmt::format("is '{}'; use one of {}", shown(dtype), fmt::join(names, ", ")));
}

// Bytes of that many elements; refuses what no file can hold, and elements that end inside a byte.
std::uint64_t bytes_of(const SafetensorsTensor& tensor, const std::string& where) {
  constexpr std::uint64_t kMostBits = std::uint64_t{1} << 62;
  const bool empty = std::ranges::find(tensor.shape, 0u) != tensor.shape.end();
  if (empty) return 0;
  std::uint64_t bits = static_cast<std::uint64_t>(tensor.bits);
  for (const std::uint64_t size : tensor.shape) {
    if (size > kMostBits / bits) refuse(where + ".shape", "has more elements than any file");
    bits *= size;
  }
  if (bits % 8 != 0) refuse(where + ".shape", fmt::format("makes {} bits, no whole bytes", bits));
  return bits / 8;
}

SafetensorsTensor read_tensor(const std::string& name, const Json& json, std::uint64_t data_begin,
                              std::uint64_t data_bytes, const std::string& file) {
  const std::string where = fmt::format("{}: {}", file, shown(name, 120));
  if (!json.is_object()) refuse(where, "is no object with dtype, shape and data_offsets");
  SafetensorsTensor tensor;
  tensor.name = name;
  const Json& dtype = member(json, "dtype", where);
  if (!dtype.is_string()) refuse(where + ".dtype", "is no text");
  tensor.dtype = dtype.get<std::string>();
  tensor.bits = bits_of(tensor.dtype, where + ".dtype");
  const Json& shape = member(json, "shape", where);
  if (!shape.is_array() || shape.size() > kMostDims) {
    refuse(where + ".shape", fmt::format("is no list of at most {} sizes", kMostDims));
  }
  for (const Json& size : shape) tensor.shape.push_back(natural(size, where + ".shape"));
  const Json& offsets = member(json, "data_offsets", where);
  if (!offsets.is_array() || offsets.size() != 2) {
    refuse(where + ".data_offsets", "is no pair [begin, end]");
  }
  const std::uint64_t begin = natural(offsets[0], where + ".data_offsets");
  const std::uint64_t end = natural(offsets[1], where + ".data_offsets");
  if (begin > end || end > data_bytes) {
    refuse(where + ".data_offsets",
           fmt::format("is [{}, {}]; the file has {} bytes of data", begin, end, data_bytes));
  }
  tensor.begin = data_begin + begin;
  tensor.bytes = end - begin;
  const std::uint64_t bytes = bytes_of(tensor, where);
  if (tensor.bytes != bytes) {
    refuse(where + ".data_offsets",
           fmt::format("hold {} bytes; shape and dtype make {}", tensor.bytes, bytes));
  }
  for (const auto& [key, value] : json.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      refuse(where, fmt::format("has an unknown key '{}'", shown(key)));
    }
  }
  return tensor;
}

void require_cover(const SafetensorsHeader& header, std::uint64_t file_bytes,
                   const std::string& where) {
  std::uint64_t end = header.data_begin;
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (tensor.begin != end) {
      refuse(fmt::format("{}: {}.data_offsets", where, shown(tensor.name, 120)),
             fmt::format("begin at byte {} of the data, the tensor before ends at {}: {}",
                         tensor.begin - header.data_begin, end - header.data_begin,
                         tensor.begin > end ? "a hole" : "an overlap"));
    }
    end += tensor.bytes;
  }
  if (end != file_bytes) {
    refuse(where, fmt::format("has {} bytes, its tensors end at byte {}", file_bytes, end));
  }
}

}  // namespace

SafetensorsHeader read_safetensors_header(std::span<const std::byte> beginning,
                                          std::uint64_t file_bytes, const std::string& where) {
  if (beginning.size() < kLengthBytes || file_bytes < kLengthBytes) {
    refuse(where,
           fmt::format("has {} bytes; a safetensors file begins with 8 bytes of header length",
                       std::min<std::uint64_t>(beginning.size(), file_bytes)));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<std::uint64_t>(beginning[i]) << (8 * i);
  }
  if (length > kMostHeaderBytes) {
    refuse(where,
           fmt::format("says its header has {} bytes; at most {} are allowed: no safetensors file?",
                       length, kMostHeaderBytes));
  }
  const std::uint64_t room = std::min<std::uint64_t>(beginning.size(), file_bytes) - kLengthBytes;
  if (length > room) {
    refuse(where, fmt::format("is cut off: its header has {} bytes, {} are there", length, room));
  }
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()) + kLengthBytes,
                              static_cast<std::size_t>(length));
  const Json json = parse_object(text, where + ": header");

  SafetensorsHeader header;
  header.data_begin = kLengthBytes + length;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      if (!value.is_object() || !std::all_of(value.begin(), value.end(),
                                             [](const Json& entry) { return entry.is_string(); })) {
        refuse(where, "has a __metadata__ that is no object of texts");
      }
      continue;
    }
    header.tensors.push_back(
        read_tensor(name, value, header.data_begin, file_bytes - header.data_begin, where));
  }
  // Tensors without data may stand where another begins.
  std::ranges::sort(header.tensors, {}, [](const SafetensorsTensor& t) {
    return std::make_tuple(t.begin, t.bytes, std::string_view(t.name));
  });
  require_cover(header, file_bytes, where);
  return header;
}

std::map<std::string, std::string> read_safetensors_index(const std::string& text,
                                                          const std::string& where) {
  const Json json = parse_object(text, where);
  const Json& map = member(json, "weight_map", where);
  if (!map.is_object()) refuse(where + ": weight_map", "is no object of tensor and file names");
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : map.items()) {
    const std::string place = fmt::format("{}: weight_map.{}", where, shown(name, 120));
    if (!file.is_string()) refuse(place, "is no file name");
    const auto& file_name = file.get_ref<const std::string&>();
    // A list may come from anybody; it shall not lead out of its folder.
    if (file_name.empty() || file_name.front() == '.' ||
        file_name.find_first_of(std::string("/\\\0", 3)) != std::string::npos) {
      refuse(place,
             fmt::format("is '{}'; use the name of a file in the same folder", shown(file_name)));
    }
    files[name] = file_name;
  }
  return files;
}

}  // namespace refit
