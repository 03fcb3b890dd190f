#include "base/file_kind.h"

#include <algorithm>

namespace refit {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

bool starts(std::string_view line, std::string_view word) {
  return line.substr(0, word.size()) == word;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view trimmed(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

// The name of the first element, after declaration and comments.
std::string_view root_of(std::string_view xml) {
  for (std::size_t at = xml.find('<'); at != std::string_view::npos; at = xml.find('<', at)) {
    std::string_view rest = xml.substr(at);
    if (starts(rest, "<!--")) {
      const std::size_t end = rest.find("-->");
      if (end == std::string_view::npos) return {};
      at += end + 3;
    } else if (starts(rest, "<?") || starts(rest, "<!")) {
      ++at;
    } else {
      rest.remove_prefix(1);
      return rest.substr(0, rest.find_first_of(" \t\r\n/>"));
    }
  }
  return {};
}

FileKind kind_of_xml(std::string_view text) {
  const std::string_view root = root_of(text);
  if (root == "system") return FileKind::nccl_topology;
  if (root == "graphs") return FileKind::nccl_graph;
  if (root == "topology" && has(text, "hwloc")) return FileKind::lstopo;
  return FileKind::xml;
}

// Tools that people try first. A better file may follow in the same text.
FileKind kind_of_other_tool(std::string_view line) {
  if (has(line, "| NVIDIA-SMI ")) return FileKind::smi_table;
  if (has(line, "==(") && has(line, ")==>")) return FileKind::iblinkinfo;
  if (has(line, " NCCL INFO ")) return FileKind::nccl_log;
  if (starts(line, "ClusterName=") || starts(line, "TopologyPlugin=")) return FileKind::slurm_main;
  return FileKind::unknown;
}

// The matrix of topo -p2p has words of its own, and none of a distance.
bool is_p2p(std::string_view text) {
  for (const std::string_view distance : {"PIX", "PXB", "PHB", "NODE", "SYS"}) {
    if (has(text, distance)) return false;
  }
  return has(text, "OK") && has(text, "GPU1");
}

// What a line gives away, or unknown.
FileKind kind_of_line(std::string_view raw) {
  std::string_view line = trimmed(raw);
  if (starts(line, "\x1b[")) line.remove_prefix(std::min(line.find('m'), line.size() - 1) + 1);
  if (has(line, "ROCm System Management Interface") || has(line, "between two GPUs"))
    return FileKind::rocm_smi;
  if (starts(line, "GPU0") && (has(line, "GPU1") || has(line, "Affinity") || has(line, " X ")))
    return FileKind::smi_matrix;
  const bool is_port_list = starts(line, "Switch") && has(line, " \"S-");
  if (is_port_list) return FileKind::ibnetdiscover;
  if (starts(line, "vendid=") || starts(line, "switchguid=") || starts(line, "caguid="))
    return FileKind::ibnetdiscover;
  if (starts(line, "SwitchName=") || starts(line, "BlockName=") || starts(line, "BlockSizes="))
    return FileKind::slurm_conf;
  if (has(line, "actor_rollout_ref.")) return FileKind::hydra_words;
  if (has(line, "--tensor-model-parallel-size") || has(line, "--num-attention-heads") ||
      has(line, "--rollout-num-gpus-per-engine"))
    return FileKind::megatron_flags;
  for (const std::string_view start : {"sglang:d", "sglang.d", "vllm:d", "vllm.d"}) {
    if (starts(line, start)) return FileKind::areal_allocation;
  }
  const bool is_backend =
      starts(line, "backend:") && (has(line, "sglang:d") || has(line, "vllm:d"));
  if (is_backend || has(line, "allocation_mode")) return FileKind::areal_allocation;
  return FileKind::unknown;
}

// A definition at the left margin; shells write theirs otherwise, but may hold a piece of Python.
bool is_python(std::string_view text) {
  if (starts(text, "#!") && has(text.substr(0, text.find('\n')), "sh")) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if ((starts(line, "def ") || starts(line, "async def ")) && has(line, "(")) return true;
    at = end + 1;
  }
  return false;
}

FileKind kind_of_json(std::string_view text) {
  if (has(text, "\"refit.")) return FileKind::refit_json;
  if (has(text, "\"weight_map\"")) return FileKind::safetensors_index;
  if (has(text, "\"default_tensors\"")) return FileKind::m2n_layers;
  if (has(text, "\"num_gpus\"") && has(text, "\"generation\"")) return FileKind::m2n_system;
  if (has(text, "\"architectures\"") || has(text, "\"model_type\"")) return FileKind::hf_config;
  if (has(text, "\"shape\"") && has(text, "\"dtype\"")) return FileKind::m2n_model;
  return FileKind::json;
}

// YAML is told by the keys at its left margin.
FileKind kind_of_yaml(std::string_view text) {
  bool cluster = false, group = false, nodes = false, others = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (starts(line, "scenario:")) return FileKind::scenario;
    // Recipes have a `cluster:` too.
    cluster |= starts(line, "cluster:") || starts(line, "catalog:");
    if (starts(line, "policy:") || starts(line, "defaults:")) return FileKind::nemo_recipe;
    if (starts(line, "switches:") || starts(line, "blocks:")) return FileKind::topograph_yaml;
    if (starts(line, "- topology:")) return FileKind::slurm_yaml;
    group |= starts(line, "gpus_per_node:") || starts(line, "groups:");
    nodes |= starts(line, "nodes:");
    // Settings of trainings have a `cluster:` and much else.
    for (const std::string_view key : {"actor:", "rollout:", "generation:", "data:", "eval:",
                                       "tokenizer:", "experiment_name:", "trainer:"})
      others |= starts(line, key);
  }
  return (cluster || group || nodes) && !others ? FileKind::cluster : FileKind::unknown;
}

}  // namespace

FileKind file_kind(std::string_view text) {
  text = text.substr(0, kMostBytes);
  if (starts(text, "\xef\xbb\xbf")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return FileKind::empty;
  if (has(text, std::string_view("\0", 1))) return FileKind::binary;
  if (text[first] == '<') return kind_of_xml(text.substr(first));
  if (text[first] == '{') return kind_of_json(text);
  if (is_python(text)) return FileKind::python;
  FileKind other = FileKind::unknown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const FileKind kind = kind_of_line(line);
    if (kind == FileKind::smi_matrix && is_p2p(text)) return FileKind::smi_p2p;
    if (kind != FileKind::unknown) return kind;
    if (other == FileKind::unknown) other = kind_of_other_tool(trimmed(line));
    at = end + 1;
  }
  return other == FileKind::unknown ? kind_of_yaml(text) : other;
}

std::string_view words_of(FileKind kind) {
  switch (kind) {
    case FileKind::empty:
      return "an empty file";
    case FileKind::binary:
      return "no text but binary (text in UTF-16 should be saved as UTF-8)";
    case FileKind::nccl_topology:
      return "an NCCL topology file";
    case FileKind::nccl_graph:
      return "an NCCL graph file";
    case FileKind::xml:
      return "XML of another kind";
    case FileKind::smi_matrix:
      return "a matrix of nvidia-smi topo";
    case FileKind::ibnetdiscover:
      return "the output of ibnetdiscover";
    case FileKind::slurm_conf:
      return "a topology.conf of Slurm";
    case FileKind::slurm_yaml:
      return "a topology.yaml of Slurm";
    case FileKind::topograph_yaml:
      return "a model of topograph";
    case FileKind::scenario:
      return "a scenario of refit";
    case FileKind::cluster:
      return "a cluster of refit";
    case FileKind::nemo_recipe:
      return "a recipe of NeMo RL";
    case FileKind::hydra_words:
      return "overrides of verl";
    case FileKind::megatron_flags:
      return "flags of Megatron, slime or miles";
    case FileKind::areal_allocation:
      return "an allocation of AReaL";
    case FileKind::m2n_system:
      return "a system file of NCCL M2N";
    case FileKind::m2n_model:
      return "a model file of NCCL M2N";
    case FileKind::python:
      return "a Python program, which makes its flags while it runs (give the command that it "
             "starts, which its log shows)";
    case FileKind::smi_p2p:
      return "the output of nvidia-smi topo -p2p, which has no NICs and no NVLink counts; run "
             "nvidia-smi topo -m";
    case FileKind::smi_table:
      return "the output of nvidia-smi, which has no topology; run nvidia-smi topo -m";
    case FileKind::rocm_smi:
      return "the output of AMD's tool, which has no NICs; RCCL's NCCL_TOPO_DUMP_FILE has them";
    case FileKind::lstopo:
      return "XML of hwloc (lstopo), which does not tell NICs' speeds; NCCL_TOPO_DUMP_FILE does";
    case FileKind::iblinkinfo:
      return "the output of iblinkinfo; ibnetdiscover has the same cables with both ends' kinds";
    case FileKind::slurm_main:
      return "a slurm.conf; what joins nodes is in the topology.conf or topology.yaml beside it";
    case FileKind::nccl_log:
      return "a log of NCCL; NCCL_TOPO_DUMP_FILE writes the topology itself";
    case FileKind::m2n_layers:
      return "a layer file of NCCL M2N, which has no element types, and which no program reads";
    case FileKind::hf_config:
      return "a config.json of Hugging Face";
    case FileKind::safetensors_index:
      return "the index of a checkpoint";
    case FileKind::refit_json:
      return "JSON that refit wrote";
    case FileKind::json:
      return "JSON";
    case FileKind::unknown:
      break;
  }
  return "none of the files we know";
}

}  // namespace refit
