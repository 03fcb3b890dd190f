#pragma once

#include <optional>
#include <vector>

#include "topology/import/detail/nccl_xml.h"
#include "topology/import/detail/note_list.h"
#include "topology/import/node_shape.h"

namespace refit::detail {

// A GPU of a topology file: its place in the PCI tree, and what a job said of it, if one did.
struct NcclGpu {
  XmlNode pci;
  std::optional<XmlNode> gpu;
  long order = 0;
};

// Sets `gpus` and `nvlink_domain` of the node's shape from the <nvlink> and <xgmi> of its GPUs.
// False if a GPU of a dump has no link to a switch.
bool add_gpu_links(const std::vector<NcclGpu>& gpus, NodeShape& shape, NoteList& notes);

}  // namespace refit::detail
