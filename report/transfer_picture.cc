#include "report/transfer_picture.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.h"

namespace refit {
namespace {

using Sums = std::map<std::pair<int, int>, double>;

TransferPairs largest(const Sums& sums, std::size_t most) {
  TransferPairs result;
  for (const auto& [pair, bytes] : sums) result.pairs.push_back({pair.first, pair.second, bytes});
  std::stable_sort(
      result.pairs.begin(), result.pairs.end(),
      [](const TransferPairs::Pair& a, const TransferPairs::Pair& b) { return a.bytes > b.bytes; });
  if (result.pairs.size() <= most) return result;
  result.left_out = result.pairs.size() - most;
  for (std::size_t i = most; i < result.pairs.size(); ++i)
    result.left_out_bytes += result.pairs[i].bytes;
  result.pairs.resize(most);
  return result;
}

}  // namespace

TransferPicture transfer_picture(const Schedule& schedule, const Cluster& cluster,
                                 const std::vector<double>& domain_bytes) {
  const auto count = static_cast<std::size_t>(cluster.domains());
  REFIT_CHECK(domain_bytes.size() == count * count);
  TransferPicture picture;
  picture.domains_per_group = (cluster.domains() + kMostGroups - 1) / kMostGroups;
  Sums groups, domains, ranks;
  for (std::size_t i = 0; i < domain_bytes.size(); ++i) {
    const int from = static_cast<int>(i / count);
    const int to = static_cast<int>(i % count);
    if (from == to) {
      picture.inside.push_back(domain_bytes[i]);
    } else if (domain_bytes[i] > 0) {
      domains[{from, to}] = domain_bytes[i];
      groups[{from / picture.domains_per_group, to / picture.domains_per_group}] += domain_bytes[i];
    }
  }
  for (const Op& op : schedule.ops) {
    if (op.kind == OpKind::transfer && op.src != op.dst)
      ranks[{op.src.value, op.dst.value}] += static_cast<double>(op.bytes);
  }
  picture.groups = largest(groups, groups.size());
  picture.domains = largest(domains, kMostDomainPairs);
  picture.ranks = largest(ranks, kMostRankPairs);
  return picture;
}

}  // namespace refit
