#include "validation/detail/machine_kinds.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/units.h"
#include "topology/cluster_yaml.h"
#include "validation/detail/cell.h"
#include "validation/detail/nic_words.h"
#include "validation/detail/words.h"

namespace refit::detail {
namespace {

struct Spelling {
  std::string_view word;  // a type begins with it, and no digit follows
  std::string_view catalog;
  std::string_view efa;           // the machine of that type with EFA, if it is another
  std::string_view changed = {};  // a key of the group that differs
  std::string_view remark = {};
};

constexpr Spelling kSpellings[] = {
    {"gb300", "gb300_nvl72", "gb300_nvl72"},
    {"gb200", "gb200_nvl72", "gb200_nvl72"},
    {"gh200", "gh200_slingshot", "gh200_slingshot"},
    {"b200", "dgx_b200", "dgx_b200"},
    {"h200", "dgx_h200", "aws_p5en"},
    {"h100", "dgx_h100", "aws_p5"},
    {"h800", "dgx_h100", "aws_p5", "nvlink_bandwidth: 200 GB/s",
     "H800 is taken as H100 with NVLink of 200 GB/s per direction."},
    {"h20", "hgx_h20", "hgx_h20"},
    {"a100", "dgx_a100", "dgx_a100"},
    {"a800", "dgx_a100", "dgx_a100", "nvlink_bandwidth: 200 GB/s",
     "A800 is taken as A100 with NVLink of 200 GB/s per direction."},
};

// "H100-80GB", "H100 class 8-GPU nodes", "8xH100", "unknown (H200 class, EFA)".
const Spelling* find_type(std::string_view text) {
  for (std::string name : split_names(text)) {
    const std::size_t times = name.find('x');
    if (times != name.npos && times > 0 && name.find_first_not_of("0123456789") == times) {
      name = name.substr(times + 1);
    }
    for (const Spelling& spelling : kSpellings) {
      if (!name.starts_with(spelling.word)) continue;
      const std::size_t next = spelling.word.size();
      if (next < name.size() && name[next] >= '0' && name[next] <= '9') continue;
      return &spelling;
    }
  }
  return nullptr;
}

// The catalog's NICs, with what the text says instead.
void override_nics(const NicWords& said, const NodeGroupSpec& group, MachineKind& kind,
                   std::vector<std::string>& assumptions) {
  int nics = said.per_node  ? *said.per_node
             : said.per_gpu ? *said.per_gpu * group.gpus_per_node
                            : group.nics_per_node;
  if (nics < 1 || (nics % group.gpus_per_node != 0 && group.gpus_per_node % nics != 0)) {
    assumptions.push_back(
        fmt::format("{} NICs for {} GPUs of a node can't be shared evenly; the "
                    "catalog's {} are taken.",
                    nics, group.gpus_per_node, group.nics_per_node));
    nics = group.nics_per_node;
  }
  double rate = group.nic_bytes_per_s;
  // "400 Gb/s EFA": more than one of several NICs of a GPU has is of all of them.
  const bool of_gpu = said.bytes_per_s && !said.per_node && !said.per_gpu &&
                      nics > group.gpus_per_node && *said.bytes_per_s > group.nic_bytes_per_s;
  if (of_gpu) {
    rate = *said.bytes_per_s * group.gpus_per_node / nics;
  } else if (said.bytes_per_s) {
    rate = *said.bytes_per_s;
  } else if (said.gpu_bytes_per_s) {
    rate = *said.gpu_bytes_per_s * group.gpus_per_node / nics;
  } else if (said.node_bytes_per_s) {
    rate = *said.node_bytes_per_s / nics;
  } else {
    assumptions.push_back(fmt::format("No NIC rate is given; {} has {} x {}.", kind.catalog, nics,
                                      format_bandwidth(rate)));
  }
  if (nics != group.nics_per_node) kind.overrides.push_back(fmt::format("nics_per_node: {}", nics));
  if (rate != group.nic_bytes_per_s) {
    kind.overrides.push_back(fmt::format("nic_bandwidth: {:.6g} GB/s", rate / 1e9));
  }
}

MachineKind machine_kind(const Spelling& type, const PublishedRow& row, const std::string& said,
                         std::vector<std::string>& assumptions) {
  const std::vector<std::string> names = split_names(said + " " + row.interconnect);
  const bool efa = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("efa");  // EFA, EFAv3
  });
  MachineKind kind;
  kind.catalog = std::string(efa ? type.efa : type.catalog);
  const NodeGroupSpec group = catalog_cluster(kind.catalog).group;
  kind.gpus_per_node = group.gpus_per_node;
  kind.domain_gpus = group.nvlink_domain_gpus;
  if (!type.changed.empty()) kind.overrides.emplace_back(type.changed);
  if (!type.remark.empty()) assumptions.emplace_back(type.remark);
  override_nics(read_nic_words(row.interconnect), group, kind, assumptions);
  return kind;
}

bool is_same(std::string_view type) { return lower(trimmed(type)).starts_with("same"); }

}  // namespace

std::variant<MachineKinds, RowSkip> machine_kinds(const PublishedRow& row, bool one_side) {
  MachineKinds kinds;
  const Spelling* training = find_type(row.train_gpu_type);
  const Spelling* generation = find_type(row.infer_gpu_type);
  const auto known = [](std::string_view type, const Spelling* found) {
    return found || is_same(type) || is_nothing(type) || lower(type).starts_with("unknown");
  };
  for (const auto& [field, type, found] :
       {std::tuple("train_gpu_type", std::string_view(row.train_gpu_type), training),
        std::tuple("infer_gpu_type", std::string_view(row.infer_gpu_type), generation)}) {
    if (known(type, found)) continue;
    return RowSkip{field, fmt::format("'{}' is not in the catalog of machines", printable(type))};
  }
  if (!training && !generation) return RowSkip{"train_gpu_type", "is not given, on either side"};
  const auto fill = [&](const Spelling*& side, const Spelling* other, const char* name,
                        std::string_view said) {
    if (side) return;
    side = other;
    if (!is_same(said) && !one_side) {
      kinds.assumptions.push_back(fmt::format(
          "The GPUs of {} are not given; they are taken as those of the other side.", name));
    }
  };
  fill(training, generation, "training", row.train_gpu_type);
  fill(generation, training, "generation", row.infer_gpu_type);
  const std::string said = row.train_gpu_type + " " + row.infer_gpu_type;
  kinds.training = machine_kind(*training, row, said, kinds.assumptions);
  if (training == generation) {
    kinds.generation = kinds.training;
  } else {
    kinds.generation = machine_kind(*generation, row, said, kinds.assumptions);
  }
  return kinds;
}

}  // namespace refit::detail
