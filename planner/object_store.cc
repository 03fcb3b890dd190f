#include <fmt/format.h>

#include "base/error.h"
#include "planner/payloads.h"

namespace refit {

// Every payload is put into a store once, by an owner, and read from there by each domain that
// needs it. Payloads follow one another: the first are read while others are still written.
void object_store(const StrategyInput& input, ScheduleBuilder& builder) {
  const std::size_t stores = input.cluster.spec().stores.size();
  if (stores == 0) {
    throw Error(ErrorCode::bad_input, "the cluster has no object store; add one to cluster.stores");
  }
  if (input.refit.ranks < input.cluster.ranks()) {
    throw Error(
        ErrorCode::bad_input,
        fmt::format("the layouts leave no rank for the object stores: there are {} GPUs and "
                    "stores, and the refit is for {} ranks",
                    input.cluster.ranks(), input.refit.ranks));
  }
  const std::vector<Bundle> bundles = bundles_of(builder.parcels(), input.refit, input.cluster,
                                                 input.options, input.conduct.everything);
  const auto ranks = static_cast<std::size_t>(input.refit.ranks);
  const auto width = static_cast<std::uint16_t>(input.options.in_flight);
  LaneWindow out{std::vector<std::uint16_t>(ranks, width), std::vector<std::uint16_t>(ranks, 0)};
  builder.set_window(kInLane, {out.receive, out.send});
  builder.set_window(kOutLane, std::move(out));

  const std::vector<Payload> payloads = payloads_of(input, bundles, builder);
  builder.begin_phase("put");
  std::vector<OpId> puts;
  for (const Payload& payload : payloads) {
    puts.push_back(builder.transfer({kOutLane, 0}, payload.owner,
                                    input.cluster.store_rank(payload.number % stores),
                                    payload.cargo, payload.range(), payload.ready));
  }
  const int get = builder.begin_phase("get");
  Landing landing(input, bundles, builder);
  for (const Payload& payload : payloads) {
    const Rank store = input.cluster.store_rank(payload.number % stores);
    for (const Bundle::Taker& taker : payload.bundle->takers) {
      builder.continue_phase(get);
      const OpId arrival = builder.transfer({kInLane, 0}, store, payload.entry(taker),
                                            payload.cargo, payload.range(), {puts[payload.number]});
      landing.arrives(payload, taker, arrival);
    }
  }
  landing.finish();
}

}  // namespace refit
