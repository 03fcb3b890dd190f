#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "executor/rank_network.h"
#include "topology/cluster.h"

namespace refit {

enum class LabShaping {
  automatic,  // by the kernel where it can, else by the transport
  kernel,
  user,  // links are open; the transport keeps the rates with token buckets
};

struct LabOptions {
  int mtu = 9000;
  // One queue per peer on every port, served in turn: true max-min rates for single transfers. A
  // plain queue gives right makespans, but lets single transfers end up to 1.7 x early or late.
  bool fair = false;
  // What an idle port lets through at once. Under 64 KiB the kernel has to cut its large packets up
  // again, which costs 2 to 4 times the CPU; much more shows as a rate above the link's.
  int burst_bytes = 70000;
  // The same in time, where that is more bytes: a shaper that the machine serves late by more than
  // this loses rate (NVLink at 1.8 Gbit/s beside a busy compiler: 0.93 x with 0.3 ms, 0.98 x with
  // 2 ms). An idle port's first transfer ends early by as much.
  double burst_s = 2e-3;
  // A port's queue; 0: room for a window from every rank, so that nothing is ever dropped.
  std::int64_t queue_bytes = 0;
  LabShaping shaping = LabShaping::automatic;
  bool prove = true;  // run_in_lab first measures one flow per kind of link
};

// Share of a link's rate that reaches the program: the shaper counts Ethernet, IP and TCP headers.
// 1 where the transport shapes, since it counts payload.
double lab_goodput(const LabOptions& options);

// A cluster emulated on this machine. Every rank has a network namespace of its own with nic0 and,
// unless it is alone in its domain, nvl0; bridges stand for the network and the NVLink switches,
// shapers on both ends of each link for its rate.
//
//   rank 0: nic0 --- leaf 0 --- trunk --- site --- trunk --- leaf 1 --- nic0 :rank 4
//           nvl0 --- domain 0 --- nvl0 :rank 1
//
// Addresses are 198.18.x.y for NICs and 198.19.x.y for NVLink, a range kept free for benchmarks;
// nothing is joined to this machine's own network. Latency is not emulated.
//
// The namespaces are held by file descriptors: they vanish with the value, or with the process.
class Lab : public RankNetwork {
 public:
  // Needs network administration rights, as run_in_lab gives them. Error(bad_input) if the cluster
  // has a link that a lab cannot stand for; Error(environment) quotes what the system refuses.
  explicit Lab(const Cluster& cluster, const LabOptions& options = {});
  ~Lab() override;
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  // As given, with the shaping decided.
  const LabOptions& options() const;
  // Why the kernel does not shape; empty if it does or was not asked.
  const std::string& shaping_refusal() const;

  void enter(Rank rank) override;
  // A rank alone in its domain has no NVLink peers: it is given its loopback address.
  std::string address(Rank rank, bool by_nvlink) const override;
  // Takes the far end of the port down.
  void darken(Rank rank, bool nvlink) override;
  bool can_darken() const override { return true; }
  bool reaches(Rank rank, bool by_nvlink) const override;

  // Sends one flow over every kind of link. Error(environment), with the numbers, if one does not
  // reach its rate within 2 %.
  void prove_rates();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Builds the lab in a process of its own, with its own user (unless root), network and process
// namespaces, runs `work` there and returns its text. However that process or this one dies, the
// kernel ends all processes that were started inside and frees the namespaces. Errors of `work`
// come out as they are; a crash is Error(environment). To be called while this process has one
// thread.
std::string run_in_lab(const Cluster& cluster, const LabOptions& options,
                       const std::function<std::string(Lab&)>& work);

}  // namespace refit
