#include "validation/measured_series.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "validation/m2n_bench.h"
#include "validation/nccl_tests_log.h"

namespace refit {
namespace {

// How the ranks of a job lie on such nodes.
struct Place {
  bool one_domain = false;
  double ranks_per_domain = 1;  // mean
  double gpu_nic_bytes_per_s = 0;
  double domain_nic_bytes_per_s = 0;  // of the ranks of one domain together
};

// `hosts` 0: as few as the nodes allow.
Place place_of(const std::string& file, int ranks, int hosts, const NodeGroupSpec& nodes) {
  if (hosts == 0) hosts = (ranks + nodes.gpus_per_node - 1) / nodes.gpus_per_node;
  if (ranks > hosts * nodes.gpus_per_node) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: {} ranks on {} hosts, but the cluster's nodes have {} GPUs; give "
                            "the cluster that the log is from with --cluster",
                            file, ranks, hosts, nodes.gpus_per_node));
  }
  const int node_ranks = (ranks + hosts - 1) / hosts;
  const int reach = std::max(1, nodes.nvlink_domain_gpus);
  // Domains of several nodes are filled before the next begins.
  const int hosts_of_domain = std::max(1, reach / nodes.gpus_per_node);
  const int domain_ranks = std::min({node_ranks * hosts_of_domain, reach, ranks});
  Place place;
  place.one_domain = domain_ranks == ranks;
  if (!place.one_domain && hosts == 1) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: {} ranks on one host without NVLink between all of them in this "
                            "cluster; the model has no constant for what joins them",
                            file, ranks));
  }
  const int domains = (ranks + domain_ranks - 1) / domain_ranks;
  place.ranks_per_domain = static_cast<double>(ranks) / domains;
  const double node_nics = nodes.nics_per_node * nodes.nic_bytes_per_s;
  place.gpu_nic_bytes_per_s = std::max(nodes.nic_bytes_per_s, node_nics / nodes.gpus_per_node);
  place.domain_nic_bytes_per_s =
      std::min(place.ranks_per_domain * place.gpu_nic_bytes_per_s,
               node_nics * std::max(1.0, place.ranks_per_domain / node_ranks));
  return place;
}

// Bytes of the busiest NIC at its rate, per byte of the message. A ring enters each domain once,
// through all of its NICs; a send leaves by its own; an alltoall's ranks all send at once.
double nic_seconds_per_byte(const NcclSweep& sweep, const Place& place) {
  switch (sweep.operation) {
    case NcclOperation::sendrecv:
      return 1 / place.gpu_nic_bytes_per_s;
    case NcclOperation::alltoall:
      return (sweep.ranks - place.ranks_per_domain) / sweep.ranks * place.ranks_per_domain /
             place.domain_nic_bytes_per_s;
    default:
      return bus_factor(sweep.operation, sweep.ranks) / place.domain_nic_bytes_per_s;
  }
}

std::string size_text(double bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1 << 20) return fmt::format("{:g} KiB", bytes / 1024);
  if (bytes < 1 << 30) return fmt::format("{:g} MiB", bytes / (1 << 20));
  return fmt::format("{:g} GiB", bytes / (1 << 30));
}

}  // namespace

std::string base_name(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  for (char& c : name)
    if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '?';
  return name;
}

MeasuredSeries series_of(const NcclSweep& sweep, const NodeGroupSpec& nodes) {
  const Place place = place_of(sweep.file, sweep.ranks, sweep.hosts, nodes);
  MeasuredSeries series;
  series.file = sweep.file;
  series.title = fmt::format("{}{}, {} ranks", to_string(sweep.operation),
                             sweep.told ? "" : " (by its columns)", sweep.ranks);
  series.title += sweep.hosts == 0   ? ", hosts not told: nodes taken as full"
                  : sweep.hosts == 1 ? " on 1 host"
                                     : fmt::format(" on {} hosts", sweep.hosts);
  series.link = place.one_domain ? LinkKind::nvlink : LinkKind::nic;
  series.is_sweep = true;
  const double nvlink_s_per_byte =
      bus_factor(sweep.operation, sweep.ranks) / nodes.nvlink_bytes_per_s;
  const double per_byte = place.one_domain ? nvlink_s_per_byte : nic_seconds_per_byte(sweep, place);
  // The ring of a wide domain has more NICs than one GPU's NVLink can feed.
  if (!place.one_domain && place.ranks_per_domain > 1 && nvlink_s_per_byte >= per_byte) {
    series.not_told =
        "NVLink inside the domains is slower than their NICs together, so the rate tells neither; "
        "time sendrecv or alltoall, or one GPU per domain";
  }
  for (const NcclSweep::Point& point : sweep.points) {
    series.points.push_back({size_text(point.bytes), point.bytes, point.seconds,
                             std::log2(sweep.ranks), point.bytes * per_byte});
  }
  return series;
}

MeasuredSeries series_of(const M2nBench& bench, const NodeGroupSpec& nodes) {
  const int ranks = bench.training_ranks + bench.generation_ranks;
  const Place place = place_of(bench.file, ranks, 0, nodes);
  MeasuredSeries series;
  series.file = bench.file;
  series.title =
      fmt::format("M2N reshard, {} to {} ranks", bench.training_ranks, bench.generation_ranks);
  series.link = place.one_domain ? LinkKind::nvlink : LinkKind::nic;
  // Each pair of stages has a communicator of its own; their calls run side by side.
  const int pairs = bench.training_stages * bench.generation_stages;
  const double members =
      std::max(2.0, static_cast<double>(bench.training_ranks) / bench.training_stages +
                        static_cast<double>(bench.generation_ranks) / bench.generation_stages);
  const double rate = place.one_domain ? nodes.nvlink_bytes_per_s : place.gpu_nic_bytes_per_s;
  for (const M2nBench::Pattern& pattern : bench.patterns) {
    series.points.push_back({pattern.name, pattern.sender_bytes, pattern.seconds,
                             std::ceil(pattern.transfers / pairs) * std::log2(members),
                             pattern.sender_bytes / rate});
  }
  return series;
}

}  // namespace refit
