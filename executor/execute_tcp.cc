#include "executor/execute_tcp.h"

#include <exception>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "executor/detail/tcp_rank.h"
#include "executor/launch.h"
#include "executor/rendezvous.h"

namespace refit {
namespace {

std::string op_text(const RunContext& context, std::uint32_t move) {
  const Move& m = context.moves.moves[move];
  const Op& op = context.schedule.ops[m.op.index()];
  return fmt::format("round {}, op {} ({} {} -> {}, {} bytes)", op.round, m.op.value,
                     to_string(op.kind), m.src.value, m.dst.value, m.bytes());
}

// "rank 5, round 12, op 804 (transfer 1 -> 5, 67108864 bytes): killed by signal 9 (Killed)"
[[noreturn]] void rethrow(const RankFailure& error, const RunContext& context) {
  const Failure& f = error.failure();
  const bool has_op = f.move && *f.move < context.moves.moves.size();
  throw RankFailure(
      f,
      fmt::format("rank {}, {}: {}", f.rank.value,
                  has_op ? op_text(context, *f.move) : std::string(to_string(f.phase)), f.reason));
}

void check_ranks(const Schedule& schedule, const Cluster& cluster) {
  if (schedule.ranks < 1 || schedule.ranks > cluster.gpus())
    throw Error(ErrorCode::bad_input,
                fmt::format("the schedule has {} ranks and the cluster {} GPUs", schedule.ranks,
                            cluster.gpus()));
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
         detail::Descriptor listener, Rendezvous::Hooks hooks)
      : rendezvous_(ranks, options), hooks_(std::move(hooks)) {
    rendezvous_.adopt(Rank(0), std::move(own));
    rendezvous_.admit(std::move(listener));
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

}  // namespace

Measurement execute_tcp(const Schedule& schedule, const Refit& refit, const Cluster& cluster,
                        const ExecuteOptions& options, const TcpOptions& tcp) {
  check_ranks(schedule, cluster);
  const Moves moves = write_out(schedule, refit, cluster, options.moves);
  const RunContext context{schedule, refit, cluster, moves};
  LoopbackNetwork loopback;
  TcpOptions own = tcp;
  if (own.network == nullptr) own.network = &loopback;
  detail::TcpResults results(context, options);
  try {
    launch(
        schedule.ranks, *own.network, own.failure,
        [&](RankControl& control) { detail::run_tcp_rank(context, options, own, control); },
        [&](Rank rank, std::string_view blob) { results.add(rank, blob); });
  } catch (const RankFailure& error) {
    rethrow(error, context);
  }
  return results.finish();
}

Measurement execute_tcp_rank(const RankEnvironment& place, const Schedule& schedule,
                             const Refit& refit, const Cluster& cluster,
                             const ExecuteOptions& options, const TcpOptions& tcp) {
  check_ranks(schedule, cluster);
  if (place.ranks != schedule.ranks)
    throw Error(ErrorCode::bad_input,
                fmt::format("started by {} as {} ranks; the schedule needs {}", place.launcher,
                            place.ranks, schedule.ranks));
  if (tcp.policy == FaultPolicy::shrink)
    throw Error(ErrorCode::bad_input,
                "policy shrink needs a launcher that outlives every rank: run it on this machine");
  const Moves moves = write_out(schedule, refit, cluster, options.moves);
  const RunContext context{schedule, refit, cluster, moves};
  const detail::SocketOptions plain{0, ""};
  raise_open_file_limit();
  if (tcp.network) tcp.network->enter(place.rank);

  detail::TcpResults results(context, options);
  std::optional<Server> server;
  detail::Descriptor socket;
  if (place.rank == Rank(0)) {
    detail::Descriptor listener = detail::listen_on(place.master_host, place.master_port, plain);
    auto [mine, its] = detail::socket_pair();
    socket = std::move(mine);
    Rendezvous::Hooks hooks;
    hooks.result = [&](Rank rank, std::string_view blob) { results.add(rank, blob); };
    server.emplace(place.ranks, tcp.failure, std::move(its), std::move(listener), std::move(hooks));
  } else {
    socket = detail::connect_to(place.master_host, place.master_port, plain,
                                tcp.failure.start_timeout_s);
  }
  ReachedNetwork reached(place.rank == Rank(0) ? place.master_host
                                               : detail::local_address_of(socket));
  TcpOptions own = tcp;
  if (own.network == nullptr) own.network = &reached;
  try {
    RankControl control(place.rank, place.ranks, std::move(socket), own.failure);
    run_guarded(control, [&](RankControl& c) { detail::run_tcp_rank(context, options, own, c); });
  } catch (const RankFailure& error) {
    rethrow(error, context);
  }
  if (!server) return {};
  server->join();
  return results.finish();
}

}  // namespace refit
