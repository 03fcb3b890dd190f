#include "sweep/sweep.h"

#include "sweep/evaluate.h"
#include "tests/sweep/pair.h"

namespace refit::test {
namespace {

std::string complaint(const std::string& text) {
  return error_of([&] { parse_sweep(text, "s.yaml"); });
}

std::vector<std::string> values_of(const Sweep& sweep, std::size_t column = 0) {
  std::vector<std::string> values;
  for (std::int64_t p = 0; p < sweep.points(); ++p)
    values.push_back(point_of(sweep, p).values.at(column));
  return values;
}

TEST_CASE("sweep: the last axis runs fastest, and strategy is an axis like others", "[sweep]") {
  const Sweep sweep = pair_sweep(
      "vary:\n  cluster.nodes: [2, 3]\n  strategy: [reshard, direct]\n"
      "together:\n  - plan.chunks: [1, 2]\n    plan.streams: [3, 4]\n"
      "fixed: {plan.balance: uniform}\nderived: {cluster.nics_per_node: cluster.nodes * 2}\n");
  CHECK(sweep.points() == 8);
  CHECK(sweep.columns() == std::vector<std::string>{"cluster.nodes", "plan.chunks", "plan.streams",
                                                    "cluster.nics_per_node"});
  const SweepPoint point = point_of(sweep, 5);  // 5 = 1 * 4 + 0 * 2 + 1
  CHECK(point.values == std::vector<std::string>{"3", "2", "4", "6"});
  CHECK(point.strategy == "reshard");
  REQUIRE(point.scenario);
  CHECK(point.scenario->text().find("nics_per_node: 6\n") != std::string::npos);
  CHECK(point.scenario->text().find("balance: uniform\n") != std::string::npos);
  CHECK(point.scenario->text().find("strategy") == std::string::npos);
}

TEST_CASE("sweep: ranges add or multiply, and hit their end", "[sweep]") {
  const auto values = [](const std::string& range) {
    return values_of(pair_sweep("vary: {cluster.nic_bandwidth: " + range + "}\n"));
  };
  CHECK(values("{from: 1, to: 32, times: 2}") ==
        std::vector<std::string>{"1", "2", "4", "8", "16", "32"});
  CHECK(values("{from: 100 Gbit/s, to: 350 Gbit/s, step: 100 Gbit/s}") ==
        std::vector<std::string>{"100 Gbit/s", "200 Gbit/s", "300 Gbit/s"});
  CHECK(values("{from: 0.1, to: 0.3, step: 0.1}") ==
        std::vector<std::string>{"0.1", "0.2", "0.3"});  // 0.1 + 2 * 0.1 is more than 0.3
}

TEST_CASE("sweep: a whole map may vary, and a field of it besides", "[sweep]") {
  const Sweep sweep = pair_sweep(
      "vary:\n  cluster.nodes: [2, 4]\n  cluster: [{catalog: dgx_h100}, {catalog: dgx_b200}]\n");
  const SweepPoint point = point_of(sweep, 3);
  CHECK(point.values == std::vector<std::string>{"4", "{catalog: dgx_b200, nodes: 4}"});
}

TEST_CASE("sweep: mistakes are named by file, line, column and key", "[sweep]") {
  const std::string base = "sweep: s\nbase:" + kPair;  // 19 lines
  const auto of = [&](const std::string& rest) { return complaint(base + rest); };
  CHECK(error_of([&] { parse_sweep("sweep: s\nbase: nowhere.yaml\n", "s.yaml"); },
                 ErrorCode::environment) ==
        "s.yaml:2:7: base: there is no file nowhere.yaml; paths are relative to this file's "
        "folder");
  CHECK(complaint("sweep: s\nbase: {}\n") ==
        "s.yaml:1:1: nothing varies; list fields under vary, as in cluster.nodes: [4, 8]");
  CHECK(of("varry: {a: [1]}\n") ==
        "s.yaml:18:1: unknown key 'varry'; did you mean 'vary'? known keys: sweep, description, "
        "base, vary, together, fixed, derived");
  CHECK(of("vary: {a: 1}\n") ==
        "s.yaml:18:11: vary.a: expected a list, or a range like {from: 1, to: 32, times: 2}; what "
        "does not vary stands in the base, or in fixed");
  CHECK(of("vary: {a: []}\n") == "s.yaml:18:11: vary.a: is empty; list the values");
  CHECK(of("vary: {a..b: [1]}\n") ==
        "s.yaml:18:14: 'a..b' is no path of keys; write one like cluster.nic_bandwidth or "
        "cluster.groups[0].nodes");
  CHECK(of("vary: {a: {from: 1, to: 8}}\n") ==
        "s.yaml:18:11: vary.a: a range has either step: what is added, or times: what is "
        "multiplied by");
  CHECK(of("vary: {a: {from: 1 GB, to: 8 MB, step: 1 GB}}\n") ==
        "s.yaml:18:28: vary.a.to: 'MB' is not the unit of from; write both in 'GB'");
  CHECK(of("vary: {a: {from: 8, to: 1, step: 1}}\n") ==
        "s.yaml:18:25: vary.a.to: is less than from; ranges ascend");
  CHECK(of("vary: {a: {from: 1, to: 8, times: 1}}\n") ==
        "s.yaml:18:35: vary.a.times: must be more than 1");
  CHECK(of("vary: {a: {from: 1, to: 8, step: 0}}\n") ==
        "s.yaml:18:34: vary.a.step: must be more than 0");
  CHECK(of("vary: {a: {from: 0, to: 1, step: 0.00001}}\n") ==
        "s.yaml:18:11: vary.a: gives more than 10000 values; take a larger step");
  CHECK(of("vary: {a: {from: 1000000000000, to: 1000000000001, step: 0.1}}\n") ==
        "s.yaml:18:11: vary.a: gives 1e+12 twice; take a larger step");
  for (const std::string where : {"vary: {strategy: [reshard, ", "together:\n  - {strategy: [",
                                  "vary: {a: [1]}\nfixed: {strategy: "}) {
    CAPTURE(where);
    const bool list = where.back() != ' ' || where.find("fixed") == where.npos;
    CHECK(of(where + "fastest" + (list ? "]}\n" : "}\n"))
              .find(": strategy: 'fastest' is neither a strategy") != std::string::npos);
  }
  // The base may have numbers at these paths; those are not meant.
  CHECK(of("vary: {a: [1]}\nderived:\n  b: c * 2\n  c: d + 1\n  d: b\n") ==
        "s.yaml:20:6: derived.b: is made of itself: b <- c <- d <- b");
  CHECK(of("vary: {a: [1]}\nfixed: {a: 2}\n") ==
        "s.yaml:18:11: vary.a: 'a' is set twice; vary, fix or derive it, once");
  CHECK(of("together: [{a: [1, 2], b: [1]}]\n") ==
        "s.yaml:18:27: together[0].b: 1 values, but 2 of 'a'; fields that vary together have "
        "equally many");
  CHECK(of("vary:\n  a: {from: 1, to: 2000, step: 1}\n  b: {from: 1, to: 2000, step: 1}\n") ==
        "s.yaml:20:6: vary.b: makes it more than 1000000 points; split the sweep");
}

TEST_CASE("sweep: what makes a point infeasible is named by the line it comes from", "[sweep]") {
  const auto reason = [](const std::string& rest, std::int64_t point) {
    const SweepRow row = evaluate_point(pair_sweep(rest), point);
    CHECK(row.outcome == PointOutcome::infeasible);
    return row.reason;
  };
  CHECK(reason("vary:\n  cluster.nic_bandwidth:\n    - 80 Gbit/s\n    - 80\n", 1).substr(0, 36) ==
        "s.yaml:21:7: cluster.nic_bandwidth: ");
  CHECK(reason("vary: {cluster.nic_bandwith: [1 Gbit/s]}\n", 0).substr(0, 64) ==
        "s.yaml:18:31: cluster: unknown key 'nic_bandwith'; did you mean ");
  CHECK(reason("vary: {scenario.x: [1]}\n", 0) ==
        "s.yaml:18:21: scenario is pair in the base scenario and has no 'x'; write it there as a "
        "map of keys");
  CHECK(reason("vary: {cluster.nodes: [3]}\nderived: {cluster.nics_per_node: cluster.nodes / 2}\n",
               0) ==
        "s.yaml:19:34: derived.cluster.nics_per_node: 'cluster.nodes / 2': 2 does not "
        "divide 3");
  CHECK(reason("vary: {cluster.nodes: [1]}\n", 0).find("s.yaml:") == 0);  // rank 1 is missing
  CHECK(reason("vary: {strategy: [policy]}\n", 0) ==
        "strategy policy: the scenario has no policy of its own");
}

TEST_CASE("sweep: equal sweeps have equal hashes, others and other programs do not", "[sweep]") {
  const std::string base = "sweep: s\nbase:" + kPair;
  const auto hash = [&](const std::string& rest, const std::string& salt = "") {
    return parse_sweep(base + rest, "s.yaml", salt).hash;
  };
  const std::string one = hash("vary: {cluster.nodes: [2, 3]}\n");
  CHECK(hash("# a comment\ndescription: of it\nvary:\n  cluster.nodes: [2, 3]\n") == one);
  CHECK(hash("vary: {cluster.nodes: [2, 4]}\n") != one);
  CHECK(hash("vary: {cluster.nodes: [2, 3]}\nfixed: {plan.chunks: 2}\n") != one);
  CHECK(hash("vary: {cluster.nodes: [2, 3]}\n", "2.0") != one);
}

}  // namespace
}  // namespace refit::test
