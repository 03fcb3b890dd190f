#include "planner/payloads.h"

namespace refit {
namespace {

class Relays {
 public:
  Relays(const StrategyInput& input, const std::vector<Bundle>& bundles, ScheduleBuilder& builder)
      : builder_(builder),
        cross_(builder.begin_phase("cross")),
        relay_(builder.begin_phase("relay")),
        landing_(input, bundles, builder) {}

  void finish() { landing_.finish(); }

  // Payload k comes first to the k-th of its takers. From there it goes down a binary tree of all
  // of them, or from each to the next; a domain near the root of one payload is a leaf of others.
  void add(const Payload& payload, Relay relay) {
    const std::vector<Bundle::Taker>& takers = payload.bundle->takers;
    const auto at = [&](std::size_t place) -> const Bundle::Taker& {
      return takers[(payload.number + place) % takers.size()];
    };
    std::vector<OpId> arrivals = {cross(payload, at(0))};
    for (std::size_t place = 1; place < takers.size(); ++place) {
      const std::size_t parent = relay == Relay::ring ? place - 1 : (place - 1) / 2;
      builder_.continue_phase(relay_);
      arrivals.push_back(builder_.transfer({kInLane, 0}, payload.entry(at(parent)),
                                           payload.entry(at(place)), payload.cargo, payload.range(),
                                           {arrivals[parent]}));
    }
    for (std::size_t place = 0; place < takers.size(); ++place)
      landing_.arrives(payload, at(place), arrivals[place]);
  }

 private:
  OpId cross(const Payload& payload, const Bundle::Taker& root) {
    builder_.continue_phase(cross_);
    return builder_.transfer({kOutLane, 0}, payload.owner, payload.entry(root), payload.cargo,
                             payload.range(), payload.ready);
  }

  ScheduleBuilder& builder_;
  const int cross_, relay_;  // phases
  Landing landing_;
};

}  // namespace

// Every payload leaves an owner once, for one of the domains that need it, which relays it to the
// others. Relays send what has come as it comes, to each child as if it were the only one: a late
// payload holds no other back.
void relay_tree(const StrategyInput& input, ScheduleBuilder& builder) {
  const std::vector<Bundle> bundles = bundles_of(builder.parcels(), input.refit, input.cluster,
                                                 input.options, input.conduct.everything);
  const auto ranks = static_cast<std::size_t>(input.refit.ranks);
  const auto width = static_cast<std::uint16_t>(input.options.in_flight);
  const std::vector<std::uint16_t> any(ranks, 0);
  builder.set_window(kOutLane, {std::vector<std::uint16_t>(ranks, width), any});
  builder.set_window(kInLane, {any, any});
  const std::vector<Payload> payloads = payloads_of(input, bundles, builder);
  Relays relays(input, bundles, builder);
  for (const Payload& payload : payloads) relays.add(payload, input.options.relay);
  relays.finish();
}

}  // namespace refit
