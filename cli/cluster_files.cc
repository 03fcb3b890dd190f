#include "cli/cluster_files.h"

#include <algorithm>
#include <tuple>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "topology/cluster_yaml.h"

namespace refit {
namespace {

template <class Value>
std::optional<Value> parsed(const std::optional<std::string>& text, const char* option,
                            Value (*parse)(std::string_view)) {
  if (!text) return std::nullopt;
  try {
    return parse(*text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", option, error.what()));
  }
}

std::map<std::string, double> distances_of(const std::vector<std::string>& texts) {
  constexpr Distance kAll[] = {Distance::pix, Distance::pxb, Distance::phb, Distance::node,
                               Distance::sys};
  std::map<std::string, double> rates;
  for (const std::string& text : texts) {
    const std::size_t is = text.find('=');
    const std::string name = text.substr(0, is);
    const bool known = std::any_of(std::begin(kAll), std::end(kAll),
                                   [&](Distance distance) { return to_string(distance) == name; });
    if (is == std::string::npos || !known) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("--distance: expected PIX, PXB, PHB, NODE or SYS and a rate, as in "
                              "SYS=20GB/s, got '{}'",
                              text));
    }
    rates[name] = *parsed<double>(text.substr(is + 1), "--distance", parse_bandwidth);
  }
  return rates;
}

ClusterAnswers answers_of(const ClusterFileOptions& options) {
  ClusterAnswers answers;
  answers.nodes = options.nodes;
  answers.gpus_per_node = options.gpus_per_node;
  answers.nics_per_node = options.nics_per_node;
  answers.nvlink_domain_gpus = options.nvlink_domain_gpus;
  answers.nic_bytes_per_s = parsed(options.nic_bandwidth, "--nic-bandwidth", parse_bandwidth);
  answers.nvlink_bytes_per_s =
      parsed(options.nvlink_bandwidth, "--nvlink-bandwidth", parse_bandwidth);
  answers.pcie_bytes_per_s = parsed(options.pcie_bandwidth, "--pcie-bandwidth", parse_bandwidth);
  if (const auto bytes = parsed(options.gpu_memory, "--gpu-memory", parse_bytes))
    answers.gpu_memory_bytes = static_cast<double>(*bytes);
  answers.distance_bytes_per_s = distances_of(options.distances);
  if (options.catalog) {
    const std::vector<std::string> known = catalog_clusters();
    if (std::find(known.begin(), known.end(), *options.catalog) == known.end()) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("--like: no cluster '{}' in the catalog; use one of {}",
                              *options.catalog, fmt::join(known, ", ")));
    }
    answers.catalog = options.catalog;
  }
  return answers;
}

std::string missing_words(const ClusterFileOptions& options, const ImportedCluster& cluster) {
  std::string text = fmt::format("{}: not all is said; add", fmt::join(options.files, ", "));
  std::size_t width = 0;
  for (const MissingAnswer& missing : cluster.missing)
    width = std::max(width, missing.option.size());
  for (const MissingAnswer& missing : cluster.missing)
    text += fmt::format("\n  {:{}}  {}", missing.option, width, missing.why);
  if (!options.catalog)
    text += "\nor --like NAME for the numbers of a cluster of the catalog (refit clusters)";
  for (const std::string& fact : cluster.facts) text += "\nread: " + fact;
  for (const std::string& note : cluster.notes) text += "\nnote: " + note;
  return text;
}

}  // namespace

void add_cluster_answers(CLI::App& verb, ClusterFileOptions& options) {
  constexpr int kMost = 1'000'000;
  verb.add_option("--nodes", options.nodes, "Nodes like the one of the file")
      ->check(number_from(1, kMost));
  verb.add_option("--like", options.catalog,
                  "A cluster of the catalog, for what neither file nor option says");
  verb.add_option("--nic-bandwidth", options.nic_bandwidth, "Of one NIC, as in 400Gbit/s");
  verb.add_option("--nvlink-bandwidth", options.nvlink_bandwidth,
                  "Of one GPU, one direction, as in 450GB/s");
  verb.add_option("--nvlink-domain", options.nvlink_domain_gpus,
                  "GPUs that reach each other by NVLink; 1: none")
      ->check(number_from(1, kMost));
  verb.add_option("--distance", options.distances,
                  "SYS=20GB/s, may be repeated: between a GPU and a NIC so far apart");
  verb.add_option("--pcie-bandwidth", options.pcie_bandwidth,
                  "Between a GPU and its near NICs, if it limits");
  verb.add_option("--gpus-per-node", options.gpus_per_node)->check(number_from(1, 1024));
  verb.add_option("--nics-per-node", options.nics_per_node, "Spread evenly over the GPUs")
      ->check(number_from(1, 1024));
  verb.add_option("--gpu-memory", options.gpu_memory, "Of one GPU, as in 80GB");
}

void add_cluster_files(CLI::App& verb, ClusterFileOptions& options) {
  verb.add_option("--nccl-topo,--machines", options.files,
                  "Files about machines (as for refit import cluster) instead of the scenario's "
                  "cluster; options from --nodes to --gpu-memory belong to them")
      ->take_all();
  add_cluster_answers(verb, options);
}

void require_machines(const ClusterFileOptions& options) {
  if (!options.files.empty()) return;
  ClusterFileOptions none;
  const auto all = [](const ClusterFileOptions& o) {
    return std::tie(o.nodes, o.gpus_per_node, o.nics_per_node, o.nvlink_domain_gpus,
                    o.nic_bandwidth, o.nvlink_bandwidth, o.pcie_bandwidth, o.gpu_memory, o.catalog,
                    o.distances);
  };
  if (all(options) != all(none)) {
    throw Error(
        ErrorCode::bad_input,
        "options about machines (--nodes to --gpu-memory) complete the files of --nccl-topo; "
        "write a scenario's own cluster into it");
  }
}

ImportedCluster read_cluster_files(const ClusterFileOptions& options) {
  ClusterFiles files;
  for (const std::string& file : options.files) {
    add_cluster_file(read_file(file), file, files, options.keep_names ? Names::keep : Names::drop);
  }
  ImportedCluster cluster = import_cluster(files, answers_of(options));
  if (!cluster.missing.empty()) throw Error(ErrorCode::bad_input, missing_words(options, cluster));
  for (const std::string& note : cluster.notes) print_note(note);
  return cluster;
}

std::string with_cluster(const std::string& scenario, const std::string& name,
                         const ImportedCluster& cluster) {
  std::string result;
  bool inside = false, replaced = false;
  for (std::size_t at = 0; at < scenario.size();) {
    const std::size_t end = std::min(scenario.find('\n', at), scenario.size());
    const std::string line = scenario.substr(at, end - at);
    at = end + 1;
    const bool opens = line.starts_with("cluster:");
    // What belongs to a key of the left margin is indented, a blank line, or a list's item.
    if (!line.empty() && line[0] != ' ' && line[0] != '-' && line[0] != '\r') inside = opens;
    if (opens) {
      result += cluster_text(cluster);
      replaced = true;
    }
    if (!inside) result += line + "\n";
  }
  if (!replaced) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: no line begins with 'cluster:', so it can't be replaced by the "
                            "machines of {}",
                            name, "--nccl-topo"));
  }
  return result;
}

}  // namespace refit
