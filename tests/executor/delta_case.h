#pragma once

#include <cstdint>
#include <utility>

#include "executor/delta/execute_delta.h"
#include "schedule/verify.h"
#include "tests/support/m2n_case.h"

namespace refit::test {

// A plan that sends changes, and what it is for.
struct DeltaCase {
  Refit refit;
  Cluster cluster;
  Schedule schedule;
};

inline DeltaCase delta_case(const M2nCase& c, const char* strategy = "delta_reshard",
                            Codec codec = Codec::rice, int chunks = 3) {
  Refit refit = make_refit(c);
  Cluster cluster = make_cluster(c);
  PlanOptions options;
  options.chunks = chunks;
  options.bucket_bytes = 3000;
  DeltaOptions delta;
  delta.coding.codec = codec;
  delta.shares.assign(refit.classes.size(), 0.01);
  delta.words = "as tested";
  options.delta = std::move(delta);
  Schedule schedule = plan(refit, cluster, named_policy(strategy), options);
  return {std::move(refit), std::move(cluster), std::move(schedule)};
}

// Small shards and a trainer that changes a hundredth of them in each step.
inline DeltaRunOptions versions(int count) {
  DeltaRunOptions options;
  options.versions = count;
  options.moves.piece_bytes = 64;
  return options;
}

}  // namespace refit::test
