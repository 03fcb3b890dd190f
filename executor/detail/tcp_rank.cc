#include "executor/detail/tcp_rank.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "executor/detail/open_links.h"
#include "executor/detail/process_rank.h"
#include "executor/tcp_transport.h"

namespace refit::detail {
namespace {

void add_needs(const RunContext& context, Rank rank, std::set<LinkNeed>& needs) {
  for (const std::uint32_t m : context.moves.of_rank.of(rank)) {
    const Move& move = context.moves.moves[m];
    const Rank peer = move.src == rank ? move.dst : move.src;
    needs.insert({context.schedule.ops[move.op.index()].lane, peer,
                  context.cluster.domain(peer) == context.cluster.domain(rank)});
  }
}

class TcpSeat : public ProcessSeat {
 public:
  TcpSeat(const RunContext& context, const TcpOptions& tcp, RankControl& control)
      : context_(context), tcp_options_(tcp), control_(control) {}
  ~TcpSeat() override { control_.while_waiting(nullptr); }
  TcpSeat(const TcpSeat&) = delete;
  TcpSeat& operator=(const TcpSeat&) = delete;

  void connect() override {
    std::set<LinkNeed> needs;
    add_needs(context_, control_.rank(), needs);
    open(needs, context_.moves.moves.size());
  }

  void reconnect(const RunContext& recovery, Rank lost) override {
    std::set<LinkNeed> needs;
    if (tcp_options_.policy == FaultPolicy::rebuild) add_needs(context_, control_.rank(), needs);
    add_needs(recovery, control_.rank(), needs);
    std::erase_if(needs, [&](const LinkNeed& need) { return need.peer == lost; });
    open(needs, recovery.moves.moves.size());
  }

  bool one_host() const override { return one_host_; }
  MemorySpace& memory() override { return host_memory(); }
  Transport& transport() override { return *transport_; }
  void begin_iteration() override { tcp_->begin(epoch_++); }

  RankReport report() override {
    RankReport report;
    if (tcp_ != nullptr) report = tcp_->report();
    report.unreachable = unreachable_suspects();
    return report;
  }

  void darken(const FaultSpec& fault) override {
    if (fault.place != FaultPlace::nvlink) tcp_options_.network->darken(fault.rank, false);
    if (fault.place != FaultPlace::nic && context_.cluster.nvlink_out(fault.rank))
      tcp_options_.network->darken(fault.rank, true);
  }

 private:
  void open(const std::set<LinkNeed>& needs, std::size_t moves) {
    control_.while_waiting(nullptr);
    tcp_ = nullptr;
    transport_.reset();
    OpenLinks opened =
        open_links(control_, *tcp_options_.network, {needs.begin(), needs.end()},
                   {tcp_options_.socket_buffer_bytes, tcp_options_.congestion_control});
    one_host_ = opened.one_host;
    auto transport =
        std::make_unique<TcpTransport>(control_.rank(), std::move(opened.links), moves, &control_);
    tcp_ = transport.get();
    transport_ = tcp_options_.wrapped(control_.rank(), std::move(transport));
    control_.while_waiting([this] { tcp_->check_links(); });
  }

  // Of two ranks whose connection broke: whom this one can't reach on that kind of link either.
  std::vector<Rank> unreachable_suspects() const {
    std::vector<Rank> unreachable;
    const std::vector<Rank>& suspects = control_.suspects();
    if (suspects.size() != 2) return unreachable;
    const auto domain = [&](Rank rank) { return context_.cluster.domain(rank); };
    const bool by_nvlink = domain(suspects[0]) == domain(suspects[1]);
    if (by_nvlink && domain(control_.rank()) != domain(suspects[0])) return unreachable;
    for (const Rank rank : suspects) {
      if (rank == control_.rank()) return {};
      if (!tcp_options_.network->reaches(rank, by_nvlink)) unreachable.push_back(rank);
    }
    return unreachable;
  }

  const RunContext& context_;
  const TcpOptions& tcp_options_;
  RankControl& control_;
  bool one_host_ = false;
  std::uint32_t epoch_ = 0;
  std::unique_ptr<Transport> transport_;
  TcpTransport* tcp_ = nullptr;
};

}  // namespace

std::unique_ptr<ProcessSeat> tcp_seat(const RunContext& context, const TcpOptions& tcp,
                                      RankControl& control) {
  return std::make_unique<TcpSeat>(context, tcp, control);
}

void run_tcp_rank(const RunContext& context, const ExecuteOptions& options, const TcpOptions& tcp,
                  RankControl& control) {
  TcpSeat seat(context, tcp, control);
  run_process_rank(context, options, tcp, control, seat);
}

}  // namespace refit::detail
