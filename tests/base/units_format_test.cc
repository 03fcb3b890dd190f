#include <cstdint>
#include <limits>

#include <catch2/catch.hpp>

#include "base/units.h"

namespace refit {

namespace {

TEST_CASE("units: bytes print with a decimal prefix and two decimals", "[base][units]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1000) == "1.00 kB");
  CHECK(format_bytes(67'108'864) == "67.11 MB");  // 64 MiB
  CHECK(format_bytes(470.19e9) == "470.19 GB");
  CHECK(format_bytes(1.34e12) == "1.34 TB");
  CHECK(format_bytes(2.5) == "2.50 B");  // a mean of counts
  CHECK(format_bytes(-1500) == "-1.50 kB");
}

TEST_CASE("units: a value that rounds to 1000 takes the next prefix", "[base][units]") {
  CHECK(format_bytes(999.994e9) == "999.99 GB");
  CHECK(format_bytes(999.996e9) == "1.00 TB");
  CHECK(format_seconds(0.999996) == "1.00 s");
  CHECK(format_bandwidth(124.996e9) == "1.0 Tbit/s");  // 999.968 Gbit/s
}

TEST_CASE("units: seconds print from ns to s", "[base][units]") {
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(300e-9) == "300.00 ns");
  CHECK(format_seconds(5e-6) == "5.00 us");
  CHECK(format_seconds(3.4e-3) == "3.40 ms");
  CHECK(format_seconds(1.18) == "1.18 s");
  CHECK(format_seconds(3600) == "3600.00 s");
  CHECK(format_seconds(0.1e-9) == "0.10 ns");
}

TEST_CASE("units: bandwidths print in bits, as ports are sold", "[base][units]") {
  CHECK(format_bandwidth(50e9) == "400.0 Gbit/s");
  CHECK(format_bandwidth(900e9) == "7.2 Tbit/s");
  CHECK(format_bandwidth(1.25e6) == "10.0 Mbit/s");
}

TEST_CASE("units: no value makes formatting fail", "[base][units]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(format_bytes(kInfinity) == "inf EB");
  CHECK(format_seconds(kInfinity) == "inf s");
  CHECK(format_bandwidth(kInfinity) == "inf Tbit/s");
}

TEST_CASE("units: counts are grouped by thousands", "[base][units]") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(249'756) == "249,756");
  CHECK(format_count(-1'234'567) == "-1,234,567");
  CHECK(format_count(-123) == "-123");
  CHECK(format_count(std::numeric_limits<std::int64_t>::min()) == "-9,223,372,036,854,775,808");
}

}  // namespace

}  // namespace refit
