#include <fmt/format.h>

#include "scenarios/detail/read.h"

namespace refit::detail {
namespace {

// "at: 40 ms" or "at: 50 %".
void read_time(const YamlNode& node, FaultSpec& fault) {
  const std::string text = node.text();
  if (!text.ends_with('%')) {
    fault.at_s = node.seconds();
    return;
  }
  fault.fraction = node.percent();
}

}  // namespace

FaultSpec read_fault(const YamlNode& node, const Cluster& cluster) {
  node.allow_only({"rank", "nic", "nvlink", "kind", "at", "policy", "detection", "rebuild"});
  FaultSpec fault;
  int places = 0;
  for (const auto& [key, place] : {std::pair{"rank", FaultPlace::rank},
                                   {"nic", FaultPlace::nic},
                                   {"nvlink", FaultPlace::nvlink}}) {
    const auto found = node.find(key);
    if (!found) continue;
    if (++places > 1) found->fail("a fault has one place; leave all but one out");
    fault.place = place;
    fault.rank = Rank(found->integer(0, cluster.gpus() - 1));
    if (place == FaultPlace::nvlink && !cluster.nvlink_out(fault.rank)) {
      found->fail(fmt::format("rank {} has no NVLink port", fault.rank.value));
    }
  }
  if (places == 0) {
    node.fail("say what is lost: rank: 3, nic: 3 or nvlink: 3 (the port of that rank)");
  }
  if (fault.place != FaultPlace::rank) fault.kind = FaultKind::dark;
  if (const auto kind = node.find("kind")) {
    fault.kind = kind->one_of<FaultKind>({{"killed", FaultKind::killed},
                                          {"stalled", FaultKind::stalled},
                                          {"dark", FaultKind::dark}});
    if (fault.place != FaultPlace::rank && fault.kind != FaultKind::dark) {
      kind->fail("a link can only go dark; leave this out, or write the rank");
    }
  }
  if (const auto at = node.find("at")) read_time(*at, fault);
  fault.detection_s = usual_detection_s(fault.kind);
  if (const auto detection = node.find("detection")) fault.detection_s = detection->seconds();
  if (const auto policy = node.find("policy")) {
    fault.policy = policy->one_of<FaultPolicy>({{"fail", FaultPolicy::fail},
                                                {"shrink", FaultPolicy::shrink},
                                                {"rebuild", FaultPolicy::rebuild}});
  }
  if (const auto rebuild = node.find("rebuild")) {
    if (fault.policy != FaultPolicy::rebuild) {
      rebuild->fail("only policy: rebuild makes connections anew");
    }
    fault.rebuild_s = rebuild->seconds();
  }
  return fault;
}

}  // namespace refit::detail
