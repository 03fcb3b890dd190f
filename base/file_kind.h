#pragma once

#include <string>
#include <string_view>

namespace refit {

// The files that people hand to us, told by their content.
enum class FileKind {
  empty,
  binary,
  nccl_topology,  // NCCL_TOPO_DUMP_FILE, or a vendor's NCCL_TOPO_FILE
  nccl_graph,     // NCCL_GRAPH_DUMP_FILE
  xml,            // some other XML
  smi_matrix,     // nvidia-smi topo -m or -mp
  ibnetdiscover,
  slurm_conf,      // Slurm topology.conf
  slurm_yaml,      // Slurm topology.yaml
  topograph_yaml,  // topograph's model of switches and blocks
  scenario,        // YAML of ours with a cluster in it
  cluster,         // YAML of ours, a cluster alone
  nemo_recipe,     // YAML of NeMo RL: policy, or a chain of defaults
  hydra_words,     // overrides of verl
  megatron_flags,  // of Megatron-LM, slime or miles
  areal_allocation,
  m2n_system,
  m2n_model,
  python,
  // What tools print or read that has less than the files above, or nothing, of a topology.
  smi_p2p,     // nvidia-smi topo -p2p
  smi_table,   // nvidia-smi alone
  rocm_smi,    // rocm-smi or amd-smi
  lstopo,      // hwloc's XML
  iblinkinfo,
  slurm_main,  // slurm.conf
  nccl_log,    // NCCL_DEBUG=INFO
  m2n_layers,  // NCCL M2N's older schema, which no program of its reads
  hf_config,
  safetensors_index,
  refit_json,  // a plan, prediction or measurement of ours
  json,
  unknown,
};

// Looks at no more than the first MiB.
FileKind file_kind(std::string_view text);

// "an NCCL graph file"; after "this is".
std::string_view words_of(FileKind kind);

}  // namespace refit
