// Any bytes as a file about layouts: a scenario that is YAML, or an Error. The first byte chooses
// the format.
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

Imported read_as(std::uint8_t format, const std::string& text) {
  switch (format % 5) {
    case 0: {
      HydraConfig recipe = HydraConfig::parse(text, "file");
      return read_nemo_rl(recipe, "file");
    }
    case 1:
      return read_megatron_args(text, "file", {});
    case 2:
      return read_verl(text, "file", {});
    case 3:
      return read_areal(text, "file");
    default:
      return read_m2n_system(text, "file", {});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(bytes + 1), size - 1);
  std::string written;
  try {
    if (bytes[0] >= 250) {
      parse_m2n_model(text, "file");
      return 0;
    }
    const Imported imported = read_as(bytes[0], text);
    ImportAnswers answers;
    answers.cluster_yaml = "catalog: dgx_h100\nnodes: 4\n";
    answers.model = "qwen3-30b-a3b";
    for (const std::string& line : imported.asked)
      answers.set.push_back(line.substr(0, line.find(':')) + "=1");
    written = scenario_text(imported, answers);
  } catch (const Error&) {
    return 0;
  }
  YamlNode::parse_text(written, "written").at("training").at("engine");  // an Error here is a find
  return 0;
}
