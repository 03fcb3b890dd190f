#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

constexpr double kMostSlow = 1000;

const std::vector<LinkKind>& kinds_of(const YamlNode& node) {
  static const std::vector<LinkKind> nic{LinkKind::nic}, nvlink{LinkKind::nvlink},
      pcie{LinkKind::pcie}, fabric{LinkKind::fabric}, wan{LinkKind::wan};
  return *node.one_of<const std::vector<LinkKind>*>(
      {{"nic", &nic}, {"nvlink", &nvlink}, {"pcie", &pcie}, {"fabric", &fabric}, {"wan", &wan}});
}

// "30 %" of the bandwidth, or "10 GB/s" of it.
void read_used(const YamlNode& node, LinkUse& use) {
  if (!node.text().ends_with('%')) {
    use.bytes_per_s = node.bandwidth();
    return;
  }
  use.share = node.percent();
  if (use.share >= 1) node.fail("others can't take all of it; write less than 100 %");
}

}  // namespace

Cluster read_background(const YamlNode& node, Cluster cluster) {
  for (const YamlNode& item : node.items()) {
    item.allow_only({"links", "ranks", "used"});
    LinkUse use;
    use.kinds = kinds_of(item.at("links"));
    if (const auto ranks = item.find("ranks")) use.ranks = read_ranks(*ranks, cluster.gpus());
    read_used(item.at("used"), use);
    try {
      cluster = cluster.beside(use);
    } catch (const Error& error) {
      item.fail(error.what());
    }
  }
  return cluster;
}

Cluster read_stragglers(const YamlNode& node, Cluster cluster) {
  for (const YamlNode& item : node.items()) {
    item.allow_only({"ranks", "slower"});
    const YamlNode slower = item.at("slower");
    const double times = slower.number();
    if (!(times >= 1 && times <= kMostSlow)) {
      slower.fail(
          fmt::format("expected how many times as long their software takes, from 1 to {}, "
                      "got '{}'",
                      kMostSlow, slower.text()));
    }
    cluster = cluster.slowed(read_ranks(item.at("ranks"), cluster.gpus()), times);
  }
  return cluster;
}

}  // namespace refit::detail
