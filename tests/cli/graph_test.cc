#include <graphviz/cgraph.h>

#include <string>

#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace refit {
namespace {

struct Counts {
  int nodes = 0, edges = 0;
};

Counts counts_of(const std::string& text) {
  Agraph_t* graph = agmemread(text.c_str());
  REQUIRE(graph != nullptr);
  const Counts counts{agnnodes(graph), agnedges(graph)};
  agclose(graph);
  return counts;
}

TEST_CASE("each kind of graph is read back by the library, and made again equal", "[cli][graph]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const std::string plan = folder / "plan.json";
  REQUIRE(refit_program({"plan", scenario, "--strategy", "reshard", "-o", plan}).code == 0);
  for (const char* kind : {"plan", "topology", "traffic", "stages"}) {
    CAPTURE(kind);
    const Outcome once = refit_program({"graph", plan, "--kind", kind});
    REQUIRE(once.code == 0);
    CHECK(counts_of(once.out).nodes > 0);
    CHECK(refit_program({"graph", plan, "--kind", kind}).out == once.out);
  }
  // GPUs, NVLink, NICs, fabric.
  CHECK(counts_of(refit_program({"graph", scenario, "--kind", "topology"}).out).nodes == 4);
  CHECK(has(refit_program({"graph", plan, "--kind", "topology"}).out,
            "4 nodes alike: pair\\l8 GPUs: 4 source, 4 destination"));
  const std::string stages = refit_program({"graph", plan, "--kind", "stages"}).out;
  CHECK(has(stages, "What waits for what: reshard\\lPredicted "));
  CHECK(has(refit_program({"graph", plan, "--kind", "traffic"}).out, "<B>domain 3</B>"));
}

TEST_CASE("options that a kind of graph has no use for are refused", "[cli][graph]") {
  const Folder folder;
  const std::string scenario = folder.write("four.yaml", kScenario);
  const Outcome level =
      refit_program({"graph", scenario, "--kind", "traffic", "--level", "domains"});
  CHECK(level.code == 2);
  CHECK(has(level.err, "--level is for --kind plan, not traffic"));
  const Outcome strategy =
      refit_program({"graph", scenario, "--kind", "topology", "--strategy", "direct"});
  CHECK(strategy.code == 2);
  CHECK(has(strategy.err, "--kind topology draws machines, which need no --strategy"));
  CHECK(refit_program({"graph", scenario, "--kind", "trafic"}).code == 2);
}

// 128 source domains that each send to one of 128 destination domains.
constexpr const char* kWide = R"(scenario: wide
cluster:
  name: pair
  nodes: 256
  gpus_per_node: 2
  nvlink_domain_gpus: 2
  nvlink_bandwidth: 100 GB/s
  nvlink_latency: 2 us
  nics_per_node: 2
  nic_bandwidth: 80 Gbit/s
  nic_latency: 5 us
tensors:
  - name: w
    shape: [2560, 1024]
    dtype: u8
    source: {ranks: 0..255, mesh: {shard: 256}, placements: [shard(0)]}
    destination: {ranks: 256..511, mesh: {shard: 256}, placements: [shard(0)]}
)";

TEST_CASE("a large plan is drawn with few boxes and arrows, unless all are asked for",
          "[cli][graph]") {
  const Folder folder;
  const std::string scenario = folder.write("wide.yaml", kWide);
  const Outcome few = refit_program({"graph", scenario, "--strategy", "direct"});
  REQUIRE(few.code == 0);
  // 256 domains: runs of 8 make 32 boxes, of 4 were 64. Each run sends to its counterpart.
  CHECK(counts_of(few.out).nodes == 32);
  CHECK(counts_of(few.out).edges == 16);
  CHECK(has(few.out, "Drawn as one: up to 8 neighbouring NVLink domains of one kind."));
  const Outcome all =
      refit_program({"graph", scenario, "--strategy", "direct", "--level", "domains"});
  CHECK(counts_of(all.out).nodes == 256);
  CHECK(counts_of(all.out).edges == 128);
}

}  // namespace
}  // namespace refit
