#include "executor/lab.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "executor/detail/lab_flow.h"
#include "executor/detail/lab_namespace.h"
#include "executor/detail/lab_plan.h"
#include "executor/detail/lab_process.h"
#include "executor/detail/lab_shaper.h"
#include "executor/detail/lab_tool.h"
#include "executor/detail/socket.h"
#include "topology/route.h"

namespace refit {
namespace {

using detail::NetNamespace;

constexpr double kTcpIpBytes = 52;     // IPv4 and TCP headers with timestamps
constexpr double kEthernetBytes = 14;  // as the shaper counts them
constexpr std::int64_t kWindowBytes =
    512 * 1024;  // a socket buffer of 256 KiB, as Linux doubles it
constexpr double kTolerance = 0.02;
constexpr double kAnswerSeconds = 0.1;  // an empty lab answers in less than a millisecond

LabOptions checked(LabOptions options, const Cluster& cluster) {
  if (options.mtu < 576 || options.mtu > 65000) {
    throw Error(ErrorCode::bad_input,
                fmt::format("lab: an MTU of {}; use 576 to 65000", options.mtu));
  }
  if (options.burst_bytes < options.mtu + 14) {
    throw Error(ErrorCode::bad_input,
                fmt::format("lab: a burst of {} bytes holds no packet; use 65536 or more",
                            options.burst_bytes));
  }
  if (options.queue_bytes <= 0)
    options.queue_bytes = std::max<std::int64_t>(4'000'000, cluster.ranks() * kWindowBytes);
  return options;
}

// What the kernel says when it is asked to shape as these options need it; empty if it does.
// Tried in a namespace that is thrown away.
std::string refusal_to_shape(const LabOptions& options) {
  const NetNamespace scratch = NetNamespace::create();
  detail::run_batch("ip", "link add one type veth peer name two\n", scratch, scratch);
  try {
    detail::run_batch("tc", detail::shaper_lines({"one", 1e6, {"ip dst 198.18.0.1/32"}}, options),
                      scratch, scratch);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Token buckets stand at the ranks, so they know no link between them.
void check_user_shaping(const Cluster& cluster, const std::string& refusal) {
  const std::string why = refusal.empty() ? "" : fmt::format(" ({})", refusal);
  const auto refuse = [&](const std::string& link) {
    throw Error(ErrorCode::environment,
                fmt::format("lab: {} is shared by ranks, and the transport can shape only a rank's "
                            "own links; this needs a kernel that shapes{}",
                            link, why));
  };
  std::set<LinkId> nics;
  for (int r = 0; r < cluster.ranks(); ++r) {
    if (const auto up = cluster.leaf_up(Rank(r))) refuse(cluster.link(*up).name);
    const LinkId nic = cluster.nic_out(Rank(r));
    if (!nics.insert(nic).second) refuse(cluster.link(nic).name);
  }
  if (!cluster.spec().wans.empty()) refuse("a wan link");
}

bool joined(const Cluster& cluster, Rank a, Rank b) {
  return cluster.site(a) == cluster.site(b) || cluster.wan(cluster.site(a), cluster.site(b));
}

}  // namespace

struct Lab::State {
  Cluster cluster;
  LabOptions options;
  std::string shaping_refusal = {};
  std::vector<NetNamespace> ranks = {};
  std::vector<NetNamespace> core = {};  // one: bridges and far ends
};

double lab_goodput(const LabOptions& options) {
  if (options.shaping == LabShaping::user) return 1;
  return (options.mtu - kTcpIpBytes) / (options.mtu + kEthernetBytes);
}

Lab::Lab(const Cluster& cluster, const LabOptions& given)
    : state_(new State{cluster, checked(given, cluster)}) {
  LabOptions& options = state_->options;
  const detail::LabPlan plan = detail::plan_lab(cluster, options);
  if (options.shaping != LabShaping::user) {
    state_->shaping_refusal = refusal_to_shape(options);
    const bool can = state_->shaping_refusal.empty();
    if (!can && options.shaping == LabShaping::kernel) {
      throw Error(ErrorCode::environment,
                  fmt::format("{}; this kernel cannot shape links", state_->shaping_refusal));
    }
    options.shaping = can ? LabShaping::kernel : LabShaping::user;
  }
  if (options.shaping == LabShaping::user) check_user_shaping(cluster, state_->shaping_refusal);

  const NetNamespace& core = state_->core.emplace_back(NetNamespace::create());
  detail::run_batch("ip", plan.switches, core, core);
  for (const std::string& links : plan.rank_links) {
    const NetNamespace& rank = state_->ranks.emplace_back(NetNamespace::create());
    detail::run_batch("ip", links, rank, core);
  }
  detail::run_batch("ip", plan.ports, core, core);
  if (options.shaping != LabShaping::kernel) return;
  detail::run_batch("tc", plan.core_shapers, core, core);
  for (std::size_t r = 0; r < plan.rank_shapers.size(); ++r)
    detail::run_batch("tc", plan.rank_shapers[r], state_->ranks[r], core);
}

Lab::~Lab() = default;

const LabOptions& Lab::options() const { return state_->options; }
const std::string& Lab::shaping_refusal() const { return state_->shaping_refusal; }

void Lab::enter(Rank rank) { state_->ranks.at(rank.index()).enter(); }

std::string Lab::address(Rank rank, bool by_nvlink) const {
  if (!by_nvlink) return detail::nic_address(rank);
  if (!state_->cluster.nvlink_out(rank)) return "127.0.0.1";
  return detail::nvlink_address(rank);
}

void Lab::darken(Rank rank, bool nvlink) {
  const std::string port = fmt::format("{}{}", nvlink ? 'v' : 'n', rank.value);
  const NetNamespace& core = state_->core.front();
  detail::run_batch("ip", fmt::format("link set {} down\n", port), core, core);
}

bool Lab::reaches(Rank rank, bool by_nvlink) const {
  return detail::answers(address(rank, by_nvlink), kAnswerSeconds);
}

void Lab::prove_rates() {
  const Cluster& cluster = state_->cluster;
  const bool by_transport = state_->options.shaping == LabShaping::user;
  const double goodput = lab_goodput(state_->options);
  // Of each kind of route and each rate, the first pair of ranks that has it.
  std::set<std::pair<RouteKind, double>> proved;
  for (int r = 0; r < cluster.ranks(); ++r) {
    for (int s = 0; s < cluster.ranks(); ++s) {
      if (r == s || !joined(cluster, Rank(r), Rank(s))) continue;
      const Route path = route(cluster, Rank(r), Rank(s));
      double rate = cluster.link(path.links.front()).bandwidth_bytes_per_s;
      for (const LinkId link : path.links)
        rate = std::min(rate, cluster.link(link).bandwidth_bytes_per_s);
      if (!proved.emplace(path.kind, rate).second) continue;

      const double expected = rate * goodput;
      const double bucket = by_transport ? rate : 0;
      const detail::LabFlow flow{Rank(r), Rank(s), path.kind == RouteKind::nvlink, bucket, bucket};
      // At least 20 of the kernel's 64 KiB packets, or their edges are the result.
      const double seconds = std::max(0.3, 20 * 65536.0 / rate);
      double measured = 0;
      // Somebody else's work on this machine may spoil one.
      for (int attempt = 0; attempt < 5; ++attempt) {
        measured = detail::flow_rates(*this, {&flow, 1}, seconds).front();
        if (std::abs(measured / expected - 1) <= kTolerance) break;
      }
      if (std::abs(measured / expected - 1) <= kTolerance) continue;
      throw Error(
          ErrorCode::environment,
          fmt::format("lab: one flow from rank {} to rank {} reached {} of payload where {} "
                      "were expected ({:.3f} x, tolerance {:.0f} %); is the machine busy, "
                      "or are the rates too high for it?",
                      r, s, format_bandwidth(measured), format_bandwidth(expected),
                      measured / expected, 100 * kTolerance));
    }
  }
}

std::string run_in_lab(const Cluster& cluster, const LabOptions& options,
                       const std::function<std::string(Lab&)>& work) {
  return detail::run_apart([&] {
    Lab lab(cluster, options);
    if (options.prove) lab.prove_rates();
    return work(lab);
  });
}

}  // namespace refit
