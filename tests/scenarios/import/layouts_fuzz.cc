// Any bytes as a file about layouts: a scenario that is YAML, or an Error. The first byte chooses
// the format, but not in the program of one format, REFIT_FUZZ_FORMAT.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/yaml.h"
#include "models/import/model_file.h"
#include "models/import/tensor_model.h"
#include "scenarios/import/areal.h"
#include "scenarios/import/m2n_system.h"
#include "scenarios/import/megatron_args.h"
#include "scenarios/import/nemo_rl.h"
#include "scenarios/import/verl.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

using namespace refit;

enum class Format { nemo_rl, megatron_args, verl, areal, m2n_system, m2n_model };

Imported read_as(Format format, const std::string& text) {
  switch (format) {
    case Format::nemo_rl: {
      HydraConfig recipe = HydraConfig::parse(text, "file");
      return read_nemo_rl(recipe, "file");
    }
    case Format::megatron_args:
      return read_megatron_args(text, "file", {});
    case Format::verl:
      return read_verl(text, "file", {});
    case Format::areal:
      return read_areal(text, "file");
    default:
      return read_m2n_system(text, "file", {});
  }
}

void read_and_write(Format format, const std::string& text) {
  std::string written;
  try {
    if (format == Format::m2n_model) {
      parse_m2n_model(text, "file");
      return;
    }
    const Imported imported = read_as(format, text);
    ImportAnswers answers;
    answers.cluster_yaml = "catalog: dgx_h100\nnodes: 4\n";
    answers.model = "qwen3-30b-a3b";
    for (const std::string& line : imported.asked)
      answers.set.push_back(line.substr(0, line.find(':')) + "=1");
    written = scenario_text(imported, answers);
  } catch (const Error&) {
    return;
  }
  YamlNode::parse_text(written, "written").at("training").at("engine");  // an Error here is a find
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
#ifdef REFIT_FUZZ_FORMAT
  read_and_write(Format::REFIT_FUZZ_FORMAT, text);
#else
  if (size > 0) read_and_write(static_cast<Format>(bytes[0] % 6), text.substr(1));
#endif
  return 0;
}
