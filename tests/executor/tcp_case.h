#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "executor/execute_tcp.h"
#include "schedule/verify.h"
#include "tests/executor/slowdown.h"
#include "tests/support/m2n_case.h"

namespace refit::test {

// A plan and what it is for.
struct TcpCase {
  Refit refit;
  Cluster cluster;
  Schedule schedule;
};

inline TcpCase planned(const M2nCase& c, const char* strategy, const PlanOptions& options = {}) {
  Refit refit = make_refit(c);
  Cluster cluster = make_cluster(c);
  Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
  return {std::move(refit), std::move(cluster), std::move(schedule)};
}

inline ExecuteOptions once() {
  ExecuteOptions options;
  options.iterations = 1;
  options.warmup = 0;
  return options;
}

// For tests that are not about time: waiting for a core is no fault, nor is a slow build.
inline TcpOptions patient() {
  TcpOptions tcp;
  tcp.failure.timeout_s = 5 * kSlowdown;
  tcp.failure.stall_timeout_s = 30 * kSlowdown;
  return tcp;
}

inline Measurement run(const TcpCase& c, const ExecuteOptions& options = once(),
                       const TcpOptions& tcp = patient()) {
  return execute_tcp(c.schedule, c.refit, c.cluster, options, tcp);
}

// Open descriptors of this process.
inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// A rank's transport with something done to what it sends.
class Tampering : public Transport {
 public:
  explicit Tampering(std::unique_ptr<Transport> real) : real_(std::move(real)) {}

  void send(Message message) override { real_->send(tamper(std::move(message))); }
  void receive(Message message) override { real_->receive(std::move(message)); }
  void wait(std::vector<Ended>& ended) override {
    real_->wait(ended);
    after_wait(ended);
  }
  bool in_groups() const override { return real_->in_groups(); }

 protected:
  virtual Message tamper(Message message) { return message; }
  virtual void after_wait(const std::vector<Ended>&) {}

 private:
  std::unique_ptr<Transport> real_;
};

}  // namespace refit::test
