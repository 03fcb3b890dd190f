#include "sim/detail/solver.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
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
      finish(static_cast<TaskId>(reinterpret_cast<std::uintptr_t>(activity.get_data<void>())));
      start_ready_tasks();
    });
    for (TaskId task = 0; task < graph_.tasks(); ++task) {
      if (graph_.in_degree[task] == 0) ready_.push_back(task);
    }
    for (const LinkChange& change : graph_.changes)
      Timer::set(change.at_s, [this, &change] { make(change); });
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
    rates_.resize(links_.size(), nullptr);
    for (const PathLink& crossed : graph_.paths.links) {
      const std::size_t l = crossed.link.index();
      if (links_[l] != nullptr) continue;
      const double rate = graph_.paths.capacity_bytes_per_s[l] * kUnitsPerByte;
      rates_[l] = zone->create_link(fmt::format("link {}", l), rate);
      links_[l] = rates_[l]->get_impl();
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
        const double repeats = crossed.weight / path.unit;
        if (std::abs(repeats - std::round(repeats)) > kWeightTolerance * repeats ||
            repeats > kMostRepeats + 0.5) {
          throw Error(
              ErrorCode::bad_input,
              fmt::format("path {} (link {}): the native solver can't repeat a link {} times; "
                          "use the incremental solver",
                          id, crossed.link.value, repeats));
        }
        path.links.insert(path.links.end(), static_cast<std::size_t>(std::lround(repeats)),
                          links_[crossed.link.index()]);
      }
    }
  }

  void start(TaskId task) {
    timeline_[task].start_s = sg::Engine::get_clock();
    if (graph_.moves_bytes(task) && graph_.delay_s[task] > 0 && !graph_.changes.empty()) {
      // A comm that is suspended during its latency loses count of it.
      Timer::set(sg::Engine::get_clock() + graph_.delay_s[task],
                 [this, task] { start_comm(task, 0); });
    } else if (graph_.moves_bytes(task)) {
      start_comm(task, graph_.delay_s[task]);
    } else if (graph_.delay_s[task] > 0) {
      Timer::set(sg::Engine::get_clock() + graph_.delay_s[task], [this, task] {
        finish(task);
        start_ready_tasks();
      });
    } else {
      finish(task);
    }
  }

  void start_comm(TaskId task, double delay_s) {
    zone_->staged = &paths_[graph_.path[task]];
    zone_->staged_delay_s = std::max(delay_s, kNoLatencySeconds);
    const double units = graph_.bytes[task] * zone_->staged->unit * kUnitsPerByte;
    const sg::CommPtr comm = sg::Comm::sendto_init();
    comms_[task] = comm;  // the engine forgets a comm that nobody holds
    comm->set_data(reinterpret_cast<void*>(static_cast<std::uintptr_t>(task)));
    comm->set_payload_size(static_cast<std::uint64_t>(std::max(1.0, std::round(units))));
    comm->set_source(src_);
    comm->set_destination(dst_);  // starts it, and asks for the staged path
    if (graph_.changes.empty()) return;
    open_.insert(task);
    if (!can_move(task)) comm->suspend();
  }

  // A bandwidth of 0 drops the limit in SimGrid 3.32 instead of stopping flows, and a link that is
  // off ends them; suspended comms keep what they have and take no share.
  void make(const LinkChange& change) {
    const std::size_t l = change.link.index();
    failed_.resize(links_.size(), false);
    failed_[l] = change.capacity_bytes_per_s <= 0;
    if (!failed_[l] && links_[l] != nullptr)
      rates_[l]->set_bandwidth(change.capacity_bytes_per_s * kUnitsPerByte);
    for (const TaskId task : open_) {
      if (can_move(task)) {
        comms_[task]->resume();
      } else {
        comms_[task]->suspend();
      }
    }
  }

  bool can_move(TaskId task) const {
    if (failed_.empty()) return true;
    const auto links = graph_.paths.of(graph_.path[task]);
    return std::none_of(links.begin(), links.end(),
                        [&](const PathLink& crossed) { return failed_[crossed.link.index()]; });
  }

  void finish(TaskId task) {
    ++finished_;
    open_.erase(task);
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
  std::vector<StandardLinkImpl*> links_;
  std::vector<sg::Link*> rates_;  // the same
  std::vector<NativePath> paths_;
  std::set<TaskId> open_;     // comms under way, if links change
  std::vector<bool> failed_;  // by link; empty: none has changed yet
};

}  // namespace

Timeline run_native(const TaskGraph& graph) {
  raise_stack_limit();
  const auto engine = start_engine();
  NativeRun run(graph);
  return run.run(*engine);
}

}  // namespace refit::detail
