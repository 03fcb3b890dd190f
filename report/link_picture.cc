#include "report/link_picture.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"

namespace refit {
namespace {

double utilisation(const Link& link, double bytes, double seconds) {
  return seconds > 0 ? bytes / (link.bandwidth_bytes_per_s * seconds) : 0;
}

std::vector<LinkHistogram> histograms(const Cluster& cluster, const Prediction& prediction) {
  std::map<LinkKind, LinkHistogram> by_kind;
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    const Link& link = cluster.links()[l];
    LinkHistogram& histogram = by_kind[link.kind];
    histogram.kind = link.kind;
    histogram.links.resize(kUtilisationBins, 0);
    if (prediction.link_bytes[l] <= 0) {
      ++histogram.unused;
      continue;
    }
    const double bin = utilisation(link, prediction.link_bytes[l], prediction.makespan_s) *
                       static_cast<double>(kUtilisationBins);
    ++histogram.links[std::min(static_cast<std::size_t>(bin), kUtilisationBins - 1)];
  }
  std::vector<LinkHistogram> kinds;
  for (auto& [kind, histogram] : by_kind) kinds.push_back(std::move(histogram));
  return kinds;
}

std::vector<LinkLoad> hottest(const Cluster& cluster, const Prediction& prediction) {
  std::vector<LinkLoad> loads;
  for (std::size_t l = 0; l < cluster.links().size(); ++l) {
    const double bytes = prediction.link_bytes[l];
    if (bytes <= 0) continue;
    const Link& link = cluster.links()[l];
    loads.push_back({LinkId(static_cast<std::int64_t>(l)), link.name, link.kind, bytes,
                     utilisation(link, bytes, prediction.makespan_s)});
  }
  std::stable_sort(loads.begin(), loads.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.utilisation > b.utilisation;
  });
  if (loads.size() > kHottestLinks) loads.resize(kHottestLinks);
  return loads;
}

std::vector<RankPorts> ports(const Cluster& cluster, int ranks, const Prediction& prediction) {
  std::vector<int> sharers(cluster.links().size(), 0);
  for (int r = 0; r < cluster.gpus(); ++r) ++sharers[cluster.nic_out(Rank(r)).index()];
  const auto bytes = [&](std::optional<LinkId> link) {
    return link ? prediction.link_bytes[link->index()] : 0;
  };
  std::vector<RankPorts> result;
  for (int r = 0; r < ranks; ++r) {
    const Rank rank(r);
    const double share = 1.0 / sharers[cluster.nic_out(rank).index()];
    result.push_back({bytes(cluster.nvlink_in(rank)), bytes(cluster.nvlink_out(rank)),
                      share * bytes(cluster.nic_in(rank)), share * bytes(cluster.nic_out(rank))});
  }
  return result;
}

}  // namespace

LinkPicture link_picture(const Cluster& cluster, int ranks, const Prediction& prediction) {
  REFIT_CHECK(ranks <= cluster.gpus() && prediction.link_bytes.size() >= cluster.links().size());
  return {histograms(cluster, prediction), hottest(cluster, prediction),
          ports(cluster, ranks, prediction)};
}

}  // namespace refit
