// Any bytes as a file about machines: a cluster that adds up and can be written, or an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/yaml.h"
#include "topology/cluster_yaml.h"
#include "topology/import/cluster_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace refit;
  std::string text;
  try {
    ClusterFiles files;
    add_cluster_file(std::string(reinterpret_cast<const char*>(bytes), size), "file", files);
    ClusterAnswers answers;
    answers.catalog = "dgx_h100";
    const ImportedCluster cluster = import_cluster(files, answers);
    if (!cluster.missing.empty()) return 0;
    text = cluster_text(cluster);
  } catch (const Error&) {
    return 0;
  }
  read_cluster(YamlNode::parse_text(text, "written").at("cluster"));  // an Error here is a find
  return 0;
}
