#include "planner/choose.h"

#include <algorithm>

#include <catch2/catch.hpp>

namespace refit {
namespace {

// A candidate whose ensemble reaches `spread_s` from end to end, with its prediction in the middle.
Candidate varied(const char* name, std::int64_t ops, double seconds, double spread_s) {
  return {name, ops, seconds, Ensemble{seconds - spread_s / 2, seconds, seconds + spread_s / 2}};
}

std::size_t lines(const std::string& text) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

using Indices = std::vector<std::size_t>;

}  // namespace

TEST_CASE("choose: only plans within 5 % of the best need an ensemble", "[planner][choose]") {
  CHECK(close_to_best({{"a", 1, 1.04}, {"b", 1, 1.0}, {"c", 1, 1.06}}) == Indices{0, 1});
  CHECK(close_to_best({{"a", 1, 1.06}, {"b", 1, 1.0}, {"c", 1, 2.0}}).empty());
  CHECK(close_to_best({{"a", 1, 1.0}}).empty());
}

TEST_CASE("choose: a plan that is far ahead is taken, however many ops it has",
          "[planner][choose]") {
  const Choice choice = choose({{"slow", 1, 3.0}, {"fast", 1000, 1.0}, {"next", 10, 1.25}});
  CHECK(choice.index == 1);
  CHECK(choice.reason ==
        "predicted 1.00 s; the next, next, takes 1.25 s,\n25 % longer, more than link rates that "
        "differ by 1 % explain");
}

TEST_CASE("choose: what differs by less than the spread is a tie, and fewer ops win",
          "[planner][choose]") {
  // 20 ms apart; the slower one's times reach over 40 ms.
  const std::vector<Candidate> candidates{varied("optimal", 5000, 1.00, 0.02),
                                          varied("reshard", 1200, 1.02, 0.04),
                                          {"direct", 10, 1.5}};
  const Choice choice = choose(candidates);
  CHECK(choice.index == 1);
  CHECK(choice.reason ==
        "1.00 s to 1.04 s if link rates differ by 1 %, as fast as optimal (990.00 ms to 1.01 s),\n"
        "and with the fewest ops, 1,200");
}

TEST_CASE("choose: equal ops leave a tie to the order of the list", "[planner][choose]") {
  const Choice choice = choose(
      {varied("reshard", 12, 1.001, 0.01), varied("direct", 12, 1.0, 0.01), {"hybrid", 1, 2.0}});
  CHECK(choice.index == 0);
  CHECK(choice.reason ==
        "996.00 ms to 1.01 s if link rates differ by 1 %, as fast as direct (995.00 ms to 1.00 "
        "s),\nand nobody has fewer ops, 12");
}

TEST_CASE("choose: a plan that is close but always slower is no tie", "[planner][choose]") {
  const Choice choice =
      choose({varied("few", 1, 1.03, 0.02), varied("fast", 9, 1.0, 0.02), varied("x", 5, 1.04, 0)});
  CHECK(choice.index == 1);
  CHECK(choice.reason ==
        "990.00 ms to 1.01 s if link rates differ by 1 %,\nagainst few (1.02 s to 1.04 s), the "
        "next");
}

TEST_CASE("choose: medians decide, not the prediction of the exact rates", "[planner][choose]") {
  // "lucky" is ahead by a chance order of its transfers; on clusters a little different it is not.
  const Choice choice = choose({{"lucky", 1, 0.98, Ensemble{1.02, 1.03, 1.035}},
                                {"steady", 9, 1.0, Ensemble{0.995, 1.0, 1.005}}});
  CHECK(choice.index == 1);
}

TEST_CASE("choose: one candidate is taken without comparison", "[planner][choose]") {
  const Choice choice = choose({{"only", 1, 1.0}});
  CHECK(choice.index == 0);
  CHECK(choice.reason == "predicted 1.00 s;\nthere is no other candidate");
}

TEST_CASE("choose: the reason has two lines", "[planner][choose]") {
  CHECK(lines(choose({{"a", 1, 1.0}, {"b", 1, 2.0}}).reason) == 2);
  CHECK(lines(choose({varied("a", 1, 1.0, 0), varied("b", 1, 1.01, 0)}).reason) == 2);
  CHECK(lines(choose({varied("a", 1, 1.0, 1), varied("b", 1, 1.01, 1), varied("c", 1, 1.01, 1)})
                  .reason) == 2);
}

}  // namespace refit
