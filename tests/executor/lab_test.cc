#include "executor/lab.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include <catch2/catch.hpp>

#include "executor/detail/lab_plan.h"
#include "executor/lab_envelope.h"
#include "tests/executor/lab_case.h"

namespace refit::test {
namespace {

using detail::LabFlow;

// (9000 - 52) / (9000 + 14): 52 bytes of IPv4 and TCP headers in a packet, 14 of Ethernet around
// it.
constexpr double kGoodput = 8948.0 / 9014;
constexpr double kNic = 200 * kMbit * kGoodput;
constexpr double kNvlink = 1800 * kMbit * kGoodput;

double sum(const std::vector<double>& rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

bool close(double rate, double expected) { return rate == Approx(expected).epsilon(0.05); }

enum class Rates { each, sum };

// Measures up to three times: somebody else's work on this machine may spoil one, but no work makes
// a link faster or shares it evenly by chance.
void require_rates(const Cluster& cluster, const LabOptions& options,
                   const std::vector<LabFlow>& flows, const std::vector<double>& expected,
                   Rates compared) {
  std::vector<double> rates;
  const auto as_expected = [&] {
    if (compared == Rates::sum) return close(sum(rates), sum(expected));
    return std::equal(rates.begin(), rates.end(), expected.begin(), expected.end(), close);
  };
  for (int attempt = 0; attempt < 3 && !as_expected(); ++attempt)
    rates = rates_in_lab(cluster, options, flows, flows.size() > 1 ? 1 : 0.5);
  CAPTURE(rates, expected, sum(rates), sum(expected));
  REQUIRE(as_expected());
}

std::string refusal(const Cluster& cluster, const LabOptions& options = {}) {
  try {
    detail::plan_lab(cluster, options);
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("lab: the share of a rate that is payload follows from the packet size", "[lab]") {
  REQUIRE(lab_goodput({}) == Approx(kGoodput));
  LabOptions options;
  options.mtu = 1500;
  REQUIRE(lab_goodput(options) == Approx(1448.0 / 1514));
  options.shaping = LabShaping::user;
  REQUIRE(lab_goodput(options) == 1);
}

TEST_CASE("lab: links that it cannot stand for are refused by name", "[lab]") {
  REQUIRE(refusal(lab_cluster({.nic_bytes_per_s = 50e9})) ==
          "lab: node 0 nic 0 out has 400.0 Gbit/s; scale the cluster so that every link has "
          "1.0 Mbit/s to 100.0 Gbit/s");
  REQUIRE(refusal(lab_cluster({.fabric = {.oversubscription = 2}})) ==
          "lab: core here is one link that all transfers share, which a switch cannot stand for; "
          "give fabric.nodes_per_leaf, or an oversubscription of 1");
  REQUIRE(refusal(lab_cluster({.nvlink_domain_gpus = 1, .pcie_bytes_per_s = 400 * kMbit})) ==
          "lab: ranks 0 and 1 reach each other by PCIe, which a lab has no link for; leave the "
          "PCIe rate out, or put them in one NVLink domain");
  REQUIRE(refusal(lab_cluster({.nvlink_domain_gpus = 1, .nics_per_node = 2})) ==
          "lab: ranks 0 and 1 share a NIC and have no NVLink between them, so their bytes would "
          "turn round before it; give each rank a NIC");
  REQUIRE(refusal(lab_cluster({.nodes = 100})) ==
          "lab: 400 ranks are more than the 256 that one machine can play");
}

TEST_CASE("lab: a leaf of 20 ranks and 20 others needs too many fair queues", "[lab]") {
  const LabShape shape{.nodes = 10, .fabric = {.nodes_per_leaf = 5, .oversubscription = 2}};
  LabOptions options;
  REQUIRE(refusal(lab_cluster(shape), options).empty());
  options.fair = true;
  REQUIRE(refusal(lab_cluster(shape), options) ==
          "lab: a link that 20 ranks send through to 20 others would need more than 256 queues to "
          "be fair; run this cluster without fair queues");
}

TEST_CASE("lab: every rank is reached by NIC, and by NVLink within its domain", "[lab]") {
  if (lab_is_refused()) return;
  const int nodes = GENERATE(1, 2, 4);  // 4, 8 and 16 ranks
  const bool fair = GENERATE(false, true);
  CAPTURE(nodes, fair);
  const Cluster cluster = lab_cluster({.nodes = nodes});
  std::vector<LabFlow> flows;
  for (int r = 0; r < cluster.gpus(); ++r) {
    for (int s = 0; s < cluster.gpus(); ++s) {
      if (r == s) continue;
      flows.push_back({Rank(r), Rank(s), false});
      if (r / 4 == s / 4) flows.push_back({Rank(r), Rank(s), true});
    }
  }
  LabOptions options;
  options.fair = fair;
  // In no time: they connect, and that is all.
  REQUIRE(rates_in_lab(cluster, options, flows, 0).size() == flows.size());
}

TEST_CASE("lab: flows get the rates that max-min fairness gives them", "[lab]") {
  if (lab_is_refused()) return;
  LabOptions options;
  options.fair = GENERATE(false, true);
  CAPTURE(options.fair);
  const Cluster cluster = lab_cluster();

  // A plain queue shares by luck, so that only the sum is certain.
  const Rates compared = options.fair ? Rates::each : Rates::sum;
  const std::vector<double> quarters(4, kNic / 4);

  SECTION("one flow has the NIC's rate") {
    require_rates(cluster, options, {{Rank(0), Rank(4)}}, {kNic}, Rates::each);
  }
  SECTION("one flow has the NVLink port's rate") {
    require_rates(cluster, options, {{Rank(4), Rank(7), true}}, {kNvlink}, Rates::each);
  }
  SECTION("NIC and NVLink of a rank do not share") {
    require_rates(cluster, options, {{Rank(0), Rank(4)}, {Rank(0), Rank(1), true}}, {kNic, kNvlink},
                  Rates::each);
  }
  SECTION("four flows share the NIC that they leave by") {
    require_rates(cluster, options,
                  {{Rank(0), Rank(4)}, {Rank(0), Rank(5)}, {Rank(0), Rank(6)}, {Rank(0), Rank(7)}},
                  quarters, compared);
  }
  SECTION("four flows share the NIC that they arrive at") {
    require_rates(cluster, options,
                  {{Rank(0), Rank(4)}, {Rank(1), Rank(4)}, {Rank(2), Rank(4)}, {Rank(3), Rank(4)}},
                  quarters, compared);
  }
}

// 0 -> 5 shares a NIC with each of the others. Max-min gives all three half a NIC; a plain queue
// gives the flow with two bottlenecks less.
TEST_CASE("lab: with fair queues a flow over two busy NICs gets its half of each", "[lab]") {
  if (lab_is_refused()) return;
  LabOptions options;
  options.fair = true;
  require_rates(lab_cluster(), options,
                {{Rank(0), Rank(5)}, {Rank(0), Rank(4)}, {Rank(1), Rank(5)}},
                {kNic / 2, kNic / 2, kNic / 2}, Rates::each);
}

TEST_CASE("lab: a trunk of 2 to 1 halves what four NICs send through it", "[lab]") {
  if (lab_is_refused()) return;
  LabOptions options;
  options.fair = GENERATE(false, true);
  CAPTURE(options.fair);
  const Cluster cluster = lab_cluster({.fabric = {.nodes_per_leaf = 1, .oversubscription = 2}});
  require_rates(cluster, options,
                {{Rank(0), Rank(4)}, {Rank(1), Rank(5)}, {Rank(2), Rank(6)}, {Rank(3), Rank(7)}},
                std::vector<double>(4, kNic / 2), options.fair ? Rates::each : Rates::sum);
  // Both directions are links of their own.
  require_rates(cluster, options,
                {{Rank(0), Rank(4)}, {Rank(1), Rank(5)}, {Rank(6), Rank(2)}, {Rank(7), Rank(3)}},
                std::vector<double>(4, kNic), Rates::each);
}

TEST_CASE("lab: two ranks that share a NIC share its rate, both ways", "[lab]") {
  if (lab_is_refused()) return;
  LabOptions options;
  options.fair = GENERATE(false, true);
  CAPTURE(options.fair);
  const Rates compared = options.fair ? Rates::each : Rates::sum;
  const Cluster cluster = lab_cluster({.nics_per_node = 2});  // ranks 0 and 1, 2 and 3, …
  const std::vector<double> halves(2, kNic / 2);
  require_rates(cluster, options, {{Rank(0), Rank(4)}, {Rank(1), Rank(6)}}, halves, compared);
  require_rates(cluster, options, {{Rank(0), Rank(4)}, {Rank(2), Rank(5)}}, halves, compared);
}

TEST_CASE("lab: a slow PCIe path limits the NIC behind it", "[lab]") {
  if (lab_is_refused()) return;
  require_rates(lab_cluster({.pcie_bytes_per_s = 100 * kMbit}), {}, {{Rank(0), Rank(4)}},
                {kNic / 2}, Rates::each);
}

TEST_CASE("lab: open links are kept to their rates by token buckets", "[lab]") {
  if (lab_is_refused()) return;
  LabOptions options;
  options.shaping = LabShaping::user;
  const double rate = 100 * kMbit;
  const auto rates = rates_in_lab(lab_cluster(), options,
                                  {{Rank(0), Rank(4), false, rate, rate},
                                   {Rank(1), Rank(4), false, rate, rate},
                                   {Rank(1), Rank(5), false, rate, rate}},
                                  1);
  // Ports of 0, 1, 4 and 5: never above the rate. A bucket of a millisecond forgets what the
  // machine was too busy to use, so the other bound is wide.
  REQUIRE(rates.at(0) + rates.at(1) < rate * 1.02);
  REQUIRE(rates.at(1) + rates.at(2) < rate * 1.02);
  for (const double r : rates) REQUIRE(r > rate / 20);
}

TEST_CASE("lab: token buckets do not stand for a trunk", "[lab]") {
  if (lab_is_refused()) return;
  LabOptions options;
  options.shaping = LabShaping::user;
  const Cluster cluster = lab_cluster({.fabric = {.nodes_per_leaf = 1, .oversubscription = 2}});
  REQUIRE_THROWS_WITH(rates_in_lab(cluster, options, {}),
                      "lab: leaf 0 up is shared by ranks, and the transport can shape only a "
                      "rank's own links; this needs a kernel that shapes");
}

TEST_CASE("lab: it proves its own rates before anything is measured in it", "[lab]") {
  if (lab_is_refused()) return;
  // NVLink, and a NIC behind a trunk that has half its rate: two rates are proved.
  const Cluster cluster = lab_cluster({.fabric = {.nodes_per_leaf = 1, .oversubscription = 8}});
  REQUIRE(run_in_lab(cluster, {}, [](Lab&) { return std::string("proved"); }) == "proved");
}

TEST_CASE("lab: one that does not reach its rates is refused with the numbers", "[lab]") {
  if (lab_is_refused()) return;
  LabOptions options;
  options.queue_bytes = 20000;  // two packets: nothing gets through a burst of 64 KiB
  REQUIRE_THROWS_WITH(run_in_lab(lab_cluster(), options, [](Lab&) { return std::string(); }),
                      Catch::StartsWith("lab: one flow from rank 0 to rank 1 reached ") &&
                          Catch::Contains(" of payload where 1.8 Gbit/s were expected ("));
}

TEST_CASE("lab: a run is not graded when the machine was the limit", "[lab]") {
  // Two transfers of 125 MB one after the other, a second each: 1 Gbit/s.
  Moves moves;
  moves.moves.resize(2);
  for (Move& move : moves.moves) move.end = 125'000'000;
  moves.first_of_op = {0, 1, 2};
  Measurement measurement;
  measurement.iterations = {{.seconds = 2, .slowest = Rank(0), .wrong_bytes = 0}};
  measurement.timeline = {{0, 1}, {1, 2}};
  measurement.cpu_s = 3;
  REQUIRE(envelope_fault(measurement, moves, 2).empty());
  // 1.7 CPU seconds per second of the 1.6 that two cores may give.
  measurement.cpu_s = 3.4;
  REQUIRE(envelope_fault(measurement, moves, 2) ==
          "1.70 CPU seconds per second were used, more than 1.60 of 2 cores; scale the rates down "
          "or use a machine with more cores");
  REQUIRE(envelope_fault(measurement, moves, 4).empty());
  // 8 x 125 MB in the second second: its average over the run is 4.5 Gbit/s, but not then.
  moves.moves[1].end = 1'125'000'000;
  REQUIRE(envelope_fault(measurement, moves, 4) ==
          "9.0 Gbit/s were delivered at once, more than the 8 Gbit/s up to which a lab is exact; "
          "scale the rates down");
}

}  // namespace refit::test
