#include "validation/measured_fit.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "sim/network_parameters.h"
#include "validation/m2n_bench.h"
#include "validation/nccl_tests_log.h"
#include "validation/network_model_yaml.h"

namespace refit {
namespace {

// Eight GPUs on NVLink of 500 GB/s, eight NICs of 50 GB/s.
NodeGroupSpec node() {
  NodeGroupSpec nodes;
  nodes.gpus_per_node = nodes.nvlink_domain_gpus = nodes.nics_per_node = 8;
  nodes.nvlink_bytes_per_s = 500e9;
  nodes.nic_bytes_per_s = 50e9;
  return nodes;
}

// Times as the model has them, but for the ramp, where NCCL takes half as long again.
NcclSweep sweep(NcclOperation operation, int ranks, int hosts, double call_s,
                double bytes_per_s_of_message) {
  NcclSweep result{"made.log", operation, true, ranks, hosts, {}};
  for (double bytes = 8; bytes <= 8.0 * (1 << 30); bytes *= 2) {
    const double wire_s = bytes / bytes_per_s_of_message;
    const double least_s = call_s * std::log2(ranks);
    const bool ramp = wire_s > 0.2 * least_s && wire_s < 8 * least_s;
    result.points.push_back({bytes, (least_s + wire_s) * (ramp ? 1.5 : 1)});
  }
  return result;
}

double value(const MeasuredFit& fit, std::string_view key) {
  for (const MeasuredConstant& constant : fit.constants)
    if (network_parameters()[constant.parameter].key == key) return constant.value;
  return 0;
}

TEST_CASE("the line through floor and plateau gives the constants that made the times",
          "[validation][calibrate]") {
  // 16 ranks on 2 hosts, all-reduce: 2 * 15/16 bytes through 8 NICs of 50 GB/s at 90 %:
  // 360 / 1.875 = 192 GB/s of message; a call of 20 us times log2(16).
  const auto series = series_of(sweep(NcclOperation::all_reduce, 16, 2, 20e-6, 192e9), node());
  CHECK(series.link == LinkKind::nic);
  const MeasuredFit fit = fit_measured({series}, wire_only());
  CHECK(value(fit, "nic_efficiency") == Approx(0.9).epsilon(0.02));
  CHECK(value(fit, "call") == Approx(20e-6).epsilon(0.05));
  CHECK(value(fit, "nvlink_efficiency") == 0);
  CHECK(fit.condition >= 1);
  CHECK(fit.condition < 3);  // each constant has points of its own
  int unused = 0;
  for (const MeasuredFit::Residual& residual : fit.residuals) unused += residual.used ? 0 : 1;
  CHECK(unused > 0);  // the ramp
}

TEST_CASE("one host measures NVLink, and so do several hosts of one domain",
          "[validation][calibrate]") {
  // broadcast: every byte once over NVLink; 400 of 500 GB/s.
  const auto one = series_of(sweep(NcclOperation::broadcast, 8, 1, 8e-6, 400e9), node());
  CHECK(one.link == LinkKind::nvlink);
  CHECK(value(fit_measured({one}, wire_only()), "nvlink_efficiency") == Approx(0.8).epsilon(0.02));
  NodeGroupSpec rack = node();
  rack.gpus_per_node = rack.nics_per_node = 4;
  rack.nvlink_domain_gpus = 72;
  CHECK(series_of(sweep(NcclOperation::broadcast, 16, 4, 8e-6, 400e9), rack).link ==
        LinkKind::nvlink);
  // Two racks of 72: a ring leaves each by 72 NICs of 50 GB/s, 3600 GB/s, but enters each GPU by
  // NVLink of 500 GB/s: who limits?
  const auto racks = series_of(sweep(NcclOperation::broadcast, 144, 36, 8e-6, 400e9), rack);
  CHECK(racks.link == LinkKind::nic);
  CHECK(racks.points.back().wire_s == Approx(racks.points.back().bytes / 3600e9));
  const MeasuredFit fit = fit_measured({racks}, wire_only());
  CHECK(value(fit, "call") == Approx(8e-6).epsilon(0.05));
  CHECK(value(fit, "nic_efficiency") == 0);
  REQUIRE(fit.notes.size() == 1);
  CHECK(fit.notes[0].find("the rate tells neither") != std::string::npos);
}

TEST_CASE("each operation's bytes through the NICs", "[validation][calibrate]") {
  const auto wire_s = [](NcclOperation operation) {
    const auto series = series_of(sweep(operation, 16, 2, 1e-6, 1e9), node());
    return series.points.back().wire_s / series.points.back().bytes;
  };
  CHECK(wire_s(NcclOperation::sendrecv) == Approx(1 / 50e9));  // its own NIC
  // Of 16 parts each rank sends 8 to the other host, by its own NIC.
  CHECK(wire_s(NcclOperation::alltoall) == Approx(0.5 / 50e9));
  CHECK(wire_s(NcclOperation::all_gather) == Approx(15.0 / 16 / 400e9));
}

TEST_CASE("one wild time does not move the constants", "[validation][calibrate]") {
  NcclSweep wild = sweep(NcclOperation::all_reduce, 16, 2, 20e-6, 192e9);
  wild.points[2].seconds *= 1.45;  // within the floor
  const MeasuredFit fit = fit_measured({series_of(wild, node())}, wire_only());
  CHECK(value(fit, "call") == Approx(20e-6).epsilon(0.05));
  CHECK(value(fit, "nic_efficiency") == Approx(0.9).epsilon(0.02));
}

TEST_CASE("a sweep of large messages tells no call, one of small ones no efficiency",
          "[validation][calibrate]") {
  const NcclSweep whole = sweep(NcclOperation::all_reduce, 16, 2, 20e-6, 192e9);
  NcclSweep large = whole, small = whole;
  large.points.erase(large.points.begin(), large.points.end() - 5);
  small.points.resize(5);
  const MeasuredFit of_large = fit_measured({series_of(large, node())}, wire_only());
  CHECK(value(of_large, "call") == 0);
  CHECK(value(of_large, "nic_efficiency") == Approx(0.9).epsilon(0.02));
  const MeasuredFit of_small = fit_measured({series_of(small, node())}, wire_only());
  CHECK(value(of_small, "call") == Approx(20e-6).epsilon(0.01));
  CHECK(value(of_small, "nic_efficiency") == 0);
  CHECK(value(fit_measured({series_of(large, node()), series_of(small, node())}, wire_only()),
              "nic_efficiency") == Approx(0.9).epsilon(0.02));
  NcclSweep alone = whole;
  alone.points = {whole.points.back()};
  CHECK_THROWS_WITH(fit_measured({series_of(alone, node())}, wire_only()),
                    Catch::Contains("tells no constant") && Catch::Contains("-b 8 -e 8G -f 2"));
}

TEST_CASE("a rate that collapses for large messages is said", "[validation][calibrate]") {
  NcclSweep collapsed = sweep(NcclOperation::all_reduce, 16, 2, 20e-6, 192e9);
  collapsed.points.back().seconds *= 10;
  const MeasuredFit fit = fit_measured({series_of(collapsed, node())}, wire_only());
  REQUIRE(fit.notes.size() == 1);
  CHECK(fit.notes[0].find("it falls to") != std::string::npos);
  CHECK(fit.notes[0].find("8 GiB") != std::string::npos);
  CHECK(value(fit, "nic_efficiency") == Approx(0.9).epsilon(0.02));
}

TEST_CASE("the model's file has the constants, their sources and the start's others",
          "[validation][calibrate]") {
  const auto series = series_of(sweep(NcclOperation::all_reduce, 16, 2, 20e-6, 192e9), node());
  const NetworkModel start = catalog_network_model("default");
  const MeasuredFit fit = fit_measured({series}, start);
  const std::string yaml = network_model_yaml(with_measured(start, fit, "ours: \"new\""), {"how"});
  const NetworkModel back = read_network_model(YamlNode::parse_text(yaml, "model.yaml"));
  CHECK(back.name == "ours: \"new\"");
  CHECK(back.call_s == Approx(20e-6).epsilon(0.05));
  CHECK(back.nic_efficiency == Approx(0.9).epsilon(0.02));
  CHECK(back.nvlink_efficiency == start.nvlink_efficiency);
  CHECK(back.land_bytes_per_s == start.land_bytes_per_s);
  REQUIRE(back.sources.size() == start.sources.size());
  CHECK(back.sources[0].parameter == "nic_efficiency");
  CHECK(back.sources[0].source.find("made.log; one sigma is a factor of 1.0") != std::string::npos);
  CHECK(back.sources[0].source.find("missing") == std::string::npos);
  CHECK(back.sources[1] == start.sources[1]);
  REQUIRE(back.uncertainty);
  CHECK(back.uncertainty->parameters == start.uncertainty->parameters);
  CHECK(back.uncertainty->covariance[0] < start.uncertainty->covariance[0]);
  CHECK(back.uncertainty->covariance[1] == 0);
  CHECK(back.uncertainty->model_error == start.uncertainty->model_error);
}

TEST_CASE("a constant that physics does not allow is flagged", "[validation][calibrate]") {
  // 600 of 500 GB/s on NVLink: more than all of it (sums made in the switch).
  const auto fast = series_of(sweep(NcclOperation::broadcast, 8, 1, 8e-6, 600e9), node());
  const MeasuredFit fit = fit_measured({fast}, wire_only());
  CHECK(measured_fit_text(fit).find("nvlink_efficiency 120") != std::string::npos);
  CHECK(measured_fit_text(fit).find("outside what physics allows: a term is missing") !=
        std::string::npos);
  const NetworkModel model = with_measured(wire_only(), fit, "ours");
  CHECK(model.nvlink_efficiency == 1);
  CHECK(network_model_yaml(model, {}).find("a term is missing") != std::string::npos);
}

TEST_CASE("M2N's patterns give a rate and a cost per call", "[validation][calibrate]") {
  // 4 trainers in one stage and 4 generators on nodes of 4: communicators of 8, log2 = 3.
  // 60 transfers of no bytes in 18 ms: 100 us each per log2. 5000 MB more at 40 GB/s: 131 ms more.
  const std::string log =
      "Parameter Pattern   Count   T_MB_min   T_MB_max   T_MB_avg   G_MB_min   G_MB_max   G_MB_avg"
      "    Lat_max     BW_min     BW_max\n"
      "------------------- ----- ---------- ----------\n"
      "model.layers.X.norm  60  0.0  0.0  0.0  0.0  0.0  0.0  18.000  0.00  0.00\n"
      "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P\n"
      "model.layers.X.up  60  5000.0  5000.0  5000.0  9000.0  9000.0  9000.0  149.072  1.00  9.00\n"
      "\n"
      "Trainer: TP=4, CP=1, EP=1, DP=1, PP=1\n"
      "Generator: TP=4, CP=1, EP=1, DP=1, PP=1\n"
      "--- Trainers only (4 ranks) ---\n"
      "--- Generators only (4 ranks) ---\n";
  const M2nBench bench = read_m2n_bench(log, "dir/m2n.log");
  REQUIRE(bench.patterns.size() == 2);
  CHECK(bench.training_ranks == 4);
  CHECK(bench.patterns[1].sender_bytes == 5000.0 * (1 << 20));
  NodeGroupSpec four = node();
  four.gpus_per_node = four.nvlink_domain_gpus = four.nics_per_node = 4;
  const MeasuredFit fit = fit_measured({series_of(bench, four)}, wire_only());
  CHECK(value(fit, "call") == Approx(100e-6).epsilon(1e-3));
  CHECK(value(fit, "nic_efficiency") == Approx(0.8).epsilon(1e-3));  // 40 of 50 GB/s

  // One pattern can't tell calls from bytes. wire_only has none: 5242.88 MB in 149.072 ms are
  // 35.17 of 50 GB/s.
  M2nBench one = bench;
  one.patterns.erase(one.patterns.begin());
  const MeasuredFit of_one = fit_measured({series_of(one, four)}, wire_only());
  CHECK(value(of_one, "call") == 0);
  CHECK(value(of_one, "nic_efficiency") == Approx(0.7034).epsilon(1e-3));
  CHECK(measured_fit_text(of_one).find("can't be told apart") != std::string::npos);
}

TEST_CASE("an M2N output that can't be used is refused with its line", "[validation][calibrate]") {
  const std::string head = "Parameter Pattern  Count\n";
  CHECK_THROWS_WITH(read_m2n_bench(head + "w 60 1 2\n", "m.log"),
                    "m.log:2: a row of 4 columns; expected 11, from the pattern to BW_max");
  CHECK_THROWS_WITH(read_m2n_bench(head + "w 60 1 2 1 1 1 1 soon 1 1\n", "m.log"),
                    "m.log:2: expected Lat_max in milliseconds, got 'soon'");
  CHECK_THROWS_WITH(read_m2n_bench(head + "w 60 1 2 1 1 1 1 5.0 1 1\n", "m.log"),
                    Catch::Contains("keep the whole output"));
  CHECK_THROWS_WITH(read_m2n_bench(head + "\n*** VALIDATION FAILED ***\n", "m.log"),
                    "m.log:3: the run's validation failed; its times mean nothing");
  CHECK_THROWS_WITH(read_m2n_bench(head, "m.log"),
                    "m.log: no row of a pattern below 'Parameter Pattern'");
}

}  // namespace
}  // namespace refit
