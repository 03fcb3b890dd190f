#include "validation/detail/row_system.h"

#include <string>

#include <catch2/catch.hpp>

using namespace refit;

namespace {

std::string system_of(const std::string& system, const std::string& method,
                      const std::string& scope = "") {
  PublishedRow row;
  row.system = system;
  row.method = method;
  row.timing_scope = scope;
  const auto found = detail::row_system(row);
  if (const auto* skip = std::get_if<RowSkip>(&found)) return "skip " + skip->field;
  return std::get<std::string>(found);
}

}  // namespace

TEST_CASE("row system: the preset that a system's method is", "[validation]") {
  struct Case {
    const char *system, *method, *preset;
  };
  const Case table[] = {
      {"NeMo RL + NCCL M2N Reshard", "gather + packed broadcast", "nemo_rl_packed"},
      {"NeMo RL packed collective", "gather + packed broadcast, serial iteration",
       "nemo_rl_packed_serial"},
      {"NeMo RL packed collective", "gather + packed broadcast, two buffers overlapped",
       "nemo_rl_packed"},
      {"NeMo RL + NCCL M2N Reshard", "reshard + misc broadcast", "nemo_rl_reshard"},
      {"NeMo RL nccl_reshard (Python transport)", "reshard via Python fallback", "nemo_rl_reshard"},
      {"NeMo RL nccl_xfer golden", "per-tensor full broadcast into live parameters",
       "nemo_rl_golden"},
      {"NeMo RL NIXL checkpoint engine", "NIXL GPU RDMA, destination-local expert shards",
       "nemo_rl_nixl"},
      {"NeMo RL NIXL checkpoint engine", "NIXL GPU RDMA, full expert tensors to every rank",
       "nemo_rl_nixl_full"},
      {"NeMo RL NIXL checkpoint engine", "NCCL packed broadcast", "nemo_rl_packed"},
      {"NCCL M2N library (reshard_model_bench)", "hierarchical ring (one copy per domain)",
       "m2n_hierarchical"},
      {"NCCL M2N library", "direct point to point from each source", "m2n_direct"},
      {"NCCL M2N library", "PACK transport", "m2n_pack"},
      {"ModelExpress (NIXL RDMA) with NeMo RL / Dynamo",
       "vLLM NCCL collective broadcast (baseline)", "one_root_broadcast"},
      {"ModelExpress (NIXL RDMA) with NeMo RL / Dynamo", "NIXL RDMA pull", "sharded_pull"},
      {"miles + SGLang", "NCCL broadcast from one head rank per PP stage", "miles_broadcast"},
      {"miles + SGLang", "RDMA WRITE from every trainer rank (Mooncake)", "miles_p2p"},
      {"slime", "bucketed NCCL broadcast", "miles_broadcast"},
      {"checkpoint-engine", "broadcast", "checkpoint_engine_broadcast"},
      {"Moonshot checkpoint-engine", "P2P", "checkpoint_engine_p2p"},
      {"verl checkpoint engine", "broadcast, single sender", "verl_broadcast"},
      {"verl checkpoint engine", "broadcast, rank 0 plus node-local relays", "verl_relays"},
      {"SkyRL", "broadcast from rank 0", "one_root_broadcast"},
      {"SkyRL", "sharded pull of slices", "sharded_pull"},
      {"AReaL", "NCCL broadcast", "one_root_broadcast"},
      {"Ray direct transport", "RDT pull", "sharded_pull"},
      {"Perplexity fabric-lib (TransferEngine)", "one-sided RDMA WRITE from every trainer GPU",
       "sharded_pull"},
      {"NeMo RL sparse delta refit", "sparse delta via S3 object store", "skip method"},
      {"NeMo-DCR", "full checkpoint between two AWS regions", "skip method"},
      {"AReaL", "from disk", "skip method"},
      {"Something", "magic", "skip method"},
      {"", "", "skip method"},
      {"slime", "CUDA IPC tensors", "skip train_layout"},
      {"verl", "colocated broadcast", "skip train_layout"},
      {"verl", "non-colocated broadcast", "verl_broadcast"},
  };
  for (const Case& c : table) {
    CAPTURE(c.system, c.method);
    CHECK(system_of(c.system, c.method) == c.preset);
  }
  REQUIRE(system_of("verl", "broadcast", "co-located workers") == "skip train_layout");
}
