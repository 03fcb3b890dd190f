#include <catch2/catch.hpp>

#include <random>

#include "base/error.h"
#include "executor/cuda/device_memory.h"
#include "executor/cuda/execute_cuda.h"
#include "executor/cuda/nccl_wire.h"
#include "schedule/verify.h"
#include "tests/executor/circle.h"
#include "tests/executor/cuda_place.h"
#include "tests/executor/nccl_threads.h"
#include "tests/support/m2n_case.h"
#include "tests/support/small_refits.h"

namespace refit::test {
namespace {

struct Case {
  Refit refit;
  Cluster cluster;
  Schedule schedule;
};

Case planned(const M2nCase& c, const char* strategy, const PlanOptions& options) {
  Case result{make_refit(c), make_cluster(c), {}};
  result.schedule = plan(result.refit, result.cluster, named_policy(strategy), options);
  REQUIRE(verify(result.schedule, result.refit).empty());
  return result;
}

CudaOptions short_run() {
  CudaOptions options;
  options.run.iterations = 2;
  options.run.warmup = 0;
  options.run.moves.piece_bytes = 64;
  return options;
}

Measurement run_local(const Case& c, const CudaOptions& options) {
  return execute_cuda_local(c.schedule, c.refit, c.cluster, options);
}

Measurement run_nccl(const Case& c, const CudaOptions& options) {
  return run_nccl_threads(c.schedule, c.refit, c.cluster, options);
}

// On real hardware NCCL needs a GPU per rank; a test that passes without its NCCL half says so.
bool has_gpus(int ranks) {
  if (count_gpus() >= ranks) return true;
  WARN("NCCL not run: it needs " << ranks << " GPUs, here are " << count_gpus());
  return false;
}

const M2nCase kColumns{{2, 4, 0}, {4, 2, 1}, {24, 40}, Dtype::bf16, 4};

}  // namespace

TEST_CASE("cuda: every strategy leaves every destination byte right on virtual ranks",
          REFIT_PLACE) {
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
    for (const int buffers : {1, 2}) {
      CAPTURE(strategy, buffers);
      PlanOptions options;
      options.chunks = 3;
      options.bucket_bytes = 500;
      options.buffers = buffers;
      const Measurement m = run_local(planned(kColumns, strategy, options), short_run());
      REQUIRE(m.wrong_bytes == 0);
      REQUIRE(m.iterations.size() == 2);
      REFIT_REQUIRE_CLEAN();
    }
  }
}

TEST_CASE("nccl: every strategy leaves every destination byte right", REFIT_PLACE) {
  if (!has_gpus(16)) return;
  for (const char* strategy : {"reshard", "direct", "gather_broadcast", "hybrid"}) {
    CAPTURE(strategy);
    PlanOptions options;
    options.chunks = 3;
    options.bucket_bytes = 500;
    const Measurement m = run_nccl(planned(kColumns, strategy, options), short_run());
    REQUIRE(m.wrong_bytes == 0);
    REQUIRE(m.iterations.size() == 2);
    REFIT_REQUIRE_CLEAN();
  }
}

TEST_CASE("cuda: every op that moves bytes is timed by the device, inside the iteration",
          REFIT_PLACE) {
  const Case c = planned(kColumns, GENERATE("reshard", "gather_broadcast"), {});
  std::vector<Measurement> measurements{run_local(c, short_run())};
  if (has_gpus(16)) measurements.push_back(run_nccl(c, short_run()));
  for (const Measurement& m : measurements) {
    CAPTURE(m.transport, c.schedule.strategy);
    REQUIRE(m.timeline.size() == c.schedule.ops.size());
    for (std::size_t op = 0; op < m.timeline.size(); ++op) {
      if (!moves_bytes(c.schedule.ops[op])) continue;
      CAPTURE(op);
      const Span& span = m.timeline[op];
      REQUIRE(span.start_s >= 0);
      REQUIRE(span.end_s > span.start_s);
      // Clocks of host and devices agree as well as a look at them is quick.
      REQUIRE(span.end_s < m.iterations.back().seconds + 0.1);
    }
  }
}

TEST_CASE("cuda: messages longer than a piece travel in pieces and arrive whole", REFIT_PLACE) {
  // 24 x 40 bf16: a transfer of 480 bytes is 30 pieces of 16, or 4 of 112 and a rest of 32.
  CudaOptions options = short_run();
  options.piece_bytes = GENERATE(16, 112);
  for (const char* strategy : {"reshard", "direct", "gather_broadcast"}) {
    CAPTURE(strategy, options.piece_bytes);
    const Case c = planned(kColumns, strategy, {});
    REQUIRE(run_local(c, options).wrong_bytes == 0);
    REFIT_REQUIRE_CLEAN();
    if (has_gpus(16)) REQUIRE(run_nccl(c, options).wrong_bytes == 0);
    REFIT_REQUIRE_CLEAN();
  }
}

TEST_CASE("cuda: random layout pairs arrive whole, single bf16 columns too", REFIT_PLACE) {
  const unsigned seed = GENERATE(range(1u, 25u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  M2nCase c;
  c.source = {pick(1, 2), pick(1, 3), pick(0, 1), pick(0, 1) == 1, Split::balanced()};
  c.destination = {pick(1, 3), pick(1, 3), pick(0, 1), pick(0, 1) == 1, Split::balanced()};
  c.shape = {pick(3, 17), pick(3, 17)};
  c.dtype = pick(0, 1) == 0 ? Dtype::bf16 : Dtype::f32;
  c.domain = pick(1, 4);
  PlanOptions options;
  options.chunks = pick(1, 3);
  options.streams = pick(1, 2);
  const char* strategies[] = {"reshard", "direct", "gather_broadcast", "hybrid"};
  const char* strategy = strategies[pick(0, 3)];
  CAPTURE(strategy, c.shape, c.domain);
  const Case planned_case = planned(c, strategy, options);
  REQUIRE(run_local(planned_case, short_run()).wrong_bytes == 0);
  REFIT_REQUIRE_CLEAN();
  if (has_gpus(planned_case.schedule.ranks))
    REQUIRE(run_nccl(planned_case, short_run()).wrong_bytes == 0);
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("cuda: a rank of the mesh that gets nothing needs nothing", REFIT_PLACE) {
  // torch.chunk of 5 rows over 4 ranks: 2, 2, 1 and none.
  M2nCase c{{1, 1, 0}, {1, 4, 0}, {5, 6}, Dtype::bf16, 4};
  c.destination.split = Split::chunk();
  const Case p = planned(c, "direct", {});
  REQUIRE(run_local(p, short_run()).wrong_bytes == 0);
  REQUIRE(execute_inproc(p.schedule, p.refit, p.cluster).wrong_bytes == 0);
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("cuda: a wrong byte on the device is counted and named", REFIT_PLACE) {
  // 1 x 1 to 1 x 2 rows of [4, 3] u8: rank 2 holds rows 2 and 3, its byte 4 is element 10.
  const M2nCase c{{1, 1, 0}, {1, 2, 0}, {4, 3}, Dtype::u8, 2};
  const Case p = planned(c, "direct", {});
  {
    DeviceMemory device;
    RankMemory memory(p.refit, p.schedule, Rank(2), device);
    memory.prepare(1);
    // What rank 2 receives, written by hand.
    for (const Op& op : p.schedule.ops) {
      if (op.kind != OpKind::transfer || op.dst != Rank(2)) continue;
      RankMemory sender(p.refit, p.schedule, op.src, device);
      sender.prepare(1);
      device.copy(sender.boxes(op, true), memory.boxes(op, false));
    }
    std::vector<WrongByte> examples;
    REQUIRE(memory.count_wrong(1, examples) == 0);

    for (const Op& op : p.schedule.ops) {
      if (op.kind != OpKind::transfer || op.dst != Rank(2)) continue;
      const auto boxes = memory.boxes(op, false);
      std::byte* shard = boxes.front().base;
      std::byte value{};
      REQUIRE(cudaMemcpy(&value, shard + 4, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
      value ^= std::byte{64};
      REQUIRE(cudaMemcpy(shard + 4, &value, 1, cudaMemcpyHostToDevice) == cudaSuccess);
      break;
    }
    REQUIRE(memory.count_wrong(1, examples) == 1);
    REQUIRE(examples.size() == 1);
    REQUIRE(examples[0].rank == Rank(2));
    REQUIRE(examples[0].tensor == p.refit.classes[0].name);
    REQUIRE(examples[0].element == 10);
    REQUIRE(memory.count_wrong(2, examples) > 1);  // another seed is other content
  }
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("cuda: ops that wait for each other end the run, which says so", REFIT_PLACE) {
  // It would wait for ever, or for the 60 s after which a rank gives up.
  Case c = planned({{1, 2, 0}, {2, 1, 0}, {16, 16}, Dtype::bf16, 2}, "reshard", {});
  close_circle(c.schedule);
  for (const bool nccl : {false, true}) {
    if (nccl && !has_gpus(c.schedule.ranks)) break;
    CAPTURE(nccl);
    CudaOptions options = short_run();
    options.policy = FaultPolicy::shrink;  // it is no loss, which others could make up for
    try {
      nccl ? run_nccl(c, options) : run_local(c, options);
      FAIL("it went on");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::check_failed);
      CHECK_THAT(error.what(), Catch::StartsWith("rank ") && Catch::Contains(" can't begin: ") &&
                                   Catch::EndsWith("the ops wait for each other"));
      if (nccl) {
        const auto* failure = dynamic_cast<const RankFailure*>(&error);
        REQUIRE(failure != nullptr);
        CHECK(failure->failure().move);
      }
    }
    REFIT_REQUIRE_CLEAN();
  }
}

TEST_CASE("nccl: one rank sends to itself", REFIT_PLACE) {
  const std::int64_t bytes = 1000;
  {
    REQUIRE(count_gpus() > 0);
    NcclWire wire(Rank(0), {Rank(0)}, 2, NcclWire::make_id());
    DeviceMemory device;
    Stream stream;
    SpaceBuffer from(device, bytes), to(device, bytes);
    const std::vector<IntervalSet> sides{Interval{0, bytes}};
    const std::vector<std::int64_t> shape{bytes};
    const ShardContent content{5, 0, 1, sides, shape};
    device.fill(from.data(), content);
    for (const int lane : {0, 1}) {
      device.poison(to.data(), bytes);
      const WirePart out{Rank(0), from.data(), bytes}, in{Rank(0), to.data(), bytes};
      wire.exchange(lane, {&out, 1}, {&in, 1}, stream.get());
      stream.synchronize();
      REQUIRE(device.check(to.data(), content).count == 0);
    }
  }
  REFIT_REQUIRE_CLEAN();
}

#ifndef REFIT_ON_GPU

TEST_CASE("cuda: without a driver a run says so in plain words and is environment's fault",
          "[cuda]") {
  fake::set_devices(0);
  const Case c = planned(kColumns, "direct", {});
  for (const bool nccl : {false, true}) {
    try {
      nccl ? run_nccl(c, short_run()) : run_local(c, short_run());
      FAIL("it ran");
    } catch (const Error& error) {
      REQUIRE(error.code() == ErrorCode::environment);
      REQUIRE_THAT(error.what(), Catch::Contains("no NVIDIA driver or GPU was found"));
    }
  }
  fake::set_devices(64);
  cudaGetLastError();  // or the next launch would return it
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("cuda: a byte that changes on its way is caught", "[cuda]") {
  const Case c = planned(kColumns, "direct", {});
  for (const bool nccl : {false, true}) {
    CAPTURE(nccl);
    fake::corrupt_message(7);
    const Measurement m = nccl ? run_nccl(c, short_run()) : run_local(c, short_run());
    // direct: a message has one receiver, so one bit is one wrong byte.
    REQUIRE(m.wrong_bytes == 1);
    REQUIRE(m.wrong_examples.size() == 1);
    REFIT_REQUIRE_CLEAN();
  }
}

TEST_CASE("nccl: a rank without its GPU ends the run of all", "[cuda]") {
  fake::set_devices(9);  // for 16 ranks
  REQUIRE_THROWS_WITH(
      run_nccl(planned(kColumns, "reshard", {}), short_run()),
      Catch::Contains("and there are 9; start as many ranks per machine as it has GPUs"));
  fake::set_devices(64);
  cudaGetLastError();  // or the next launch would return it
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("nccl: a rank that fails is known to all and nothing is left", "[cuda]") {
  const Case c = planned(kColumns, "reshard", {});
  const CudaOptions options = short_run();
  const Moves moves = write_out(c.schedule, c.refit, c.cluster, options.run.moves);
  const RunContext context{c.schedule, c.refit, c.cluster, moves};
  const ThreadedOutcome outcome = run_rank_threads(c.schedule.ranks, [&](RankControl& control) {
    if (control.rank() == Rank(9)) {
      // The id, and then this rank goes: the others are about to make their communicators.
      control.all_gather("");
      throw Error(ErrorCode::environment, "rank 9 is pulled out");
    }
    run_nccl_rank(context, options, {control.rank().value, true}, control);
  });
  REQUIRE(outcome.failure);
  REQUIRE(outcome.failure->rank == Rank(9));
  for (const std::string& error : outcome.errors)
    REQUIRE_THAT(error, Catch::EndsWith("rank 9 is pulled out"));
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("nccl: ends that disagree about a size are a fault with both sizes", "[cuda]") {
  {
    NcclWire wire(Rank(0), {Rank(0)}, 1, NcclWire::make_id());
    DeviceMemory device;
    Stream stream;
    SpaceBuffer from(device, 64), to(device, 64);
    const WirePart out{Rank(0), from.data(), 64}, in{Rank(0), to.data(), 32};
    // The stream finds it while the call still polls, or after.
    const auto exchange_and_look = [&] {
      wire.exchange(0, {&out, 1}, {&in, 1}, stream.get());
      stream.synchronize();
      wire.check();
    };
    REQUIRE_THROWS_WITH(exchange_and_look(),
                        Catch::Contains("rank 0 sends 64 bytes where rank 0 expects 32"));
    wire.abort("the test is over");
  }
  REQUIRE(fake::take_faults().size() == 1);
  REFIT_REQUIRE_CLEAN();
}

TEST_CASE("nccl: a send to oneself without its receive is refused", "[cuda]") {
  {
    NcclWire wire(Rank(0), {Rank(0)}, 1, NcclWire::make_id());
    DeviceMemory device;
    Stream stream;
    SpaceBuffer from(device, 64);
    const WirePart out{Rank(0), from.data(), 64};
    REQUIRE_THROWS_WITH(wire.exchange(0, {&out, 1}, {}, stream.get()),
                        Catch::StartsWith("ncclGroupEnd: "));
  }
  REQUIRE(fake::take_faults().size() == 1);
  REFIT_REQUIRE_CLEAN();
}

#endif

}  // namespace refit::test
