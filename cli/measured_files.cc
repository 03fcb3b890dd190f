#include "cli/measured_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text_file.h"
#include "cli/runners.h"
#include "report/measurement_json.h"
#include "topology/cluster_yaml.h"
#include "validation/m2n_bench.h"
#include "validation/measured_kind.h"
#include "validation/nccl_tests_log.h"

namespace refit {
namespace {

NodeGroupSpec nodes_of(const std::string& cluster) {
  const std::vector<std::string> known = catalog_clusters();
  if (std::find(known.begin(), known.end(), cluster) != known.end())
    return catalog_cluster(cluster).group;
  if (!std::filesystem::exists(cluster)) {
    throw Error(ErrorCode::bad_input, fmt::format("--cluster: '{}' is neither a file nor one of {}",
                                                  cluster, fmt::join(known, ", ")));
  }
  const YamlNode root = YamlNode::parse_file(cluster);
  const YamlNode node = root.find("cluster").value_or(root);
  const ClusterSpec spec = read_cluster(node);
  if (spec.groups.size() > 1) {
    node.fail(
        "has several groups of nodes, and a log does not say on which it ran; leave the one that "
        "it ran on");
  }
  return spec.groups.front();
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::bad_input, fmt::format("{}: {}", path, why));
}

// A refit that was run, against its prediction on links at line rate.
MeasuredSeries series_of(const RunReport& report, const std::string& path) {
  const Measurement& measurement = report.measurement;
  if (measurement.transport == "inproc")
    refuse(path,
           "inproc moves bytes within one process and uses no link, so no constant can be "
           "fitted; run with --transport tcp or nccl on the machines");
  if (measurement.fault) refuse(path, "a rank was lost in this run, which took time of its own");
  if (measurement.wrong_bytes > 0)
    refuse(path, fmt::format("{} destination bytes are wrong, so its times mean nothing",
                             measurement.wrong_bytes));
  // Whether the links are the scenario's is for whoever gives us the file to know.
  if (!report.not_graded.empty() && report.not_graded != kLinksNotKnown)
    refuse(path, "is not graded: " + report.not_graded);
  if (!report.predicted_s || *report.predicted_s == 0)
    refuse(path, "has no prediction (predicted_s) to hold the times against");
  MeasuredSeries series;
  series.file = base_name(path);
  series.title = fmt::format("refit by {} over {}, {} ranks", report.strategy,
                             measurement.transport, measurement.ranks);
  for (const Iteration& iteration : measurement.iterations) {
    if (iteration.seconds == 0) refuse(path, "an iteration took no time; expected more than 0");
    series.points.push_back({fmt::format("iteration {}", series.points.size() + 1),
                             static_cast<double>(measurement.largest_rank_bytes), iteration.seconds,
                             0, *report.predicted_s * link_efficiency(measurement.transport)});
  }
  return series;
}

}  // namespace

MeasuredFiles read_measured_files(const std::vector<std::string>& paths,
                                  const std::optional<std::string>& cluster) {
  std::optional<NodeGroupSpec> known_nodes;
  if (cluster) known_nodes = nodes_of(*cluster);
  MeasuredFiles files;
  for (const std::string& path : paths) {
    const std::string text = read_text_file(path, kMostMeasuredBytes);
    const MeasuredKind kind = measured_kind(text, path);
    const auto nodes = [&]() -> const NodeGroupSpec& {
      if (!known_nodes)
        refuse(path,
               "an efficiency is a share of a link's line rate, which no log tells; name the "
               "machines with --cluster (refit clusters lists some)");
      return *known_nodes;
    };
    switch (kind) {
      case MeasuredKind::published_rows:
        files.published_rows = path;
        break;
      case MeasuredKind::nccl_tests_log:
        for (const NcclSweep& sweep : read_nccl_tests_log(text, path))
          files.series.push_back(series_of(sweep, nodes()));
        break;
      case MeasuredKind::m2n_bench:
        files.series.push_back(series_of(read_m2n_bench(text, path), nodes()));
        break;
      case MeasuredKind::refit_measurement:
        files.series.push_back(series_of(read_measurement(text, path), path));
        break;
    }
  }
  if (files.published_rows && paths.size() > 1) {
    refuse(*files.published_rows,
           "published refits are fitted on their own; fit them first, and give the result to "
           "--start");
  }
  return files;
}

}  // namespace refit
