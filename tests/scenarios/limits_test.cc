// `plan: limits:` of a scenario, and the same as words of a command line.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "scenarios/plan_limits.h"

namespace refit::test {

TEST_CASE("limits: keys have units and ranges", "[scenarios][limits]") {
  const PlanLimits limits = read_limits(YamlNode::parse_text(
      "extra_memory: 2 GiB\nops: 10000\ncommunicators: 2\npeers: 64\nnic_bandwidth: 200 Gbit/s\n"
      "ctas: 8\ncta_bandwidth: 20 GB/s\n",
      "x.yaml"));
  CHECK(limits.extra_memory_bytes == std::int64_t{2} << 30);
  CHECK(limits.ops == 10000);
  CHECK(limits.communicators == 2);
  CHECK(limits.peers == 64);
  CHECK(limits.nic_bytes_per_s == 25e9);
  CHECK(limits.ctas == 8);
  CHECK(limits.cta_bytes_per_s == 20e9);
  CHECK(limits.any());
  CHECK_FALSE(PlanLimits{}.any());
}

TEST_CASE("limits: words of a command line are the same keys", "[scenarios][limits]") {
  const PlanLimits limits = parse_limits({"ops=500", "extra_memory=64 MiB"});
  CHECK(limits.ops == 500);
  CHECK(limits.extra_memory_bytes == std::int64_t{64} << 20);
  CHECK_FALSE(parse_limits({}).any());
  CHECK_THROWS_WITH(parse_limits({"ops"}),
                    "--limit: 'ops' is no KEY=VALUE such as ops=10000 or "
                    "extra_memory=2GiB");
  CHECK_THROWS_WITH(parse_limits({"speed=3"}), Catch::Contains("speed"));
  CHECK_THROWS_WITH(parse_limits({"ops=0"}), Catch::Contains("ops"));
}

}  // namespace refit::test
