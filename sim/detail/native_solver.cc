#include "sim/detail/solver.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>

#include "base/check.h"
#include "base/error.h"
#include "sim/detail/engine.h"

namespace refit::detail {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::resource::StandardLinkImpl;
using simgrid::kernel::timer::Timer;

constexpr double kMostRepeats = 64;  // of one link in one path
constexpr double kWeightTolerance = 1e-9;
// Comms count whole bytes. In finer units the rounding of a fractional share is out of sight.
constexpr double kUnitsPerByte = 65536;
// SimGrid skips the sharing weight of a comm without latency, so such comms get one too short to
// see.
constexpr double kNoLatencySeconds = 1e-15;
// Of its rate: what a failed link has left, and after how long nothing can end over it any more but
// by that.
constexpr double kOfFailed = 1e-18;
constexpr double kSoonSeconds = 1e-6;
constexpr double kNever = std::numeric_limits<double>::infinity();

// A path as SimGrid can have it: a link of weight k stands in the list k times.
struct NativePath {
  std::vector<StandardLinkImpl*> links;
  double unit = 1;  // what one appearance weighs
};

// The one zone of the platform, which holds no route: the solver stages a path, and the comm that
// it starts next asks for it.
class StagedZone : public simgrid::kernel::routing::NetZoneImpl {
 public:
  StagedZone() : NetZoneImpl("cluster") {}

  void get_local_route(const simgrid::kernel::routing::NetPoint* /*src*/,
                       const simgrid::kernel::routing::NetPoint* /*dst*/,
                       simgrid::kernel::routing::Route* into, double* latency) override {
    into->link_list_ = staged->links;
    if (latency != nullptr) *latency += 1 / staged->unit;
  }

  const NativePath* staged = nullptr;
  double staged_delay_s = 0;
};

// The engine walks coupled flows recursively, some 100 bytes of stack per link.
void raise_stack_limit() {
  constexpr rlim_t kWanted = 512UL << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kWanted) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? kWanted : std::min(kWanted, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);  // refused: small cases still run
}

// CM02 gives each flow a rate in inverse proportion to the latency of its route. Here every path
// has a latency of 1/unit, which makes rates equal per byte of the whole flow, and a factor takes
// the latency to the true delay (docs/network_model.md#native).
class NativeRun {
 public:
  explicit NativeRun(const TaskGraph& graph)
      : graph_(graph),
        timeline_(graph.tasks(), {kNever, kNever}),
        waits_for_(graph.in_degree),
        comms_(graph.tasks()) {
    build_platform();
    build_paths();
  }

  Timeline run(sg::Engine& engine) {
    zone_->get_iface()->get_network_model()->set_lat_factor_cb(
        [this](double latency, const sg::Host*, const sg::Host*, const std::vector<sg::Link*>&,
               const std::unordered_set<sg::NetZone*>&) {
          (void)latency;
          return zone_->staged_delay_s * zone_->staged->unit;
        });
    sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
      const auto task =
          static_cast<TaskId>(reinterpret_cast<std::uintptr_t>(activity.get_data<void>()));
      if (stands_still(task)) return;
      finish(task);
      start_ready_tasks();
    });
    for (TaskId task = 0; task < graph_.tasks(); ++task) {
      if (graph_.in_degree[task] == 0) ready_.push_back(task);
    }
    // What ends at that instant ends first, even after a hundred such latencies in a row.
    for (const LinkChange& change : graph_.changes) {
      Timer::set(change.at_s + 100 * kNoLatencySeconds, [this, &change] { make(change); });
    }
    start_ready_tasks();
    engine.run();
    REFIT_CHECK(finished_ == graph_.tasks() || !graph_.changes.empty());
    return std::move(timeline_);
  }

 private:
  void build_platform() {
    zone_ = new StagedZone;  // the engine owns it: the first zone becomes its root
    sg::NetZone* zone = zone_->get_iface();
    src_ = zone->create_host("src", 1.0);
    dst_ = zone->create_host("dst", 1.0);
    links_.resize(graph_.paths.capacity_bytes_per_s.size(), nullptr);
    failed_s_.resize(links_.size(), kNever);
    for (const PathLink& crossed : graph_.paths.links) {
      const std::size_t l = crossed.link.index();
      if (links_[l] != nullptr) continue;
      const double rate = graph_.paths.capacity_bytes_per_s[l] * kUnitsPerByte;
      links_[l] = zone->create_link(std::to_string(l), rate);
    }
    zone->seal();
  }

  void build_paths() {
    paths_.resize(graph_.paths.size());
    for (PathId id = 0; id < graph_.paths.size(); ++id) {
      const auto links = graph_.paths.of(id);
      if (links.empty()) continue;
      NativePath& path = paths_[id];
      path.unit = std::min_element(links.begin(), links.end(), [](const auto& a, const auto& b) {
                    return a.weight < b.weight;
                  })->weight;
      for (const PathLink& crossed : links) {
        const std::optional<std::size_t> repeats = native_repeats(crossed.weight, path.unit);
        if (!repeats) {
          throw Error(
              ErrorCode::bad_input,
              fmt::format("path {} (link {}): the native solver can't repeat a link {} times; "
                          "use the incremental solver",
                          id, crossed.link.value, crossed.weight / path.unit));
        }
        path.links.insert(path.links.end(), *repeats, links_[crossed.link.index()]->get_impl());
      }
    }
  }

  void start(TaskId task) {
    timeline_[task].start_s = sg::Engine::get_clock();
    if (graph_.moves_bytes(task)) {
      start_comm(task);
    } else if (graph_.delay_s[task] > 0) {
      Timer::set(sg::Engine::get_clock() + graph_.delay_s[task], [this, task] {
        finish(task);
        start_ready_tasks();
      });
    } else {
      finish(task);
    }
  }

  void start_comm(TaskId task) {
    zone_->staged = &paths_[graph_.path[task]];
    zone_->staged_delay_s = std::max(graph_.delay_s[task], kNoLatencySeconds);
    const double units = graph_.bytes[task] * zone_->staged->unit * kUnitsPerByte;
    const sg::CommPtr comm = sg::Comm::sendto_init();
    comms_[task] = comm;  // the engine forgets a comm that nobody holds
    comm->set_data(reinterpret_cast<void*>(static_cast<std::uintptr_t>(task)));
    comm->set_payload_size(static_cast<std::uint64_t>(std::max(1.0, std::round(units))));
    comm->set_source(src_);
    comm->set_destination(dst_);  // starts it, and asks for the staged path
  }

  // A bandwidth of 0 drops the limit in SimGrid 3.32 instead of stopping flows, a link that is off
  // ends them, and a comm can be suspended only once. So a failed link keeps next to nothing.
  void make(const LinkChange& change) {
    const std::size_t l = change.link.index();
    if (links_[l] == nullptr) return;  // nobody crosses it
    const bool fails = change.capacity_bytes_per_s <= 0;
    failed_s_[l] = fails ? sg::Engine::get_clock() : kNever;
    const double rate =
        fails ? kOfFailed * graph_.paths.capacity_bytes_per_s[l] : change.capacity_bytes_per_s;
    links_[l]->set_bandwidth(rate * kUnitsPerByte);
  }

  // Whether the engine let it end, ages later, over a link that has failed for good.
  bool stands_still(TaskId task) const {
    const auto links = graph_.paths.of(graph_.path[task]);
    return std::any_of(links.begin(), links.end(), [&](const PathLink& crossed) {
      return sg::Engine::get_clock() > failed_s_[crossed.link.index()] + kSoonSeconds;
    });
  }

  void finish(TaskId task) {
    ++finished_;
    timeline_[task].end_s = sg::Engine::get_clock();
    for (const TaskId next : graph_.successors_of(task)) {
      if (--waits_for_[next] == 0) ready_.push_back(next);
    }
  }

  void start_ready_tasks() {
    for (std::size_t i = 0; i < ready_.size(); ++i) start(ready_[i]);
    ready_.clear();
  }

  const TaskGraph& graph_;
  Timeline timeline_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<sg::CommPtr> comms_;
  std::vector<TaskId> ready_;
  std::size_t finished_ = 0;
  StagedZone* zone_ = nullptr;
  sg::Host* src_ = nullptr;
  sg::Host* dst_ = nullptr;
  std::vector<sg::Link*> links_;
  std::vector<NativePath> paths_;
  std::vector<double> failed_s_;  // by link: since when, or never
};

}  // namespace

std::optional<std::size_t> native_repeats(double weight, double least_weight) {
  const double repeats = std::round(weight / least_weight);
  const double off = std::abs(weight / least_weight - repeats);
  if (off > kWeightTolerance * repeats || repeats > kMostRepeats) return std::nullopt;
  return static_cast<std::size_t>(repeats);
}

Timeline run_native(const TaskGraph& graph) {
  raise_stack_limit();
  const auto engine = start_engine();
  NativeRun run(graph);
  return run.run(*engine);
}

}  // namespace refit::detail
