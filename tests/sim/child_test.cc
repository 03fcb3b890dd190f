#include <csignal>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "sim/detail/child.h"

using namespace refit;

TEST_CASE("child: numbers come back whole, also many", "[sim][child]") {
  constexpr std::size_t kMany = 1'000'000;  // far more than a pipe holds
  const std::vector<double> numbers = detail::run_in_child(kMany, [] {
    std::vector<double> list(kMany);
    for (std::size_t i = 0; i < kMany; ++i) list[i] = static_cast<double>(i) / 3;
    return list;
  });
  REQUIRE(numbers.size() == kMany);
  REQUIRE(numbers[kMany - 1] == static_cast<double>(kMany - 1) / 3);
}

TEST_CASE("child: an error keeps its code and message", "[sim][child]") {
  const auto work = []() -> std::vector<double> { throw Error(ErrorCode::bad_input, "op 3: no"); };
  try {
    detail::run_in_child(1, work);
    FAIL("no error");
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::bad_input);
    REQUIRE(std::string(error.what()) == "op 3: no");
  }
}

TEST_CASE("child: another exception is the environment's", "[sim][child]") {
  const auto work = []() -> std::vector<double> { throw std::runtime_error("no memory"); };
  try {
    detail::run_in_child(1, work);
    FAIL("no error");
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::environment);
    REQUIRE(std::string(error.what()) == "simulation: no memory");
  }
}

TEST_CASE("child: a death names its signal", "[sim][child]") {
  const auto work = []() -> std::vector<double> {
    std::signal(SIGTERM, SIG_DFL);
    std::raise(SIGTERM);
    return {};
  };
  try {
    detail::run_in_child(1, work);
    FAIL("no error");
  } catch (const Error& error) {
    REQUIRE(error.code() == ErrorCode::environment);
    REQUIRE_THAT(error.what(), Catch::Contains("signal 15 (Terminated)"));
  }
}

TEST_CASE("child: leaving without a word is an error", "[sim][child]") {
  const auto work = []() -> std::vector<double> { std::_Exit(9); };
  REQUIRE_THROWS_WITH(detail::run_in_child(1, work),
                      "simulation: its process ended with status 9 and without a result");
}
