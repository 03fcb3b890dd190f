#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/model_spec.h"

namespace refit {

// What a person says besides the file, about what the file cannot know.
struct ImportAnswers {
  std::optional<std::string> model;         // a name of the catalog, or a path
  std::optional<std::string> cluster;       // a name of the catalog, or a path
  std::optional<std::string> cluster_yaml;  // the machines themselves, from another file
  std::optional<int> nodes;
  std::string folder;            // of the scenario: its paths count from there; empty: from here
  std::vector<std::string> set;  // "generation.tensor=8": any key of a scenario
};

// A key of a scenario, its value as YAML has it, and where it comes from.
struct ImportedKey {
  std::string key;
  std::string value;
  std::string source;
};
using ImportedPart = std::vector<ImportedKey>;

// A layout that others wrote down, in the keys of our scenarios.
struct Imported {
  std::string title;
  std::string format;  // "NeMo RL recipe"
  std::string file;
  ImportedPart scenario;  // keys at its top, such as convert
  ImportedPart model, training, generation, plan, runtime;
  // The machines, as far as the file counts them.
  std::optional<std::int64_t> nodes, gpus_per_node, segment_nodes;
  std::string gpus_per_node_source;
  std::vector<std::string> assumptions;  // printed with results
  std::vector<std::string> left_out;     // what the file says, and the scenario does not
  std::vector<std::string> asked;        // "generation.engine: vllm or sglang"
};

// For readers of formats. `set` replaces; `find` is nothing if the key is not there.
void set_key(ImportedPart& part, const std::string& key, const std::string& value,
             const std::string& source);
const ImportedKey* find_key(const ImportedPart& part, const std::string& key);
std::optional<std::int64_t> integer_key(const ImportedPart& part, const std::string& key);

// The value that the person sets for a key, as in answers.set.
std::optional<std::string> answered(const ImportAnswers& answers, const std::string& key);

// A name of the catalog for a name of a hub: "meta-llama/Llama-3.1-8B-Instruct" is llama-3.1-8b.
// Fine-tuned models have the shapes of their base.
std::optional<std::string> catalog_name_of(const std::string& hub_name);

// The model that is answered or imported, if it is known and can be read.
std::optional<ModelSpec> model_of(const Imported& imported, const ImportAnswers& answers);

// Sets training.gpus, and generation.gpus beside them or on the same GPUs.
void set_gpus(Imported& imported, std::int64_t training, std::int64_t generation, bool colocated,
              const std::string& source);

// The scenario as YAML, each line with the place it comes from. Error(bad_input) lists all that
// neither the file nor the person said.
std::string scenario_text(Imported imported, const ImportAnswers& answers);

// Text as a YAML scalar.
std::string yaml_text(const std::string& text);

}  // namespace refit
