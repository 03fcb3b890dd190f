#include <catch2/catch.hpp>

#include "sim/predict.h"
#include "tests/sim/plans.h"

using namespace refit;
using namespace refit::test;

namespace {

constexpr double kNearly = 1e-9;

NetworkModel wires_and_latencies() {
  NetworkModel model = wire_only();
  model.latencies = true;
  return model;
}

// Ranks 0, 1 and 2 here, 3 and 4 there: NICs of 10 GB/s, a WAN of 5 GB/s and 10 ms of which a flow
// gets 2 GB/s. The store, rank 5, is here: 1 GB/s in all, 4 connections of 100 MB/s for parts of 8
// MB, 30 ms before each.
Cluster two_sites() {
  NodeGroupSpec here;
  here.name = "here";
  here.nodes = 3;
  here.gpus_per_node = here.nvlink_domain_gpus = here.nics_per_node = 1;
  here.nic_bytes_per_s = 10e9;
  NodeGroupSpec there = here;
  there.nodes = 2;
  there.site = 1;
  ClusterSpec spec{{here, there}, {{}, {}}, {"here", "there"}, {{0, 1, 5e9, 0.01, 2e9}}};
  spec.stores = {{"s3", 0, 1e9, 100e6, 4, 0.03, 8'000'000}};
  return Cluster(std::move(spec));
}

std::vector<double> ends(const PlanWriter& plan) {
  const auto solver = GENERATE(Solver::native, Solver::incremental);
  std::vector<double> ends;
  for (const Span& span :
       predict(plan.schedule(), two_sites(), {wires_and_latencies(), solver}).timeline)
    ends.push_back(span.end_s);
  return ends;
}

}  // namespace

TEST_CASE("per flow: one rank sends to another at the limit, however many transfers it makes",
          "[sim][wan]") {
  PlanWriter one(6);
  one.transfer(0, 3, 4e9);
  CHECK(ends(one)[0] == Approx(0.01 + 4.0 / 2).epsilon(kNearly));
  PlanWriter two(6);
  two.transfer(0, 3, 4e9);
  two.transfer(0, 3, 4e9);
  CHECK(ends(two)[1] == Approx(0.01 + 8.0 / 2).epsilon(kNearly));
}

TEST_CASE("per flow: several pairs of ranks are several flows, up to the link's bandwidth",
          "[sim][wan]") {
  PlanWriter plan(6);
  plan.transfer(0, 3, 4e9);
  plan.transfer(0, 4, 4e9);
  CHECK(ends(plan)[1] == Approx(0.01 + 4.0 / 2).epsilon(kNearly));  // 4 of 5 GB/s
  plan.transfer(1, 3, 4e9);
  CHECK(ends(plan)[2] == Approx(0.01 + 4.0 / (5.0 / 3)).epsilon(kNearly));  // a third each
}

TEST_CASE("per flow: a broadcast crosses with one flow", "[sim][wan]") {
  PlanWriter plan(6);
  plan.broadcast(0, plan.group({Rank(0), Rank(3), Rank(4)}), 4e9);
  CHECK(ends(plan)[0] == Approx(0.01 + 4.0 / 2).epsilon(kNearly));
}

TEST_CASE("store: each turn of a client's connections waits for a request", "[sim][store]") {
  PlanWriter large(6);
  large.transfer(0, 5, 64e6);  // 8 parts over 4 connections: 2 turns, at 400 MB/s
  CHECK(ends(large)[0] == Approx(2 * 0.03 + 0.16).epsilon(kNearly));
  PlanWriter small(6);
  small.transfer(0, 5, 16e6);  // 2 parts, 2 connections, 200 MB/s
  CHECK(ends(small)[0] == Approx(0.03 + 0.08).epsilon(kNearly));
  PlanWriter read(6);
  read.transfer(5, 0, 64e6);  // and a request of the manifest
  CHECK(ends(read)[0] == Approx(3 * 0.03 + 0.16).epsilon(kNearly));
}

TEST_CASE("store: a client's transfers share its connections, and clients the store's bandwidth",
          "[sim][store]") {
  PlanWriter small(6);
  small.transfer(0, 5, 16e6);
  small.transfer(0, 5, 16e6);  // 2 of the 4 connections each
  CHECK(ends(small)[1] == Approx(0.03 + 0.08).epsilon(kNearly));
  PlanWriter large(6);
  large.transfer(0, 5, 64e6);
  large.transfer(0, 5, 64e6);
  CHECK(ends(large)[1] == Approx(2 * 0.03 + 0.32).epsilon(kNearly));
  PlanWriter clients(6);
  for (const int rank : {0, 1, 2}) clients.transfer(rank, 5, 64e6);  // 1 of 1.2 GB/s
  CHECK(ends(clients)[2] == Approx(2 * 0.03 + 0.192).epsilon(kNearly));
  PlanWriter both(6);  // what goes in and what comes out do not meet
  for (const int rank : {0, 1}) both.transfer(rank, 5, 64e6);
  both.transfer(5, 2, 64e6);
  CHECK(ends(both)[1] == Approx(2 * 0.03 + 0.16).epsilon(kNearly));
  CHECK(ends(both)[2] == Approx(3 * 0.03 + 0.16).epsilon(kNearly));
}

TEST_CASE("store: wires alone have no requests", "[sim][store]") {
  PlanWriter plan(6);
  plan.transfer(0, 5, 64e6);
  CHECK(predict(plan.schedule(), two_sites()).makespan_s == Approx(0.16).epsilon(kNearly));
}
