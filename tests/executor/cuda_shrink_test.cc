// What survivors of a lost rank do with their communicators.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "executor/cuda/device_memory.h"
#include "executor/cuda/nccl_wire.h"
#include "tests/executor/cuda_place.h"
#include "tests/executor/loss_case.h"
#include "tests/executor/nccl_threads.h"

namespace refit::test {
namespace {

constexpr int kRanks = 4;
constexpr int kLanes = 2;
constexpr std::int64_t kBytes = 1000;
const std::vector<Rank> kAll{Rank(0), Rank(1), Rank(2), Rank(3)};
const std::vector<Rank> kSurvivors{Rank(0), Rank(1), Rank(3)};
const std::vector<Rank> kLost{Rank(2)};

// What a rank sends: only it and the lane decide the content.
struct Bytes {
  Bytes(DeviceMemory& device, int of_rank, int lane)
      : device_(device),
        sides_{Interval{0, kBytes}},
        content_{static_cast<std::uint64_t>(10 * of_rank + lane), 0, 1, sides_, shape_},
        buffer_(device, kBytes) {}
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  void fill() { device_.fill(buffer_.data(), content_); }
  void poison() { device_.poison(buffer_.data(), kBytes); }
  std::int64_t wrong() { return device_.check(buffer_.data(), content_).count; }
  WirePart part(Rank peer) { return {peer, buffer_.data(), kBytes}; }

 private:
  DeviceMemory& device_;
  std::vector<IntervalSet> sides_;
  std::vector<std::int64_t> shape_{kBytes};
  ShardContent content_;
  SpaceBuffer buffer_;
};

// Every member sends to the next, on every lane. Returns wrong bytes.
std::int64_t pass_round(NcclWire& wire, Rank self) {
  const auto& members = wire.members();
  const auto at = static_cast<std::size_t>(std::ranges::find(members, self) - members.begin());
  const Rank next = members[(at + 1) % members.size()];
  const Rank before = members[(at + members.size() - 1) % members.size()];
  DeviceMemory device;
  Stream stream;
  std::int64_t wrong = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    Bytes out(device, self.value, lane), in(device, before.value, lane);
    out.fill();
    in.poison();
    const WirePart to = out.part(next), from = in.part(before);
    wire.exchange(lane, {&to, 1}, {&from, 1}, stream.get());
    stream.synchronize();
    wrong += in.wrong();
  }
  return wrong;
}

std::string shared_id(RankControl& control, Rank maker) {
  return control.all_gather(control.rank() == maker ? NcclWire::make_id() : std::string())
      .at(maker.index());
}

bool all_say(RankControl& control, bool yes) {
  return control.sum(yes ? 1 : 0) == static_cast<double>(kSurvivors.size());
}

enum class Way { revoke_and_shrink, shrink, rebuild };

// Whether this version of NCCL knows it.
constexpr bool is_known(Way way) {
  if (way == Way::revoke_and_shrink) return NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7);
  return way == Way::rebuild || NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 3);
}

// Rank 2 leaves (or, if `way` is shrink, falls silent) while the others wait for its bytes; they go
// on without it.
void lose_rank_two(RankControl& control, Way way) {
  const Rank self = control.rank();
  cuda_check(cudaSetDevice(self.value), "cudaSetDevice");
  NcclWire wire(self, kAll, kLanes, shared_id(control, Rank(0)));
  std::int64_t wrong = pass_round(wire, self);
  control.barrier();

  DeviceMemory device;
  Stream stream;
  Bytes in(device, 2, 0);
  const bool survives = self != Rank(2);
  if (survives) {
    const WirePart from = in.part(Rank(2));
    wire.exchange(0, {}, {&from, 1}, stream.get());
  }
  control.barrier();
  if (!survives && way != Way::shrink) wire.abort("rank 2 leaves");
  if (survives && way == Way::revoke_and_shrink) {
    wire.revoke();
    stream.synchronize();  // nothing runs any more
  }
  const bool all_can = all_say(control, survives && way != Way::rebuild && wire.can_shrink());
  const std::string id = shared_id(control, Rank(1));
  if (!survives) return control.barrier(), void();

  if (all_can != (way != Way::rebuild)) throw Error(ErrorCode::check_failed, "who can shrink?");
  all_can ? wire.shrink(kLost, kLanes) : wire.rebuild(kSurvivors, kLanes, id);
  stream.synchronize();
  if (wire.members() != kSurvivors || wire.is_broken()) wrong += 1000000;
  wrong += pass_round(wire, self);
  const WirePart to_lost = in.part(Rank(2));
  try {
    wire.exchange(0, {&to_lost, 1}, {}, stream.get());
    wrong += 1000000;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) throw;
  }
  control.barrier();
  if (wrong != 0) throw Error(ErrorCode::check_failed, fmt::format("{} wrong bytes", wrong));
}

}  // namespace

TEST_CASE("nccl: survivors go on in smaller communicators, by their old rank numbers",
          REFIT_PLACE) {
  if (count_gpus() < kRanks) {
    WARN("NCCL not run: it needs " << kRanks << " GPUs");
    return;
  }
  const Way way = GENERATE(Way::revoke_and_shrink, Way::shrink, Way::rebuild);
  CAPTURE(static_cast<int>(way));
  if (!is_known(way)) return;
  const ThreadedOutcome outcome =
      run_rank_threads(kRanks, [&](RankControl& control) { lose_rank_two(control, way); });
  CAPTURE(outcome.errors);
  REQUIRE_FALSE(outcome.failure);
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("nccl: survivors of a whole run complete its refit, whichever way their communicators go",
          REFIT_PLACE) {
  const TcpCase c = two_by_two(2);
  if (count_gpus() < c.schedule.ranks) {
    WARN("NCCL not run: it needs " << c.schedule.ranks << " GPUs");
    return;
  }
  std::atomic<std::int64_t> first_bytes{0}, recovery_bytes{0};
  std::vector<int> plans(static_cast<std::size_t>(c.schedule.ranks), 0);  // made, by rank
  CudaOptions options;
  options.run = once();
  options.policy = GENERATE(FaultPolicy::shrink, FaultPolicy::rebuild);
  CAPTURE(to_string(options.policy));
  options.wrap = [&](Rank rank, std::unique_ptr<Transport> real) {
    const bool first = plans[rank.index()]++ == 0;
    return std::make_unique<Counting>(std::move(real), first ? first_bytes : recovery_bytes,
                                      first && rank == Rank(1) ? 8 : kForever, [] {
                                        throw Error(ErrorCode::environment, "rank 1 is pulled out");
                                      });
  };
  const Measurement m = run_nccl_threads(c.schedule, c.refit, c.cluster, options);
  REQUIRE(m.wrong_bytes == 0);
  REQUIRE(m.fault);
  REQUIRE(m.fault->lost == Rank(1));
  REQUIRE(m.fault->reason == "rank 1 is pulled out");
  REQUIRE(m.fault->recovered_bytes == recovery_bytes);
  if (options.policy == FaultPolicy::shrink)
    REQUIRE(first_bytes + recovery_bytes <= 4 * kShardBytes);
  else
    REQUIRE(recovery_bytes == 4 * kShardBytes);
  REFIT_REQUIRE_CLEAN();
}

#if !defined(REFIT_ON_GPU) && NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)

namespace {

// Rank 2 sends to all others: connections are made when they are first used.
void talk_with_two(NcclWire& wire, Rank self) {
  DeviceMemory device;
  Stream stream;
  Bytes bytes(device, 2, 0);
  std::vector<WirePart> sends, receives;
  if (self != Rank(2)) receives.push_back(bytes.part(Rank(2)));
  if (self == Rank(2)) {
    bytes.fill();
    for (const Rank rank : kSurvivors) sends.push_back(bytes.part(rank));
  }
  wire.exchange(0, sends, receives, stream.get());
  stream.synchronize();
}

}  // namespace

TEST_CASE("nccl: a communicator that has met an error shrinks only after it was revoked",
          "[cuda]") {
  const bool revoke = GENERATE(false, true);
  CAPTURE(revoke);
  std::vector<int> can(kRanks, -1);
  const ThreadedOutcome outcome = run_rank_threads(kRanks, [&](RankControl& control) {
    const Rank self = control.rank();
    cuda_check(cudaSetDevice(self.value), "cudaSetDevice");
    NcclWire wire(self, kAll, 1, shared_id(control, Rank(0)));
    talk_with_two(wire, self);
    control.barrier();
    if (self == Rank(2)) {
      wire.abort("rank 2 leaves");
      control.barrier();
      return control.barrier(), void();
    }
    control.barrier();
    DeviceMemory device;
    Stream stream;
    Bytes bytes(device, 2, 0);
    bytes.fill();
    const WirePart part = bytes.part(Rank(2));
    const auto exchange_and_look = [&] {
      wire.exchange(0, {}, {&part, 1}, stream.get());
      stream.synchronize();
      wire.check();
    };
    try {
      exchange_and_look();
    } catch (const Error&) {
    }
    if (!wire.is_broken()) throw Error(ErrorCode::check_failed, "the error is not noticed");
    if (revoke) wire.revoke();
    can[self.index()] = wire.can_shrink() ? 1 : 0;
    control.barrier();
    if (!revoke) {
      bool refused = false;
      try {
        wire.shrink(kLost, 1);
      } catch (const Error&) {
        refused = true;
      }
      if (!refused) throw Error(ErrorCode::check_failed, "it shrank all the same");
    }
    wire.abort("the test is over");
  });
  CAPTURE(outcome.errors);
  REQUIRE_FALSE(outcome.failure);
  for (const Rank rank : kSurvivors) REQUIRE(can[rank.index()] == (revoke ? 1 : 0));
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("nccl: a second loss ends a shrink that waits for it", "[cuda]") {
  const ThreadedOutcome outcome = run_rank_threads(kRanks, [&](RankControl& control) {
    const Rank self = control.rank();
    cuda_check(cudaSetDevice(self.value), "cudaSetDevice");
    NcclWire wire(self, kAll, 1, shared_id(control, Rank(0)), {60, [&] {
                                                                 control.turned();
                                                                 control.check();
                                                               }});
    control.barrier();
    if (self == Rank(2)) return control.barrier(), void();
    wire.revoke();
    control.barrier();
    if (self == Rank(3)) throw Error(ErrorCode::environment, "rank 3 goes, too");
    wire.shrink(kLost, 1);
  });
  CAPTURE(outcome.errors);
  REQUIRE(outcome.failure);
  REQUIRE(outcome.failure->rank == Rank(3));
  for (const Rank rank : {Rank(0), Rank(1)})
    REQUIRE_THAT(outcome.errors[rank.index()], Catch::EndsWith("rank 3 goes, too"));
  REFIT_REQUIRE_CLEAN();
}

#endif

}  // namespace refit::test
