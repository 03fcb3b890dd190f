#include "executor/delta/run_versions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "delta/joint_commit.h"
#include "executor/clock.h"
#include "executor/delta/delta_rank.h"
#include "executor/delta/sized_schedule.h"
#include "executor/detail/frame.h"
#include "executor/object_store/published_version.h"

namespace refit {
namespace {

using detail::put;
using detail::put_text;
using detail::take;

template <class T>
std::string blob_of(const std::vector<T>& entries) {
  std::string out;
  for (const T& entry : entries) put(out, entry);
  return out;
}

template <class T>
std::vector<T> entries_of(std::string_view in) {
  std::vector<T> entries;
  while (!in.empty()) entries.push_back(take<T>(in));
  return entries;
}

// How often a step is tried again with what was lacking.
constexpr int kRepeats = 3;

// What a rank says at the end of a step.
struct Finding {
  std::string problem;  // empty: none
  Hash128 state;
  Lacks lacks;
};

std::string blob_of(const Finding& finding) {
  std::string out;
  put(out, finding.state);
  put_text(out, finding.problem);
  put_text(out, finding.lacks.why);
  for (const Lack& lack : finding.lacks.lacks) put(out, lack);
  return out;
}

Finding finding_of(std::string_view in) {
  Finding finding;
  finding.state = take<Hash128>(in);
  finding.problem = detail::take_text(in);
  finding.lacks.why = detail::take_text(in);
  finding.lacks.lacks = entries_of<Lack>(in);
  return finding;
}

// Whole tensors: what the distinct shards of each side add up to. A side whose shards overlap in
// part adds up to no tensor; it is left to the comparison of elements.
void compare_prints(const Refit& refit, const std::vector<ShardPrint>& prints,
                    DeltaVersion& version) {
  struct Side {
    std::map<std::uint64_t, ShardPrint> shards;  // by place
    bool replicas_equal = true;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Side> sides;
  for (const ShardPrint& print : prints) {
    Side& side = sides[{print.tensor, print.is_destination}];
    const auto [at, is_new] = side.shards.try_emplace(print.place, print);
    if (!is_new && at->second.fingerprint != print.fingerprint) side.replicas_equal = false;
  }
  for (std::size_t c = 0; c < refit.classes.size(); ++c) {
    std::uint64_t sums[2] = {0, 0};
    bool whole = true, equal = true;
    for (const std::uint32_t s : {0u, 1u}) {
      std::uint64_t elements = 0;
      const Side& side = sides[{static_cast<std::uint32_t>(c), s}];
      for (const auto& [place, print] : side.shards) {
        sums[s] += print.fingerprint;
        elements += print.elements;
      }
      whole = whole && elements == static_cast<std::uint64_t>(refit.classes[c].elements());
      equal = equal && side.replicas_equal;
    }
    if (!whole) continue;
    ++version.prints_compared;
    if (!equal || sums[0] != sums[1]) ++version.prints_unequal;
  }
}

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
    stage();
    apply();
    commit();
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
    Timeline timeline = run_rank(context, program, memory_, transport, zero);
    measured.seconds = steady_clock_s() - zero;
    measured.cpu_s = thread_cpu_s() - cpu_begin_s;
    seat_.end();
    if (is_last) measured.timeline = std::move(timeline);
    if (!is_first()) return;  // all ranks know all moves
    for (const Move& move : moves.moves)
      work_.wire_bytes += static_cast<std::uint64_t>(move.bytes());
    work_.dense_wire_bytes = dense_wire_bytes();
  }

  void deliver_by_store(detail::RankIteration& measured) {
    const std::string prefix = "refit-" + to_hex(plan_.geometry.hash());
    const double zero = seat_.start();
    const double cpu_begin_s = thread_cpu_s();
    const auto stored = put_payloads(*store_, prefix, now_.version,
                                     static_cast<std::uint32_t>(memory_.rank().value),
                                     memory_.coded(), memory_.payloads());
    count(memory_.coded());
    // The manifest comes last: when it can be read, so can all that it names.
    Manifest manifest;
    for (const std::string& blob : seat_.all_gather(blob_of(stored))) {
      const auto chunks = entries_of<StoredChunk>(blob);
      manifest.chunks.insert(manifest.chunks.end(), chunks.begin(), chunks.end());
    }
    const std::uint64_t base = now_.is_anchor != 0 ? now_.version : now_.version - 1;
    manifest.plan = plan_.geometry.hash();
    manifest.base_version = base;
    manifest.target_version = now_.version;
    if (is_first()) put_manifest(*store_, prefix, std::move(manifest));
    seat_.all_gather("");
    std::vector<std::size_t> lacking;
    std::ranges::set_difference(memory_.demanded(), memory_.coded(), std::back_inserter(lacking));
    // What the store has damaged is not there, and so its owner is asked.
    try {
      if (!lacking.empty()) {
        manifest = get_manifest(*store_, prefix, plan_.geometry.hash(), base, now_.version);
        get_payloads(*store_, prefix, manifest, lacking, memory_.payloads());
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::check_failed) throw;
    }
    count(lacking);
    measured.seconds = steady_clock_s() - zero;
    measured.cpu_s = thread_cpu_s() - cpu_begin_s;
    seat_.end();
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

  // All ranks go on, or none.
  std::vector<Finding> agree(const Finding& own, const char* what) {
    std::vector<Finding> findings;
    for (const std::string& blob : seat_.all_gather(blob_of(own)))
      findings.push_back(finding_of(blob));
    for (const Finding& finding : findings) {
      if (finding.problem.empty()) continue;
      throw Error(ErrorCode::check_failed,
                  fmt::format("version {} {}: {}", now_.version, what, finding.problem));
    }
    return findings;
  }

  template <class Step>
  static std::string problem_of(const Step& step) {
    try {
      step();
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  // A step of all ranks, again and again with what it lacked, a few times at most.
  template <class Step>
  std::vector<Finding> agree_in_turns(const Step& step, const char* what) {
    for (int turn = 0;; ++turn) {
      Finding own;
      own.problem = problem_of([&] { own.lacks = step(); });
      if (const auto record = memory_.record()) own.state = record->next_state;
      if (turn == kRepeats && own.problem.empty()) own.problem = own.lacks.why;
      std::vector<Finding> findings = agree(own, what);
      const bool lack = std::ranges::any_of(
          findings, [](const Finding& finding) { return !finding.lacks.lacks.empty(); });
      if (!lack) return findings;
      bring(findings, own.lacks.lacks);
    }
  }

  // By the control connection: it is little, and whatever spoilt it elsewhere is not in the way.
  void bring(const std::vector<Finding>& findings, const std::vector<Lack>& own) {
    std::set<Lack> asked;
    for (const Finding& finding : findings) {
      asked.insert(finding.lacks.lacks.begin(), finding.lacks.lacks.end());
      now_.asked_again += finding.lacks.lacks.size();
    }
    std::string blob;
    for (const Lack& lack : asked) {
      if (first_coder_[lack.chunk] != memory_.rank().index()) continue;
      put(blob, lack);
      put_text(blob, memory_.answer(lack));
    }
    for (const std::string& answers : seat_.all_gather(blob)) {
      for (std::string_view in = answers; !in.empty();) {
        const auto lack = take<Lack>(in);
        const std::string answer = detail::take_text(in);
        if (std::ranges::count(own, lack) == 0) continue;
        memory_.take(lack, answer);
        if (lack.of_segment == 0) arrived(lack.chunk);
      }
    }
  }

  void stage() {
    agree_in_turns([&] { return memory_.stage(); },
                   "is not applied, destinations keep the version before");
  }

  void apply() {
    const std::vector<Finding> findings =
        agree_in_turns([&] { return memory_.apply(); }, "is not committed");

    // Rank 0 keeps the record of the whole: it moves on when the last rank has acknowledged.
    Hasher128 states;
    for (const Finding& finding : findings)
      states.add(std::as_bytes(std::span(finding.state.bytes)));
    VersionRecord next;
    next.version = now_.version;
    next.state = states.digest();
    if (versions_) {
      JointCommit joint(*versions_, record_, next, findings.size());
      for (std::size_t r = 0; r < findings.size(); ++r) joint.acknowledge(r, now_.version);
      REFIT_CHECK(joint.outstanding().empty());
    }
    record_ = next;
  }

  void commit() {
    agree({problem_of([&] { memory_.commit(); }), {}, {}}, "is committed, but not on all ranks");
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

  // Of a collective, whoever lacks the content receives it once.
  std::uint64_t dense_wire_bytes() const {
    std::uint64_t sum = 0;
    for (const Op& op : plan_.schedule.ops) {
      if (!moves_bytes(op)) continue;
      std::uint64_t content = 0;
      for (const ParcelId id : plan_.schedule.cargos[op.cargo.index()].parcels) {
        const Parcel& parcel = plan_.schedule.parcels[id.index()];
        for (int chunk = op.chunk_begin; chunk < op.chunk_end; ++chunk) {
          const auto bytes = static_cast<std::uint64_t>(chunk_bytes(plan_.refit, parcel, chunk));
          content += bytes * receivers(op, parcel);
        }
      }
      sum += content;
    }
    return sum;
  }

  std::uint64_t receivers(const Op& op, const Parcel& parcel) const {
    if (op.kind == OpKind::transfer) return 1;
    const std::vector<Rank>& ranks = plan_.schedule.groups[op.group.index()].ranks;
    if (op.kind == OpKind::broadcast) return ranks.size() - 1;
    std::uint64_t lack = 0;
    for (const Rank rank : ranks)
      if (!std::ranges::binary_search(parcel.owners, rank)) ++lack;
    return lack;
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

namespace detail {

ExecuteOptions as_iterations(const DeltaRunOptions& options) {
  ExecuteOptions iterations;
  iterations.iterations = options.versions;
  iterations.warmup = 1 + options.warmup;  // with the anchor
  return iterations;
}

DeltaResults::DeltaResults(std::string transport, const RunContext& context,
                           const DeltaRunOptions& options)
    : RankResults(std::move(transport), context, as_iterations(options), FaultPolicy::fail) {}

void DeltaResults::add_of_seat(Rank, std::string_view words) {
  result_.versions.push_back(take<DeltaVersion>(words));
  result_.payload_bytes = entries_of<std::uint64_t>(words);
}

DeltaMeasurement DeltaResults::put_together() {
  result_.measurement = finish();
  return std::move(result_);
}

}  // namespace detail
}  // namespace refit
