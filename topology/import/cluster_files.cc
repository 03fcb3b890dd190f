#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file_kind.h"
#include "base/shown.h"
#include "topology/import/cluster_import.h"
#include "topology/import/ibnetdiscover.h"
#include "topology/import/nccl_topology.h"
#include "topology/import/slurm_topology.h"
#include "topology/import/smi_matrix.h"

namespace refit {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", name, what));
}

void append(const ImportNotes& more, ImportNotes& notes) {
  notes.insert(notes.end(), more.begin(), more.end());
}

std::string counts(const NodeShape& node) {
  int unknown = 0;
  for (const int count : node.unknown_behind_switch) unknown += count;
  std::string text =
      fmt::format("{} GPU{}, {} NIC{}", node.gpus.size(), node.gpus.size() == 1 ? "" : "s",
                  node.nics.size(), node.nics.size() == 1 ? "" : "s");
  if (unknown > 0) {
    text += fmt::format(", {} devices of a kind not said behind {} switches", unknown,
                        node.unknown_behind_switch.size());
  }
  return text;
}

void add_hosts(std::vector<NodeShape> hosts, const std::string& name, ClusterFiles& files,
               Names names) {
  if (!files.hosts.empty())
    refuse(name,
           "a second file about a node; give one of them, and the number of nodes with --nodes");
  files.hosts = std::move(hosts);
  if (names == Names::drop) return;
  std::vector<std::string> all;
  for (std::size_t n = 0; n < files.hosts[0].nics.size(); ++n)
    all.push_back(fmt::format("NIC{} {}", n, shown(files.hosts[0].nics[n].name, 64)));
  if (!all.empty()) files.facts.push_back(fmt::format("names: {}", fmt::join(all, ", ")));
}

void add_fabric(FabricShape shape, const std::string& name, ClusterFiles& files) {
  if (files.fabric) refuse(name, "a second file about what joins nodes; give one of them");
  append(shape.facts, files.facts);
  append(shape.notes, files.notes);
  files.assumed.append(shape.assumed);
  files.fabric = std::move(shape);
}

void add_tree(SwitchTree tree, const std::string& name, ClusterFiles& files, Names names) {
  add_fabric(std::move(tree.shape), name, files);
  if (names == Names::drop) return;
  std::vector<std::string> all;
  for (const SwitchTree::Group& leaf : tree.leaves)
    all.push_back(fmt::format("{} ({} nodes)", shown(leaf.name, 64), leaf.nodes.size()));
  if (!all.empty()) files.facts.push_back(fmt::format("leaves: {}", fmt::join(all, ", ")));
}

}  // namespace

void add_cluster_file(const std::string& text, const std::string& name, ClusterFiles& files,
                      Names names) {
  const FileKind kind = file_kind(text);
  switch (kind) {
    case FileKind::nccl_topology: {
      NcclTopology topology = read_nccl_topology(text, name);
      files.facts.push_back(fmt::format(
          "{}: {} host{}, {} each", topology.is_hint ? "NCCL topology hints" : "NCCL topology",
          topology.hosts.size(), topology.hosts.size() == 1 ? "" : "s", counts(topology.hosts[0])));
      files.joined_hosts = topology.joined_hosts;
      append(topology.notes, files.notes);
      files.assumed.append(topology.assumed);
      return add_hosts(std::move(topology.hosts), name, files, names);
    }
    case FileKind::nccl_graph:
      refuse(name, nccl_graph_in_words(text, "").substr(2) +
                       "; a topology is what NCCL_TOPO_DUMP_FILE writes");
    case FileKind::smi_matrix: {
      SmiMatrix matrix = read_smi_matrix(text, name);
      files.facts.push_back("nvidia-smi topo: " + counts(matrix.node));
      files.is_pcie_view = matrix.is_pcie_view;
      append(matrix.notes, files.notes);
      return add_hosts({std::move(matrix.node)}, name, files, names);
    }
    case FileKind::ibnetdiscover:
      return add_fabric(read_ibnetdiscover(text, name).shape, name, files);
    case FileKind::slurm_conf:
      return add_tree(read_slurm_conf(text, name), name, files, names);
    case FileKind::slurm_yaml:
      return add_tree(read_slurm_yaml(text, name), name, files, names);
    case FileKind::topograph_yaml:
      return add_tree(read_topograph_yaml(text, name), name, files, names);
    default:
      break;
  }
  refuse(name,
         fmt::format("this is {}; expected an NCCL topology file, the output of nvidia-smi topo -m "
                     "or ibnetdiscover, or a topology of Slurm or topograph",
                     words_of(kind)));
}

}  // namespace refit
