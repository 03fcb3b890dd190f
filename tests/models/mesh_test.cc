#include "models/mesh.h"

#include <functional>
#include <set>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/models/check_fails.h"

namespace refit::test {
namespace {

std::vector<int> numbers(const std::vector<Rank>& ranks) {
  std::vector<int> values;
  for (const Rank rank : ranks) values.push_back(rank.value);
  return values;
}

std::vector<Rank> ranks_of(const std::vector<int>& values) {
  std::vector<Rank> ranks;
  for (const int value : values) ranks.push_back(Rank(value));
  return ranks;
}

Rank at(const Mesh& mesh, std::vector<int> coordinate) { return mesh.rank_at(coordinate); }

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("mesh: a strided view of the line of ranks", "[models][mesh]") {
  const Mesh mesh(Rank(16), {{"pp", 2, 4}, {"tp", 4, 1}});
  REQUIRE(mesh.size() == 8);
  REQUIRE(numbers(mesh.ranks()) == std::vector<int>{16, 17, 18, 19, 20, 21, 22, 23});
  REQUIRE(at(mesh, {1, 2}).value == 22);
  REQUIRE(mesh.axis_index("pp") == 0);
  REQUIRE(mesh.axis_index("tp") == 1);
  REQUIRE(mesh.axis_index("ep") == -1);
  REQUIRE(mesh == Mesh::row_major(Rank(16), {{"pp", 2}, {"tp", 4}}));

  // The same ranks, the other axis fastest; and a grid with gaps.
  const Mesh turned(Rank(16), {{"pp", 2, 1}, {"tp", 4, 2}});
  REQUIRE(numbers(turned.ranks()) == std::vector<int>{16, 18, 20, 22, 17, 19, 21, 23});
  const Mesh gaps(Rank(1), {{"a", 2, 10}, {"b", 3, 2}});
  REQUIRE(numbers(gaps.ranks()) == std::vector<int>{1, 3, 5, 11, 13, 15});
  const Mesh backwards(Rank(3), {{"a", 4, -1}});
  REQUIRE(numbers(backwards.ranks()) == std::vector<int>{3, 2, 1, 0});
}

TEST_CASE("mesh: over a rank list, the last axis is fastest and strides are ignored",
          "[models][mesh]") {
  const Mesh mesh(ranks_of({9, 2, 7, 4, 5, 0}), {{"a", 2, 77}, {"b", 3, 0}});
  REQUIRE(numbers(mesh.ranks()) == std::vector<int>{9, 2, 7, 4, 5, 0});
  REQUIRE(at(mesh, {0, 2}).value == 7);
  REQUIRE(at(mesh, {1, 0}).value == 4);
  REQUIRE(numbers(mesh.slice("a", 1).ranks()) == std::vector<int>{4, 5, 0});
  REQUIRE(numbers(mesh.slice("b", 1).ranks()) == std::vector<int>{2, 5});
  REQUIRE(numbers(mesh.slice("b", 1).slice("a", 1).ranks()) == std::vector<int>{5});
}

TEST_CASE("mesh: without axes it is one rank", "[models][mesh]") {
  const Mesh one(Rank(5), {});
  REQUIRE(one.size() == 1);
  REQUIRE(numbers(one.ranks()) == std::vector<int>{5});
  REQUIRE(one.coordinate_of(0).empty());
}

TEST_CASE("mesh: the i-th coordinate is that of the i-th rank", "[models][mesh]") {
  const Mesh mesh = GENERATE(Mesh(Rank(16), {{"a", 2, 1}, {"b", 3, 2}, {"c", 4, 6}}),
                             Mesh::row_major(Rank(0), {{"a", 3}, {"b", 1}, {"c", 5}}),
                             Mesh(ranks_of({9, 2, 7, 4, 5, 0}), {{"a", 3, 1}, {"b", 2, 1}}));
  const std::vector<Rank> ranks = mesh.ranks();
  REQUIRE(static_cast<int>(ranks.size()) == mesh.size());
  for (int i = 0; i < mesh.size(); ++i) {
    REQUIRE(mesh.rank_at(mesh.coordinate_of(i)) == ranks[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("mesh: the slices of an axis divide the ranks, in order", "[models][mesh]") {
  const Mesh mesh = GENERATE(Mesh(Rank(16), {{"a", 2, 1}, {"b", 3, 2}, {"c", 4, 6}}),
                             Mesh(ranks_of({9, 2, 7, 4, 5, 0}), {{"a", 3, 1}, {"b", 2, 1}}));
  for (const MeshAxis& axis : mesh.axes()) {
    CAPTURE(axis.name);
    const auto pinned = static_cast<std::size_t>(mesh.axis_index(axis.name));
    std::set<Rank> all;
    for (int i = 0; i < axis.size; ++i) {
      const Mesh part = mesh.slice(axis.name, i);
      REQUIRE(part.axis_index(axis.name) == -1);
      std::vector<Rank> expected;
      for (int r = 0; r < mesh.size(); ++r) {
        if (mesh.coordinate_of(r)[pinned] == i)
          expected.push_back(mesh.ranks()[static_cast<std::size_t>(r)]);
      }
      REQUIRE(part.ranks() == expected);
      all.insert(expected.begin(), expected.end());
    }
    REQUIRE(static_cast<int>(all.size()) == mesh.size());
  }
}

TEST_CASE("mesh: bad axes and ranks are refused", "[models][mesh]") {
  REQUIRE(refusal([] {
            Mesh(Rank(0), {{"tp", 0, 1}});
          }) == "mesh axis 'tp' has size 0; use 1 or more");
  REQUIRE(refusal([] {
            Mesh::row_major(Rank(0), {{"pp", 2}, {"tp", -4}});
          }) == "mesh axis 'tp' has size -4; use 1 or more");
  REQUIRE(refusal([] {
            Mesh(Rank(0), {{"tp", 2, 1}, {"tp", 2, 2}});
          }) == "mesh axis 'tp' is named twice; give each axis its own name");
  // Coordinates (0, 2) and (1, 0) are both rank 2.
  REQUIRE(refusal([] {
            Mesh(Rank(0), {{"a", 2, 2}, {"b", 3, 1}});
          }) == "mesh names rank 2 twice; each coordinate needs its own rank");
  REQUIRE(refusal([] {
            Mesh(ranks_of({3, 1, 3}), {{"a", 3, 1}});
          }) == "mesh names rank 3 twice; each coordinate needs its own rank");
  REQUIRE(refusal([] {
            Mesh(Rank(1), {{"a", 3, -1}});
          }) == "mesh names rank -1; ranks count from 0");
  REQUIRE(refusal([] {
            Mesh(ranks_of({0, 1, 2}), {{"a", 2, 1}, {"b", 2, 1}});
          }) == "mesh axes make 4 coordinates but 3 ranks are listed; make them equal");
  REQUIRE(refusal([] {
            Mesh(std::vector<Rank>{}, {{"a", 1, 1}});
          }) == "mesh axes make 1 coordinates but 0 ranks are listed; make them equal");
  REQUIRE(refusal([] {
            Mesh(Rank(0), {{"a", 1'000'001, 1}});
          }) == "mesh has more than 1000000 ranks; use fewer");
  // Strides of such sizes do not fit an int; they must not overflow before sizes are looked at.
  REQUIRE(refusal([] {
            Mesh::row_major(Rank(0), {{"a", 70'000}, {"b", 70'000}, {"c", 70'000}});
          }) == "mesh has more than 1000000 ranks; use fewer");
}

TEST_CASE("mesh: a slice of what is not there is a bug of the caller", "[models][mesh]") {
  const Mesh mesh = Mesh::row_major(Rank(0), {{"pp", 2}, {"tp", 4}});
  REQUIRE_THAT(check_failure([&] { mesh.slice("ep", 0); }), Catch::Contains("'a >= 0'"));
  REQUIRE_THAT(check_failure([&] { mesh.slice("pp", 2); }),
               Catch::Contains("coordinate < axes_[at].size"));
  REQUIRE_THAT(check_failure([&] { at(mesh, {0}); }),
               Catch::Contains("coordinate.size() == axes_.size()"));
}

}  // namespace refit::test
