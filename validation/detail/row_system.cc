#include "validation/detail/row_system.h"

#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "validation/detail/cell.h"
#include "validation/detail/words.h"

namespace refit::detail {
namespace {

// Content that is not the weights of this step as they are, or a way that is not a network of GPUs.
bool is_elsewhere(const std::string& method, const std::string& system) {
  const std::string text = method + " " + system;
  for (const std::string& name : split_names(text)) {
    for (const char* word : {"s3", "nfs", "lustre", "lora", "safetensors", "zeromq", "disk"}) {
      if (name == word) return true;
    }
  }
  return has_any(text, {"delta", "object store", "relay tree", "full checkpoint", "shared file",
                        "filesystem", "file system"});
}

// Both sides on the same GPUs; "non-colocated" and "not colocated" say the opposite.
bool is_colocated(const std::string& text) {
  for (const char* word : {"colocat", "co-locat"}) {
    const std::size_t at = text.find(word);
    if (at == text.npos) continue;
    const std::string_view before =
        std::string_view(text).substr(at < 5 ? 0 : at - 5, at < 5 ? at : 5);
    return !has_any(before, {"non", "not", "dis"});
  }
  return false;
}

bool pulls(const std::string& method) {
  return has_any(method, {"pull", "nixl", "rdma", "rdt", "p2p", "peer", "point-to-point",
                          "point to point", "shard", "slice", "direct"});
}

std::string nemo_rl_system(const std::string& method, const std::string& system) {
  const std::string all = system + " " + method;
  if (has_any(method, {"golden", "live parameters"})) return "nemo_rl_golden";
  if (has_any(method, {"nixl", "rdma"})) {
    return has_any(method, {"full expert", "full tensor", "whole expert"}) ? "nemo_rl_nixl_full"
                                                                           : "nemo_rl_nixl";
  }
  if (has_any(method, {"reshard", "exact-transfer", "exact transfer", "exact overlap", "xfer",
                       "shard to shard"})) {
    return "nemo_rl_reshard";
  }
  if (has_any(method, {"packed", "gather", "broadcast", "collective"})) {
    return has_any(method, {"serial"}) ? "nemo_rl_packed_serial" : "nemo_rl_packed";
  }
  if (has_any(all, {"golden"})) return "nemo_rl_golden";
  if (has_any(all, {"reshard"})) return "nemo_rl_reshard";
  if (has_any(all, {"nixl"})) return "nemo_rl_nixl";
  return has_any(all, {"packed", "broadcast", "collective"}) ? "nemo_rl_packed" : "";
}

std::string m2n_system(const std::string& method) {
  if (has_any(method, {"pack"})) return "m2n_pack";
  if (has_any(method, {"direct", "point to point", "point-to-point", "p2p"})) return "m2n_direct";
  return "m2n_hierarchical";
}

// Systems in the order in which a name decides: frameworks that use others stand before them.
std::string system_of(const std::string& system, const std::string& method) {
  const bool broadcasts = has_any(method, {"broadcast"});
  if (has_any(system, {"modelexpress", "model express"}) ||
      has_any(system, {"perplexity", "fabric-lib", "transferengine", "awex"})) {
    return broadcasts && !has_any(method, {"write", "pull"}) ? "one_root_broadcast"
                                                             : "sharded_pull";
  }
  if (has_any(system, {"nemo"})) return nemo_rl_system(method, system);
  if (has_any(system, {"m2n", "reshard_model_bench", "nccl-extensions"})) return m2n_system(method);
  if (has_any(system, {"miles", "slime"})) {
    if (has_any(method, {"p2p", "rdma", "mooncake", "point to point", "point-to-point"})) {
      return "miles_p2p";
    }
    return "miles_broadcast";
  }
  if (has_any(system, {"verl"})) {
    if (has_any(method, {"relay", "multi-sender", "multi sender", "multiple senders"})) {
      return "verl_relays";
    }
    return "verl_broadcast";
  }
  if (has_any(system, {"checkpoint-engine", "checkpoint engine"})) {
    return has_any(method, {"p2p", "peer", "mooncake", "point to point"})
               ? "checkpoint_engine_p2p"
               : "checkpoint_engine_broadcast";
  }
  if (has_any(method, {"one head", "head rank per pp", "per pp stage"})) return "miles_broadcast";
  if (broadcasts) {
    return has_any(method, {"relay", "multi-sender"}) ? "verl_relays" : "one_root_broadcast";
  }
  return pulls(method) || pulls(system) ? "sharded_pull" : "";
}

}  // namespace

std::variant<std::string, RowSkip> row_system(const PublishedRow& row) {
  const std::string system = lower(row.system);
  const std::string method = lower(row.method);
  if (is_elsewhere(method, system)) {
    return RowSkip{"method", "a delta or an object store is not one of the systems"};
  }
  const std::string preset = system_of(system, method);
  const std::string text = method + " ; " +
                           lower(row.timing_scope + " ; " + row.train_layout + " ; " +
                                 row.infer_layout + " ; " + row.notes);
  const bool ipc_only =
      has_any(method, {"cuda ipc", "cuda-ipc"}) && !has_any(method, {"broadcast", "p2p", "rdma"});
  // checkpoint-engine's ranks are generation's own; its weights start in host memory.
  const bool in_place = preset.starts_with("checkpoint_engine");
  if (!in_place && (is_colocated(text) || ipc_only)) {
    return RowSkip{"train_layout",
                   "training and generation are on the same GPUs; only separate ones are known"};
  }
  if (system.empty() && method.empty()) return RowSkip{"method", "is not given"};
  if (preset.empty()) {
    return RowSkip{"method", fmt::format("'{}' of '{}' is none of the known ways to refit",
                                         printable(row.method), printable(row.system))};
  }
  return preset;
}

std::string system_assumption(const PublishedRow& row, const std::string& system) {
  const std::string text = lower(row.system + " " + row.method);
  if (system == "nemo_rl_nixl_full") {
    return "Every generation rank is sent whole tensors, so generation has tensor 1.";
  }
  if (system == "nemo_rl_reshard" && has_any(text, {"python"})) {
    return "The Python transport is taken as the native one.";
  }
  if (system == "verl_broadcast" && !has_any(text, {"broadcast", "nccl"})) {
    return "The transport is taken as a broadcast by one sender.";
  }
  if (system == "miles_broadcast" && !has_any(text, {"head", "broadcast"})) {
    return "The method is taken as a broadcast by one head rank of each pipeline stage.";
  }
  if (system == "m2n_hierarchical" && !has_any(text, {"hierarch", "ring"})) {
    return "The transport is taken as the hierarchical one.";
  }
  return "";
}

}  // namespace refit::detail
