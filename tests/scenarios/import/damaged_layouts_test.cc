// Texts that are cut off, changed or made of noise: a reader reads them or complains with a
// message.
#include <functional>
#include <iterator>
#include <random>

#include "base/text_file.h"
#include "models/import/model_file.h"
#include "models/import/tensor_model.h"
#include "scenarios/import/areal.h"
#include "scenarios/import/m2n_system.h"
#include "scenarios/import/megatron_args.h"
#include "scenarios/import/nemo_rl.h"
#include "scenarios/import/verl.h"
#include "tests/scenarios/import/import_test.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace refit::test {
namespace {

// What is written of a file that could be read is YAML.
void write_of(char format, const std::string& text) {
  const std::string bytes = format + text;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

struct Reader {
  const char* name;
  std::string good;
  std::function<void(const std::string&)> read;
};

void read_recipe(const std::string& text) {
  HydraConfig recipe = HydraConfig::parse(text, "x");
  read_nemo_rl(recipe, "x");
}

// What the fuzzer begins with.
std::string corpus(const std::string& file) {
  return read_text_file(std::string(REFIT_CORPUS "/") + file, 1 << 16);
}

std::vector<Reader> readers() {
  return {
      {"nemo_rl", corpus("nemo_rl.yaml"), read_recipe},
      {"megatron_args", corpus("megatron_args.sh"),
       [](const std::string& text) { read_megatron_args(text, "x", {}); }},
      {"verl", corpus("verl.txt"), [](const std::string& text) { read_verl(text, "x", {}); }},
      {"areal", corpus("areal.txt"), [](const std::string& text) { read_areal(text, "x"); }},
      {"m2n_system", corpus("m2n_system.json"),
       [](const std::string& text) { read_m2n_system(text, "x", {}); }},
      {"m2n_model", corpus("m2n_model.json"),
       [](const std::string& text) { parse_m2n_model(text, "x"); }},
      {"index",
       "{\"metadata\": {\"total_size\": 12}, \"weight_map\": {\"a.b\": \"x.safetensors\"}}",
       [](const std::string& text) { parse_checkpoint_index(text, "x"); }},
      {"words", "+a.b=[1,{c: d}]",
       [](const std::string& text) { HydraConfig().apply(text, false); }},
  };
}

// In the order of layouts_fuzz.cc.
const char* const kFormats[] = {"nemo_rl", "megatron_args", "verl",
                                "areal",   "m2n_system",    "m2n_model"};

// Nothing but our own complaint, and never an empty one.
void read_or_complain(const Reader& reader, const std::string& text) {
  try {
    reader.read(text);
  } catch (const Error& error) {
    if (std::string(error.what()).size() < 8) FAIL(reader.name << ": '" << error.what() << "'");
  }
  for (std::size_t format = 0; format < std::size(kFormats); ++format) {
    if (std::string(reader.name) == kFormats[format]) write_of(static_cast<char>(format), text);
  }
}

TEST_CASE("layout files that are cut off anywhere are read or refused", "[scenarios][import]") {
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    reader.read(reader.good);
    for (std::size_t size = 0; size < reader.good.size(); ++size)
      read_or_complain(reader, reader.good.substr(0, size));
  }
}

TEST_CASE("layout files with changed and random bytes are read or refused", "[scenarios][import]") {
  const unsigned seed = 20'261;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string marks = "{}[]()$:,.\"'\\#=+~|-\n 0919*%&\xff\x01";
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    for (int round = 0; round < 300; ++round) {
      std::string text = reader.good;
      for (auto changes = 1 + random() % 6; changes > 0; --changes) {
        const std::size_t at = random() % text.size();
        const char mark = marks[random() % marks.size()];
        if (random() % 3 == 0) {
          text.insert(at, 1, mark);
        } else {
          text[at] = mark;
        }
      }
      read_or_complain(reader, text);
      std::string noise(random() % 80, '\0');
      for (char& c : noise)
        c = random() % 2 ? marks[random() % marks.size()] : static_cast<char>(random());
      read_or_complain(reader, noise);
    }
  }
}

TEST_CASE("layout files with endless nesting or repetition end", "[scenarios][import]") {
  for (const Reader& reader : readers()) {
    CAPTURE(reader.name);
    for (const char* piece :
         {"(", "[", "{", "${", "$(", "\"", "--a ", "a.", "a=(", "+", "[0]*9+", "d9"}) {
      std::string text;
      for (int i = 0; i < 20'000; ++i) text += piece;
      read_or_complain(reader, text);
      read_or_complain(reader, reader.good + text);
    }
  }
}

}  // namespace
}  // namespace refit::test
