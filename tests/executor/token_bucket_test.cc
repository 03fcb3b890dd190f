#include "executor/token_bucket.h"

#include <catch2/catch.hpp>

namespace refit::test {

TEST_CASE("token bucket: a full one gives its burst, then the rate", "[executor]") {
  TokenBucket bucket(1e6, 10.0);  // 1 MB/s: a millisecond is 1000 bytes
  REQUIRE(bucket.available(10.0) == 1000);
  bucket.take(1000);
  REQUIRE(bucket.available(10.0) == 0);
  REQUIRE(bucket.ready_at_s(500) == Approx(10.0005));
  REQUIRE(bucket.available(10.0005) == Approx(500).margin(1));
  REQUIRE(bucket.available(20.0) == 1000);  // no more than the burst, however long it was idle
}

TEST_CASE("token bucket: more than the burst is ready when the bucket is full", "[executor]") {
  TokenBucket bucket(1e6, 0.0);
  bucket.take(bucket.available(0.0));
  REQUIRE(bucket.ready_at_s(1'000'000) == Approx(1e-3));
}

TEST_CASE("token bucket: a clock that stands still or steps back gives nothing", "[executor]") {
  TokenBucket bucket(1e6, 5.0);
  bucket.take(1000);
  REQUIRE(bucket.available(4.0) == 0);
  REQUIRE(bucket.available(5.0) == 0);
}

TEST_CASE("token bucket: however slow, a byte passes in the end", "[executor]") {
  TokenBucket bucket(10, 0.0);
  bucket.take(1);
  REQUIRE(bucket.available(0.05) == 0);
  REQUIRE(bucket.available(0.11) == 1);
}

}  // namespace refit::test
