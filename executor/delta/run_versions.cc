#include "executor/delta/run_versions.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "delta/joint_commit.h"
#include "executor/clock.h"
#include "executor/delta/blob.h"
#include "executor/delta/compare_prints.h"
#include "executor/delta/delta_rank.h"
#include "executor/delta/delta_results.h"
#include "executor/delta/joint_steps.h"
#include "executor/delta/sized_schedule.h"
#include "executor/delta/through_store.h"

namespace refit {
namespace {

using detail::put;
using detail::take;

class VersionRun {
 public:
  VersionRun(const DeltaPlan& plan, Rank rank, DeltaSeat& seat)
      : plan_(plan),
        seat_(seat),
        memory_(plan.refit, plan.schedule, plan.geometry, rank, plan.options,
                mode_of(plan.schedule)) {
    record_.version = plan.options.first_version;
    if (rank == Rank(0)) versions_.emplace(record_);
    if (plan.options.store) store_ = plan.options.store();
  }

  void run() {
    for (int i = 0; i < plan_.options.all_versions(); ++i) run_version(i);
  }

 private:
  void run_version(int i) {
    now_ = {};
    work_ = {};
    now_.version = plan_.options.first_version + static_cast<std::uint64_t>(i);
    now_.is_anchor = i == 0 ? 1 : 0;
    detail::RankIteration measured;
    measured.iteration = i;
    if (i == 0 && !plan_.options.anchor) {
      memory_.load(now_.version);
      check(measured);
      return report(measured);
    }
    exchange_sizes(memory_.begin(now_.version, i == 0));
    if (store_) {
      deliver_by_store(measured);
    } else {
      deliver(measured, i + 1 == plan_.options.all_versions());
    }
    for (const std::size_t chunk : memory_.demanded()) arrived(chunk);
    JointSteps steps(seat_, memory_, now_.version, first_coder_,
                     [this](std::size_t chunk) { arrived(chunk); });
    stage(steps);
    apply(steps);
    commit(steps);
    now_.asked_again = steps.asked_again();
    check(measured);
    report(measured);
  }

  bool is_first() const { return memory_.rank() == Rank(0); }

  // The manifest: every rank knows how long every payload is, also those it only hands on.
  void exchange_sizes(const std::vector<CodedChunk>& coded) {
    payload_bytes_.assign(plan_.geometry.chunks(), 0);
    first_coder_.assign(plan_.geometry.chunks(), std::nullopt);
    const std::vector<std::string> blobs = seat_.all_gather(blob_of(coded));
    for (std::size_t rank = 0; rank < blobs.size(); ++rank) {
      for (const CodedChunk& chunk : entries_of<CodedChunk>(blobs[rank])) {
        REFIT_CHECK(chunk.chunk < first_coder_.size());
        if (first_coder_[chunk.chunk]) {
          // Replicas of a trainer are equal, and so is what they code.
          if (payload_bytes_[chunk.chunk] == chunk.bytes) continue;
          throw Error(
              ErrorCode::check_failed,
              fmt::format("version {}, chunk {}: owners have coded {} and {} bytes; "
                          "replicas of the trainer differ",
                          now_.version, chunk.chunk, payload_bytes_[chunk.chunk], chunk.bytes));
        }
        first_coder_[chunk.chunk] = rank;
        payload_bytes_[chunk.chunk] = chunk.bytes;
        ++now_.chunks;
        now_.changed += chunk.changed;
        now_.payload_bytes += chunk.bytes;
        now_.code_bytes += chunk.code_bytes;
      }
    }
    memory_.expect(payload_bytes_);
  }

  void deliver(detail::RankIteration& measured, bool is_last) {
    const Schedule schedule = sized_schedule(plan_.schedule, plan_.geometry, payload_bytes_);
    const Moves moves = write_out(schedule, plan_.refit, plan_.cluster,
                                  sized_moves(plan_.options.moves, plan_.geometry, payload_bytes_));
    const RunContext context{schedule, plan_.refit, plan_.cluster, moves};
    const RankProgram program = rank_program(schedule, moves, memory_.rank());
    Transport& transport = seat_.connect(context);
    const double zero = seat_.start();
    const double cpu_begin_s = thread_cpu_s();
    OpTimes times = run_rank(context, program, memory_, transport, zero);
    measured.seconds = steady_clock_s() - zero;
    measured.cpu_s = thread_cpu_s() - cpu_begin_s;
    seat_.end();
    if (is_last) measured.times = std::move(times);
    if (!is_first()) return;  // all ranks know all moves
    for (const Move& move : moves.moves)
      work_.wire_bytes += static_cast<std::uint64_t>(move.bytes());
    work_.dense_wire_bytes = dense_wire_bytes(plan_.schedule, plan_.refit);
  }

  void deliver_by_store(detail::RankIteration& measured) {
    const std::uint64_t base = now_.is_anchor != 0 ? now_.version : now_.version - 1;
    const double zero = seat_.start();
    const double cpu_begin_s = thread_cpu_s();
    const auto got = through_store(*store_, plan_.geometry, base, now_.version, seat_, memory_);
    measured.seconds = steady_clock_s() - zero;
    measured.cpu_s = thread_cpu_s() - cpu_begin_s;
    seat_.end();
    count(memory_.coded());
    count(got);
  }

  void count(const std::vector<std::size_t>& stored) {
    for (const std::size_t chunk : stored) {
      work_.wire_bytes += payload_bytes_[chunk];
      for (const PlacedRegion& placed : plan_.geometry.regions(chunk)) {
        work_.dense_wire_bytes +=
            placed.delta.box.elements() * static_cast<std::uint64_t>(placed.delta.element_bytes);
      }
    }
  }

  void arrived(std::size_t chunk) {
    if (plan_.options.arrived)
      plan_.options.arrived(memory_.rank(), now_.version, chunk, memory_.payload(chunk));
  }

  // Until now nothing has happened to the weights of any rank.
  void stage(JointSteps& steps) {
    steps.take([&] { return memory_.stage(); },
               "is not applied, destinations keep the version before");
  }

  void apply(JointSteps& steps) {
    const std::vector<Hash128> states =
        steps.take([&] { return memory_.apply(); }, "is not committed");

    // Rank 0 keeps the record of the whole: it moves on when the last rank has acknowledged.
    Hasher128 all;
    for (const Hash128& state : states) all.add(std::as_bytes(std::span(state.bytes)));
    VersionRecord next;
    next.version = now_.version;
    next.state = all.digest();
    if (versions_) {
      JointCommit joint(*versions_, record_, next, states.size());
      for (std::size_t r = 0; r < states.size(); ++r) joint.acknowledge(r, now_.version);
      REFIT_CHECK(joint.outstanding().empty());
    }
    record_ = next;
  }

  void commit(JointSteps& steps) {
    steps.take(
        [&] {
          memory_.commit();
          return Lacks{};
        },
        "is committed, but not on all ranks");
  }

  void check(detail::RankIteration& measured) {
    if (!plan_.options.check) return;
    measured.wrong_bytes = memory_.count_wrong(now_.version, measured.examples);
    std::vector<ShardPrint> prints;
    for (const std::string& blob : seat_.all_gather(blob_of(memory_.prints()))) {
      const auto of_rank = entries_of<ShardPrint>(blob);
      prints.insert(prints.end(), of_rank.begin(), of_rank.end());
    }
    if (is_first()) compare_prints(plan_.refit, prints, now_);
  }

  void report(const detail::RankIteration& measured) {
    seat_.submit(detail::submission(measured));
    work_.scanned_bytes = memory_.coding().bytes;
    work_.scan_cpu_s = memory_.coding().cpu_s;
    work_.applied_bytes = memory_.applying().bytes;
    work_.apply_cpu_s = memory_.applying().cpu_s;
    std::string blob;
    put(blob, work_);
    const std::vector<std::string> all = seat_.all_gather(blob);
    if (!is_first()) return;
    for (std::string_view in : all) now_.work += take<DeltaWork>(in);
    for (const TensorClass& c : plan_.refit.classes)
      now_.elements += static_cast<std::uint64_t>(c.elements());
    now_.dense_bytes = static_cast<std::uint64_t>(plan_.refit.unique_bytes());
    std::string words;
    put(words, now_);
    for (const std::uint64_t bytes : payload_bytes_) put(words, bytes);
    seat_.submit(detail::submission(words));
  }

  const DeltaPlan& plan_;
  DeltaSeat& seat_;
  DeltaRank memory_;
  VersionRecord record_;                                 // of all ranks together
  std::optional<MemoryVersionStore> versions_;           // on rank 0
  std::vector<std::uint64_t> payload_bytes_;             // by chunk
  std::vector<std::optional<std::size_t>> first_coder_;  // by chunk: the first rank that has it
  DeltaVersion now_;
  DeltaWork work_;  // of this rank
  std::unique_ptr<ObjectStore> store_;
};

}  // namespace

DeltaMode mode_of(const Schedule& schedule) {
  if (!schedule.coding) {
    throw Error(ErrorCode::bad_input,
                fmt::format("the plan by {} sends whole weights; only one that sends changes has "
                            "versions (delta_reshard, delta_broadcast)",
                            schedule.strategy));
  }
  switch (schedule.coding->codec) {
    case Codec::rice:
      return DeltaMode::rice;
    case Codec::conditioned:
      return DeltaMode::conditioned;
    case Codec::nemo_xor:
    case Codec::nemo_overwrite:
      break;
  }
  throw Error(ErrorCode::bad_input,
              fmt::format("codec {} is for predictions; a run codes by rice or conditioned",
                          to_string(schedule.coding->codec)));
}

void run_versions(const DeltaPlan& plan, Rank rank, DeltaSeat& seat) {
  VersionRun(plan, rank, seat).run();
}

}  // namespace refit
