#pragma once

#include "topology/import/detail/nccl_xml.h"
#include "topology/import/detail/note_list.h"
#include "topology/import/node_shape.h"

namespace refit::detail {

// Bytes per second of the PCIe link above a device or switch; 0: not known.
double pcie_rate(const XmlNode& pci, NoteList& notes);

// How far a GPU and a NIC are apart in the tree, and the slowest link on the GPU's way up.
SeenPath path_between(const XmlNode& gpu, const XmlNode& nic, NoteList& notes);

}  // namespace refit::detail
