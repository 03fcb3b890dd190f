#include "base/units.h"

#include <limits>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace refit {

namespace {

// The message `parse(text)` throws, checked to be a complaint about input; "(accepted)" if it
// doesn't.
template <class Parse>
std::string complaint(Parse parse, const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "(accepted)";
}

TEST_CASE("units: bandwidths are exact bytes per second", "[base][units]") {
  CHECK(parse_bandwidth("400 Gbit/s") == 50e9);  // 400e9 / 8
  CHECK(parse_bandwidth("400 Gb/s") == 50e9);    // b is a bit
  CHECK(parse_bandwidth("50 GB/s") == 50e9);     // B is a byte
  CHECK(parse_bandwidth("1.8 TB/s") == 1.8e12);  // equal to the literal, not merely near
  CHECK(parse_bandwidth("0.1 GB/s") == 1e8);
  CHECK(parse_bandwidth("800 Mbit/s") == 1e8);
  CHECK(parse_bandwidth("1.6 Tbit/s") == 2e11);
  CHECK(parse_bandwidth("8 kb/s") == 1000);
  CHECK(parse_bandwidth("8 bit/s") == 1);
  CHECK(parse_bandwidth("3 GiB/s") == 3221225472.0);  // 3 * 2^30
}

TEST_CASE("units: sizes are exact bytes", "[base][units]") {
  CHECK(parse_bytes("64 MiB") == 67'108'864);  // 64 * 2^20
  CHECK(parse_bytes("1.5 GB") == 1'500'000'000);
  CHECK(parse_bytes("512 B") == 512);
  CHECK(parse_bytes("0 B") == 0);
  CHECK(parse_bytes("2 TiB") == 2'199'023'255'552);  // 2 * 2^40
  CHECK(parse_bytes("0.7 kB") == 700);
  CHECK(parse_bytes("1.4 B") == 1);  // to the nearest integer
  CHECK(parse_bytes("1.5 B") == 2);
  CHECK(parse_bytes("9007199254740993 B") == 9'007'199'254'740'993);  // 2^53 + 1 is no double
  CHECK(parse_bytes("9223372036854775807 B") == 9'223'372'036'854'775'807);  // 2^63 - 1
}

TEST_CASE("units: times are the doubles nearest to what is written", "[base][units]") {
  CHECK(parse_seconds("5 us") == 5e-6);
  CHECK(parse_seconds("0.2 ms") == 0.2e-3);
  CHECK(parse_seconds("1 s") == 1);
  CHECK(parse_seconds("300 ns") == 300e-9);
  CHECK(parse_seconds("0 s") == 0);
}

TEST_CASE("units: the space is optional and an exponent may stand", "[base][units]") {
  CHECK(parse_bandwidth("400Gbit/s") == 50e9);
  CHECK(parse_bytes("64  MiB") == 67'108'864);
  CHECK(parse_bytes("1e3 MB") == 1'000'000'000);
  CHECK(parse_bytes("1.5e+1 kB") == 15'000);
  CHECK(parse_seconds("25E-1 us") == 2.5e-6);
}

TEST_CASE("units: a number without a unit is refused", "[base][units]") {
  CHECK(complaint(parse_bandwidth, "400") ==
        "400: a number without a unit; write it like '400 Gbit/s'");
  CHECK(complaint(parse_bytes, "64") == "64: a number without a unit; write it like '64 MiB'");
  CHECK(complaint(parse_seconds, "5 ") == "5 : a number without a unit; write it like '5 us'");
}

TEST_CASE("units: what is not a number is refused", "[base][units]") {
  CHECK(complaint(parse_seconds, "") == "'': not a number with a unit; write it like '5 us'");
  CHECK(complaint(parse_seconds, "us") == "us: not a number with a unit; write it like '5 us'");
  CHECK(complaint(parse_seconds, "nan us") ==
        "nan us: not a number with a unit; write it like '5 us'");
  CHECK(complaint(parse_seconds, "inf s") ==
        "inf s: not a number with a unit; write it like '5 us'");
  CHECK(complaint(parse_bytes, " 64 MiB") ==
        " 64 MiB: not a number with a unit; write it like '64 MiB'");
  CHECK(complaint(parse_bytes, "+64 MiB") ==
        "+64 MiB: not a number with a unit; write it like '64 MiB'");
  CHECK(complaint(parse_bytes, ".5 GB") ==
        ".5 GB: not a number with a unit; write it like '64 MiB'");
  CHECK(complaint(parse_bytes, "5. GB") ==
        "5. GB: not a number with a unit; write it like '64 MiB'");
}

TEST_CASE("units: a negative number is refused", "[base][units]") {
  CHECK(complaint(parse_seconds, "-5 us") == "-5 us: a negative number; write it like '5 us'");
  CHECK(complaint(parse_bytes, "-0 B") == "-0 B: a negative number; write it like '64 MiB'");
}

TEST_CASE("units: zero bandwidth is refused", "[base][units]") {
  CHECK(complaint(parse_bandwidth, "0 GB/s") ==
        "0 GB/s: no bandwidth at all; write it like '400 Gbit/s'");
}

TEST_CASE("units: overflow is refused", "[base][units]") {
  CHECK(complaint(parse_bandwidth, "1e400 GB/s") ==
        "1e400 GB/s: out of range; write it like '400 Gbit/s'");
  CHECK(complaint(parse_bandwidth, "1e300 TB/s") ==
        "1e300 TB/s: out of range; write it like '400 Gbit/s'");  // 1e312 > 1.8e308
  CHECK(complaint(parse_bandwidth, "1e308 KiB/s") ==
        "1e308 KiB/s: out of range; write it like '400 Gbit/s'");  // only after the scale
  CHECK(complaint(parse_seconds, "1e99999999999 s") ==
        "1e99999999999 s: out of range; write it like '5 us'");
  CHECK(complaint(parse_bytes, "9223372036854775808 B") ==
        "9223372036854775808 B: more than 2^63 bytes; write it like '64 MiB'");  // 2^63
  CHECK(complaint(parse_bytes, "10 EB") == "10 EB: unknown unit 'EB'; write it like '64 MiB'");
}

TEST_CASE("units: an unknown unit is answered with what may have been meant", "[base][units]") {
  CHECK(complaint(parse_bandwidth, "400 gb/s") ==
        "400 gb/s: unknown unit 'gb/s'; write it like '400 GB/s' or '400 Gb/s'");
  CHECK(complaint(parse_bandwidth, "400 gbit/s") ==
        "400 gbit/s: unknown unit 'gbit/s'; write it like '400 Gbit/s'");
  CHECK(complaint(parse_bandwidth, "400 Gbps") ==
        "400 Gbps: unknown unit 'Gbps'; write it like '400 Gbit/s'");
  CHECK(complaint(parse_bandwidth, "50 GBps") ==
        "50 GBps: unknown unit 'GBps'; write it like '50 GB/s'");
  CHECK(complaint(parse_bandwidth, "400 Gbit") ==
        "400 Gbit: unknown unit 'Gbit'; write it like '400 Gbit/s'");
  CHECK(complaint(parse_bytes, "64 mib") == "64 mib: unknown unit 'mib'; write it like '64 MiB'");
  CHECK(complaint(parse_bytes, "64 Mb") == "64 Mb: unknown unit 'Mb'; write it like '64 MB'");
  CHECK(complaint(parse_bytes, "64 KB") == "64 KB: unknown unit 'KB'; write it like '64 kB'");
  CHECK(complaint(parse_seconds, "5 MS") == "5 MS: unknown unit 'MS'; write it like '5 ms'");
  CHECK(complaint(parse_seconds, "5 min") == "5 min: unknown unit 'min'; write it like '5 us'");
}

TEST_CASE("units: the wrong kind of quantity and trailing junk are unknown units",
          "[base][units]") {
  CHECK(complaint(parse_seconds, "64 MiB") == "64 MiB: unknown unit 'MiB'; write it like '5 us'");
  CHECK(complaint(parse_bytes, "1,000 MB") ==
        "1,000 MB: unknown unit ',000 MB'; write it like '64 MiB'");
  CHECK(complaint(parse_bytes, "64 MiB x") ==
        "64 MiB x: unknown unit 'MiB x'; write it like '64 MiB'");
  CHECK(complaint(parse_bytes, "0x10 B") == "0x10 B: unknown unit 'x10 B'; write it like '64 MiB'");
}

TEST_CASE("units: a complaint stays on one short line", "[base][units]") {
  // 60 bytes are shown, then the cut.
  CHECK(complaint(parse_bytes, std::string(1000, '7')) ==
        std::string(60, '7') + "...: a number without a unit; write it like '64 MiB'");
  CHECK(complaint(parse_bytes, "a\nb\x01") ==
        "a\\nb\\x01: not a number with a unit; write it like '64 MiB'");
}

}  // namespace

}  // namespace refit
