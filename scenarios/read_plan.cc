#include <fmt/format.h>

#include "base/error.h"
#include "scenarios/detail/read.h"
#include "scenarios/plan_limits.h"

namespace refit::detail {
namespace {

// As many as a plan's file can number; beyond that a bucket is a slip of the pen.
constexpr std::int64_t kMostBuckets = 65'536;

Policy read_policy(const YamlNode& node) {
  node.allow_only({"rest", "embedding", "lm_head", "attention", "linear_attention", "router",
                   "routed_expert", "shared_expert", "dense_ffn", "latent_projection", "norm",
                   "unspecified"});
  Policy policy;
  policy.name = "policy";
  for (const auto& [key, value] : node.entries()) {
    const Strategy strategy =
        value.one_of<Strategy>({{"gather_broadcast", Strategy::gather_broadcast},
                                {"direct", Strategy::direct},
                                {"reshard", Strategy::reshard}});
    if (key == "rest") {
      policy.rest = strategy;
    } else {
      policy.roles[parse_role(key)] = strategy;
    }
  }
  return policy;
}

}  // namespace

PlanPart read_plan(const YamlNode& node) {
  node.allow_only({"chunks", "streams", "balance", "injected_domains", "bucket", "buffers",
                   "policy", "limits", "payload", "in_flight", "relay", "pauses", "describes"});
  PlanPart part;
  PlanOptions& plan = part.options;
  if (const auto v = node.find("chunks")) plan.chunks = static_cast<int>(v->integer(1, 4096));
  if (const auto v = node.find("streams")) plan.streams = static_cast<int>(v->integer(1, 64));
  if (const auto v = node.find("balance")) {
    plan.balance = v->one_of<ReplicaBalance>(
        {{"node_aware", ReplicaBalance::node_aware}, {"uniform", ReplicaBalance::uniform}});
  }
  if (const auto v = node.find("injected_domains")) {
    plan.injected_domains = static_cast<int>(v->integer(0, 1'000'000));
  }
  if (const auto v = node.find("bucket")) {
    plan.bucket_bytes = v->bytes();
    if (plan.bucket_bytes < 1) v->fail("a bucket holds at least 1 B");
  }
  if (const auto v = node.find("buffers")) plan.buffers = static_cast<int>(v->integer(1, 64));
  if (const auto v = node.find("payload")) {
    plan.payload_bytes = v->bytes();
    if (plan.payload_bytes < 1) v->fail("a payload holds at least 1 B");
  }
  if (const auto v = node.find("in_flight")) plan.in_flight = static_cast<int>(v->integer(1, 1024));
  if (const auto v = node.find("relay")) {
    plan.relay = v->one_of<Relay>(
        {{"fastest", Relay::fastest}, {"tree", Relay::tree}, {"ring", Relay::ring}});
  }
  if (const auto v = node.find("pauses")) plan.around.pauses = v->boolean();
  if (const auto v = node.find("describes")) plan.around.describes = v->boolean();
  if (const auto v = node.find("limits")) plan.limits = read_limits(*v);
  if (const auto v = node.find("policy")) part.policy = read_policy(*v);
  return part;
}

void check_buckets(const YamlNode& root, const PlanOptions& plan, const Refit& refit) {
  const std::int64_t bytes = refit.unique_bytes();
  if (bytes / plan.bucket_bytes < kMostBuckets) return;
  const std::string message =
      fmt::format("{} B of weights in buckets of {} B are more than {} buckets; use larger ones",
                  bytes, plan.bucket_bytes, kMostBuckets);
  const auto part = root.find("plan");
  const auto bucket = part ? part->find("bucket") : std::nullopt;
  (bucket ? *bucket : root).fail(message);
}

}  // namespace refit::detail
