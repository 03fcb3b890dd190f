#include "models/expert_placement.h"

#include <random>

#include "tests/models/generation_case.h"

namespace refit::test {
namespace {

using Held = std::vector<std::set<std::int64_t>>;

// The experts of every rank for a layer.
Held held_by_ranks(const ExpertTable& table, int experts, int ranks, int layer = 0) {
  Held held;
  const Split& split = table.split(expert_weight(experts, 8, layer));
  for (int r = 0; r < ranks; ++r) held.push_back(indices(split.piece(experts, ranks, r)));
  return held;
}

Held placed(int experts, int ranks, const ExpertPlacement& placement,
            ExpertTable::Shares shares = ExpertTable::Shares::any) {
  return held_by_ranks(ExpertTable(made_up_model(4, experts), placement, ranks, shares), experts,
                       ranks);
}

ExpertPlacement all_layers(ExpertSlots slots) {
  ExpertPlacement placement;
  placement.maps = {std::move(slots)};
  placement.map_of_rest = 0;
  return placement;
}

std::string refused(int experts, int ranks, const ExpertPlacement& placement) {
  return refusal([&] { placed(experts, ranks, placement); });
}

}  // namespace

TEST_CASE("expert placement: linear is contiguous, and the first ranks have one more",
          "[models][experts]") {
  REQUIRE(placed(6, 4, {}) == Held{{0, 1}, {2, 3}, {4}, {5}});
  REQUIRE(placed(6, 3, {}) == Held{{0, 1}, {2, 3}, {4, 5}});
  REQUIRE(placed(2, 3, {}) == Held{{0}, {1}, {}});
}

TEST_CASE("expert placement: round robin deals experts out one by one", "[models][experts]") {
  ExpertPlacement placement;
  placement.rule = "round_robin";
  REQUIRE(placed(8, 4, placement) == Held{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  REQUIRE(placed(7, 3, placement) == Held{{0, 3, 6}, {1, 4}, {2, 5}});
}

TEST_CASE("expert placement: redundant slots begin again at expert 0", "[models][experts]") {
  // Slots 0 1 2 | 3 4 5 | 0 1 2.
  ExpertPlacement placement;
  placement.redundant = 3;
  REQUIRE(placed(6, 3, placement) == Held{{0, 1, 2}, {3, 4, 5}, {0, 1, 2}});
  placement.redundant = 9;  // 0 .. 4 | 5 0 1 2 3 | 4 5 0 1 2: the rest wraps more than once
  REQUIRE(placed(6, 3, placement) == Held{{0, 1, 2, 3, 4}, {0, 1, 2, 3, 5}, {0, 1, 2, 4, 5}});
}

TEST_CASE("expert placement: a live map has several slots for an expert, on one rank or more",
          "[models][experts]") {
  // Two slots of rank 0 hold expert 3: it needs one copy from afar.
  REQUIRE(placed(4, 2, all_layers({{3, 3, 0, 1, 2, 3}, {}})) == Held{{0, 3}, {1, 2, 3}});
  // Slots of every rank: any number.
  REQUIRE(placed(4, 3, all_layers({{3, 0, 1, 2}, {1, 3, 0}})) == Held{{3}, {0, 1, 2}, {}});
}

TEST_CASE("expert placement: each layer has its own map, and equal maps are one",
          "[models][experts]") {
  ExpertPlacement placement;
  placement.maps = {{{1, 0}, {}}, {{0, 1}, {}}, {{1, 0}, {}}};
  placement.map_of_layer = {{0, 0}, {1, 1}, {2, 2}};  // layer 3: linear
  const ExpertTable table(made_up_model(4, 2), placement, 2, ExpertTable::Shares::any);
  REQUIRE(held_by_ranks(table, 2, 2, 0) == Held{{1}, {0}});
  REQUIRE(held_by_ranks(table, 2, 2, 1) == Held{{0}, {1}});
  REQUIRE(held_by_ranks(table, 2, 2, 2) == Held{{1}, {0}});
  REQUIRE(held_by_ranks(table, 2, 2, 3) == Held{{0}, {1}});
  const auto key = [&](int layer) { return table.key(expert_weight(2, 8, layer)); };
  REQUIRE(key(0) == key(2));
  REQUIRE(key(0) != key(1));
  REQUIRE(table.key(without_layer(expert_weight(2, 8))) == key(3));  // a prediction module
  REQUIRE(table.key(weight({{8, Axis::ffn, {}}}, Role::dense_ffn)) == 0);
}

TEST_CASE("expert placement: what does not fit is refused", "[models][experts]") {
  ExpertPlacement redundant;
  redundant.redundant = 3;
  REQUIRE(refused(8, 4, redundant) ==
          "redundant_experts: 8 experts and 3 more are 11 slots, which do not divide over 4 ranks; "
          "use 8 or 12 slots");
  redundant.rule = "round_robin";
  REQUIRE(refused(8, 4, redundant) ==
          "redundant_experts: slots are dealt out linearly, not by round_robin; leave "
          "expert_placement out");
  REQUIRE(refused(4, 3, all_layers({{0, 1, 2, 3}, {}})) ==
          "expert_slots: 4 slots do not divide over 3 ranks; use 6 slots");
  REQUIRE(refused(4, 3, all_layers({{0, 1, 2, 3}, {2, 2}})) ==
          "expert_slots: slots of 2 ranks are listed, but 3 ranks share experts");
  REQUIRE(refused(4, 2, all_layers({{0, 1, 2, 4}, {}})) ==
          "expert_slots: there is no expert 4; the model has experts 0 to 3");
  REQUIRE(refused(4, 2, all_layers({{0, 1, 3, 3}, {}})) ==
          "expert_slots: expert 2 has no slot; every expert needs one");
}

TEST_CASE("expert placement: random maps against slots counted one by one",
          "[models][experts][oracle]") {
  const unsigned seed = 20;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 200; ++round) {
    const int ranks = pick(1, 9), experts = pick(1, 20);
    int slots = experts + pick(0, 8);
    slots += (ranks - slots % ranks) % ranks;
    ExpertSlots map;
    for (int s = 0; s < slots; ++s) map.experts.push_back(s < experts ? s : pick(0, experts - 1));
    std::shuffle(map.experts.begin(), map.experts.end(), random);
    const Held held = placed(experts, ranks, all_layers(map));
    for (int r = 0; r < ranks; ++r) {
      std::set<std::int64_t> expected;
      for (int s = 0; s < slots; ++s) {
        if (s / (slots / ranks) == r) expected.insert(map.experts[static_cast<std::size_t>(s)]);
      }
      REQUIRE(held[static_cast<std::size_t>(r)] == expected);
    }
  }
}

}  // namespace refit::test
