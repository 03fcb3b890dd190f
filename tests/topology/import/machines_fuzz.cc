// Any bytes as a file about machines: a cluster that adds up and can be written, or an Error.
//
// A program for each format names its reader, REFIT_FUZZ_READER, and calls it on what is no longer
// told as that format, too.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/yaml.h"
#include "topology/cluster_yaml.h"
#include "topology/import/cluster_import.h"
#include "topology/import/ibnetdiscover.h"
#include "topology/import/nccl_topology.h"
#include "topology/import/slurm_topology.h"
#include "topology/import/smi_matrix.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace refit;
  const std::string given(reinterpret_cast<const char*>(bytes), size);
#ifdef REFIT_FUZZ_READER
  try {
    REFIT_FUZZ_READER(given, "file");
  } catch (const Error&) {
    return 0;
  }
#endif
  std::string text;
  try {
    ClusterFiles files;
    add_cluster_file(given, "file", files);
    // A few bytes may name 250,000 hosts, which take seconds here and show nothing new.
    if (files.fabric && files.fabric->nodes() > 10'000) return 0;
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
