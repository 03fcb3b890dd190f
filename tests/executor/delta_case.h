#pragma once

#include <cstdint>
#include <string_view>
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

// A strategy of stores gets one, and many small payloads, one at a time.
inline DeltaCase delta_case(const M2nCase& c, std::string_view strategy = "delta_reshard",
                            Codec codec = Codec::rice, int chunks = 3) {
  Refit refit = make_refit(c);
  Cluster cluster = make_cluster(c);
  PlanOptions options;
  if (strategy.find("object_store") != std::string_view::npos) {
    ClusterSpec spec = cluster.spec();
    spec.stores = {{"s3", 0, 10e9, 1e9, 8, 0.001, 1 << 20}};
    cluster = Cluster(std::move(spec));
    refit.ranks = cluster.ranks();
    options.payload_bytes = 500;
    options.in_flight = 1;
  }
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
