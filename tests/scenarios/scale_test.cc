#include "scenarios/scale.h"

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "models/parcels.h"
#include "schedule/verify.h"
#include "sim/predict.h"

namespace refit::test {
namespace {

const std::string kRoot = REFIT_SOURCE_DIR;

// One tensor of each kind: cut by both sides in dim 0; cut by one side only; cut by nobody.
const char* const kThree = R"(scenario: three
cluster:
  nodes: 4
  gpus_per_node: 2
  nvlink_domain_gpus: 2
  nvlink_bandwidth: 100 GB/s
  nics_per_node: 2
  nic_bandwidth: 80 Gbit/s
  pcie_bandwidth: 20 GB/s
tensors:
  - name: rows
    shape: [64, 1000]
    dtype: bf16
    source: {ranks: 0..3, mesh: {a: 4}, placements: [shard(0)]}
    destination: {ranks: 4..7, mesh: {a: 4}, placements: [shard(0)]}
  - name: columns
    shape: [300, 500]
    dtype: bf16
    source: {ranks: 0..3, mesh: {a: 4}, placements: [replicate]}
    destination: {ranks: 4..7, mesh: {a: 4}, placements: [shard(1)]}
  - name: norm
    shape: [20, 5]
    dtype: bf16
    source: {ranks: 0..3, mesh: {a: 4}, placements: [replicate]}
    destination: {ranks: 4..7, mesh: {a: 4}, placements: [replicate]}
)";

// Shape of the class of a name, without the member.
std::vector<std::int64_t> shape_of(const Scenario& scenario, const std::string& name) {
  for (const TensorClass& c : scenario.refit.classes) {
    if (c.name == name) return {c.shape().begin() + 1, c.shape().end()};
  }
  FAIL("no class " << name);
  return {};
}

// Every op of the small plan is between the same ranks, about parcels of the same ranks.
void check_same_messages(const Schedule& big, const Schedule& small) {
  REQUIRE(big.ops.size() == small.ops.size());
  REQUIRE(big.parcels.size() == small.parcels.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < big.ops.size(); ++i) {
    Op op = small.ops[i];
    op.bytes = big.ops[i].bytes;
    if (!(op == big.ops[i])) ++different;
  }
  for (std::size_t i = 0; i < big.parcels.size(); ++i) {
    const Parcel& a = big.parcels[i];
    const Parcel& b = small.parcels[i];
    if (a.owners != b.owners || a.demanders != b.demanders || a.chunks != b.chunks) ++different;
  }
  CHECK(different == 0);
  CHECK(big.cargos == small.cargos);
  CHECK(big.groups == small.groups);
}

}  // namespace

TEST_CASE("scaling shortens dims that nobody cuts, the largest first", "[scenarios][scale]") {
  const Scenario small = scaled(parse_scenario(kThree, "three.yaml"), 0.01);
  // Dim 0 is cut; 1000 x 1/100.
  CHECK(shape_of(small, "rows") == std::vector<std::int64_t>{64, 10});
  // Dim 1 is cut on one side, which is enough to keep it; 300 x 1/100.
  CHECK(shape_of(small, "columns") == std::vector<std::int64_t>{3, 500});
  // 20 rows would be 0.2: one is left, so 5 must shrink by 1/5 more.
  CHECK(shape_of(small, "norm") == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("scaling multiplies every bandwidth exactly and leaves latencies", "[scenarios][scale]") {
  const Scenario big = parse_scenario(kThree, "three.yaml");
  const Scenario small = scaled(big, 1.0 / 1024);  // a power of two: no rounding
  REQUIRE(small.cluster.links().size() == big.cluster.links().size());
  for (std::size_t l = 0; l < big.cluster.links().size(); ++l) {
    const Link& before = big.cluster.links()[l];
    const Link& after = small.cluster.links()[l];
    CAPTURE(before.name);
    CHECK(after.bandwidth_bytes_per_s == before.bandwidth_bytes_per_s / 1024);
    CHECK(after.latency_s == before.latency_s);
  }
}

TEST_CASE("a scaled plan keeps every message and answers the scaled refit", "[scenarios][scale]") {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios/small")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    CAPTURE(file);
    const Scenario big = load_scenario(file);
    const Scenario small = scaled(big, 1.0 / 500);
    for (const char* strategy : {"gather_broadcast", "direct", "reshard", "hybrid"}) {
      CAPTURE(strategy);
      const Schedule schedule = plan(big.refit, big.cluster, named_policy(strategy), big.plan);
      const Schedule in_small = scaled(schedule, big.refit, small.refit);
      check_same_messages(schedule, in_small);
      const Diagnostics findings = verify(in_small, small.refit);
      INFO((findings.empty() ? "" : findings.front().where + ": " + findings.front().message));
      REQUIRE(findings.empty());
    }
  }
}

TEST_CASE("DeepSeek-V3 at 1/2000 moves about 1/2000 of the bytes in about the same time",
          "[scenarios][scale]") {
  const Scenario big = load_scenario(kRoot + "/scenarios/published/deepseek_v3_h100.yaml");
  const Scenario small = scaled(big, 1.0 / 2000);
  // Nearly all weights are experts of hidden size 7168, which nobody cuts: 7168 / 2000 = 3.58
  // rounds to 4, that is 1 / 1792. Small dims of attention stay larger.
  const double factor = static_cast<double>(small.refit.unique_bytes()) /
                        static_cast<double>(big.refit.unique_bytes());
  CHECK(1 / factor == Approx(1792).epsilon(0.05));
  CHECK(static_cast<double>(small.refit.payload_bytes()) ==
        Approx(static_cast<double>(big.refit.payload_bytes()) * factor).epsilon(0.1));

  const std::vector<Parcel> before = find_parcels(big.refit);
  const std::vector<Parcel> after = find_parcels(small.refit);
  REQUIRE(after.size() == before.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i].owners != before[i].owners || after[i].demanders != before[i].demanders ||
        after[i].fragments.size() != before[i].fragments.size())
      ++different;
  }
  CHECK(different == 0);

  const Schedule schedule = plan(big.refit, big.cluster, named_policy("reshard"), big.plan);
  const Schedule in_small = scaled(schedule, big.refit, small.refit);
  check_same_messages(schedule, in_small);
  REQUIRE(verify(in_small, small.refit).empty());
  // The bytes are 2000 / 1792 = 1.12 too many for the links.
  const double big_s = predict(schedule, big.cluster).makespan_s;
  const double small_s = predict(in_small, small.cluster).makespan_s;
  CHECK(small_s / big_s == Approx(2000.0 / 1792).epsilon(0.1));
}

TEST_CASE("a scale that is no fraction is refused", "[scenarios][scale]") {
  const Scenario scenario = parse_scenario(kThree, "three.yaml");
  for (const double factor : {0.0, -1.0, 1.5}) {
    CAPTURE(factor);
    CHECK_THROWS_WITH(scaled(scenario, factor),
                      Catch::Contains("use more than 0 and at most 1, such as 1/2000"));
  }
}

TEST_CASE("a plan that cuts a shortened dim by its own choice is not scaled",
          "[scenarios][scale]") {
  const Scenario big = parse_scenario(kThree, "three.yaml");
  const Scenario small = scaled(big, 0.01);
  Schedule schedule = plan(big.refit, big.cluster, named_policy("direct"), big.plan);
  for (Parcel& parcel : schedule.parcels) {
    for (Fragment& fragment : parcel.fragments) {
      if (big.refit.classes[fragment.tensor_class.index()].name == "rows")
        fragment.region.back() = {0, 999};
    }
  }
  CHECK_THROWS_WITH(scaled(schedule, big.refit, small.refit),
                    "rows: the plan takes rows 0 to 999 of dim 2, which has 1000; a plan can be "
                    "scaled if it cuts only where a layout does");
}

}  // namespace refit::test
