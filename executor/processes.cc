#include "executor/processes.h"

#include <exception>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "executor/job.h"
#include "executor/launch.h"
#include "executor/rendezvous.h"

namespace refit {
namespace {

using RankWork = std::function<void(RankControl&, RankNetwork&)>;

std::string op_text(const RunContext& context, std::uint32_t move) {
  const Move& m = context.moves.moves[move];
  const Op& op = context.schedule.ops[m.op.index()];
  return fmt::format("round {}, op {} ({} {} -> {}, {} bytes)", op.round, m.op.value,
                     to_string(op.kind), m.src.value, m.dst.value, m.bytes());
}

// "rank 5, round 12, op 804 (transfer 1 -> 5, 67108864 bytes): killed by signal 9 (Killed)"
RankFailure in_words(const RankFailure& error, const RunContext& context) {
  const Failure& f = error.failure();
  const bool has_op = f.move && *f.move < context.moves.moves.size();
  return {f, fmt::format("rank {}, {}: {}", f.rank.value,
                         has_op ? op_text(context, *f.move) : std::string(to_string(f.phase)),
                         f.reason)};
}

// Every rank at the address by which it reaches rank 0; each knows its own only.
class ReachedNetwork : public RankNetwork {
 public:
  explicit ReachedNetwork(std::string own) : own_(std::move(own)) {}
  void enter(Rank) override {}
  std::string address(Rank, bool) const override { return own_; }

 private:
  std::string own_;
};

// Rank 0 of a job that somebody else has started serves the rendezvous beside its own work.
class Server {
 public:
  Server(int ranks, const FailureOptions& options, detail::Descriptor own,
         detail::Descriptor listener, const std::string& job, Rendezvous::Hooks hooks)
      : rendezvous_(ranks, options), hooks_(std::move(hooks)) {
    rendezvous_.adopt(Rank(0), std::move(own));
    rendezvous_.admit(std::move(listener), job);
    thread_ = std::thread([this] {
      try {
        rendezvous_.serve(hooks_);
      } catch (...) {
        error_ = std::current_exception();
      }
    });
  }
  ~Server() {
    if (thread_.joinable()) thread_.join();
  }
  void join() {
    thread_.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Rendezvous rendezvous_;
  Rendezvous::Hooks hooks_;
  std::exception_ptr error_;
  std::thread thread_;
};

void run_in_job(const RankEnvironment& place, const ProcessOptions& options, const RankWork& work,
                const std::function<void(Rank, std::string_view)>& result) {
  const detail::SocketOptions plain{0, ""};
  raise_open_file_limit();
  if (options.network) options.network->enter(place.rank);

  std::optional<Server> server;
  detail::Descriptor socket;
  if (place.rank == Rank(0)) {
    detail::Descriptor listener = detail::listen_on(place.master_host, place.master_port, plain);
    auto [mine, its] = detail::socket_pair();
    socket = std::move(mine);
    Rendezvous::Hooks hooks;
    hooks.result = result;
    // It is not ours to end; its closed connection tells it, if it can still hear.
    if (options.goes_on) hooks.drop = [](Rank) {};
    server.emplace(place.ranks, options.failure, std::move(its), std::move(listener), place.job,
                   std::move(hooks));
  } else {
    socket = detail::connect_to(place.master_host, place.master_port, plain,
                                options.failure.start_timeout_s);
  }
  ReachedNetwork reached(place.rank == Rank(0) ? place.master_host
                                               : detail::local_address_of(socket));
  RankNetwork& network = options.network ? *options.network : reached;
  {
    RankControl control(place.rank, place.ranks, std::move(socket), options.failure, place.job);
    run_guarded(control, [&](RankControl& c) { work(c, network); });
  }
  if (server) server->join();
}

}  // namespace

void check_ranks(const Schedule& schedule, const Cluster& cluster,
                 const std::optional<RankEnvironment>& place) {
  if (schedule.ranks < 1 || schedule.ranks > cluster.ranks())
    throw Error(ErrorCode::bad_input,
                fmt::format("the schedule has {} ranks and the cluster {} GPUs", schedule.ranks,
                            cluster.ranks()));
  if (place && place->ranks != schedule.ranks)
    throw Error(ErrorCode::bad_input,
                fmt::format("started by {} as {} ranks; the schedule needs {}", place->launcher,
                            place->ranks, schedule.ranks));
}

void check_fault(const std::optional<FaultSpec>& inject, const Cluster& cluster, bool can_darken) {
  if (!inject) return;
  const FaultSpec& fault = *inject;
  if (fault.rank.value < 0 || fault.rank.value >= cluster.gpus())
    throw Error(ErrorCode::bad_input,
                fmt::format("fault: rank {} does not exist; ranks are 0 to {}", fault.rank.value,
                            cluster.gpus() - 1));
  if (fault.at_s < 0)
    throw Error(ErrorCode::bad_input, "fault: a run needs the time as seconds from its start");
  if (fault.kind == FaultKind::dark && !can_darken)
    throw Error(ErrorCode::bad_input,
                "fault: this network has no links that could go dark; use --transport tcp --lab");
  const auto lost = lost_ranks(fault, cluster);
  if (lost.size() > 1)
    throw Error(ErrorCode::bad_input,
                fmt::format("fault: the NIC of rank {} carries {} ranks, and a run can cause the "
                            "loss of one; simulate it instead",
                            fault.rank.value, lost.size()));
}

void run_processes(const RunContext& context, const std::optional<RankEnvironment>& place,
                   const ProcessOptions& options, const RankWork& work,
                   const std::function<void(Rank, std::string_view)>& result) {
  LoopbackNetwork loopback;
  RankNetwork& network = options.network ? *options.network : loopback;
  try {
    if (place) {
      run_in_job(*place, options, work, result);
    } else {
      launch(
          context.schedule.ranks, network, options.failure,
          [&](RankControl& control) { work(control, network); }, result);
    }
  } catch (const RankFailure& error) {
    if (place && place->rank != Rank(0)) let_rank_zero_speak();
    throw in_words(error, context);
  }
}

}  // namespace refit
