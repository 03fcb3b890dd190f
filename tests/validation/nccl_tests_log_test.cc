#include "validation/nccl_tests_log.h"

#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/error.h"

namespace refit {
namespace {

// The header of a job with `gpus` ranks on each of `hosts` hosts.
std::string header(int hosts, int gpus) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor)\n# Using devices\n";
  for (int rank = 0; rank < hosts * gpus; ++rank)
    text += fmt::format("#  Rank {:2} Group  0 Pid {} on  host{} device  {} [0x1{}] NVIDIA H100\n",
                        rank, 100 + rank, rank / gpus, rank % gpus, rank % gpus);
  return text;
}

std::string error_of(const std::string& text, const std::string& name = "a.log") {
  try {
    read_nccl_tests_log(text, name);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "no error";
}

constexpr const char* kNewRow =
    "  1048576  262144  float  sum  -1  100.0  10.49  18.35  0  101.0  10.38  18.17  0\n";

TEST_CASE("a log with redop and root columns gives operation, ranks, hosts, sizes and times",
          "[validation][nccl_tests]") {
  const auto sweeps = read_nccl_tests_log(
      header(2, 4) + "#       size         count      type   redop    root     time   algbw\n" +
          kNewRow + "# Avg bus bandwidth    : 18\n",
      "logs/a.log");
  REQUIRE(sweeps.size() == 1);
  CHECK(sweeps[0].file == "a.log");
  // 18.35 / 10.49 = 1.75 = 2 * 7/8: only an all-reduce's bus factor is above 1.
  CHECK(sweeps[0].operation == NcclOperation::all_reduce);
  CHECK_FALSE(sweeps[0].told);
  CHECK(sweeps[0].ranks == 8);
  CHECK(sweeps[0].hosts == 2);
  REQUIRE(sweeps[0].points.size() == 1);
  CHECK(sweeps[0].points[0].bytes == 1048576);
  CHECK(sweeps[0].points[0].seconds == Approx(100e-6));
}

TEST_CASE("old columns without redop and root are read, too", "[validation][nccl_tests]") {
  // all_gather's table before 2.11: no redop, no root, and an error that is a float.
  const auto sweeps = read_nccl_tests_log(
      header(1, 4) +
          "# all_gather_perf\n"
          "  4096  256  float  10.00  0.41  0.31  0e+00  11.00  0.37  0.28  4e-07\n",
      "a.log");
  REQUIRE(sweeps.size() == 1);
  CHECK(sweeps[0].operation == NcclOperation::all_gather);
  CHECK(sweeps[0].told);
  CHECK(sweeps[0].points.at(0).seconds == Approx(10e-6));
}

TEST_CASE("tags of srun and mpirun in front of lines and inside of rows are left out",
          "[validation][nccl_tests]") {
  const std::string plain = header(1, 4);
  std::string tagged;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = plain.find('\n', at) + 1;
    tagged += "1: " + plain.substr(at, end - at);
    at = end;
  }
  const std::string row = GENERATE(
      std::string("0:   4096  1024  float  sum  -1  10.0  0.4  0.6  0  N/A  N/A  N/A  N/A\n"),
      std::string(
          "[1,0]<stdout>:   4096  1024  float  sum  -1  10.0  0.4  0.6  0  9.0  0.4  0.6  0\n"),
      std::string("[0]   4096  1024  float  sum  -1[0]  10.0  0.4  0.6  0[0]  9.0  0.4  0.6  0\n"));
  const auto sweeps = read_nccl_tests_log(tagged + row, "all_reduce.log");
  REQUIRE(sweeps.size() == 1);
  CHECK(sweeps[0].ranks == 4);
  CHECK(sweeps[0].hosts == 1);
  CHECK(sweeps[0].points.at(0).seconds == Approx(10e-6));
}

TEST_CASE("times and names that log collectors put in front are left out",
          "[validation][nccl_tests]") {
  const std::string front =
      GENERATE(std::string("2026-01-02T03:04:05.678901Z "), std::string("2026-01-02 03:04:05,678 "),
               std::string("[pod/nccl-worker-0/main] "), std::string("node-a: "),
               std::string("[pod/w-0/main] 2026-01-02T03:04:05Z "));
  CAPTURE(front);
  const std::string plain =
      header(1, 4) + "   4096  1024  float  sum  -1  10.0  0.4  0.6  0  9.0  0.4  0.6  0\n";
  std::string fronted;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = plain.find('\n', at) + 1;
    fronted += front + plain.substr(at, end - at);
    at = end;
  }
  const auto sweeps = read_nccl_tests_log(fronted, "all_reduce.log");
  REQUIRE(sweeps.size() == 1);
  CHECK(sweeps[0].ranks == 4);
  CHECK(sweeps[0].points.at(0).seconds == Approx(10e-6));
}

TEST_CASE("rows without bytes and runs marked N/A are left out", "[validation][nccl_tests]") {
  const auto sweeps = read_nccl_tests_log(
      header(2, 1) +
          "# alltoall_perf\n"
          "  0  0  float  none  -1  5.0  0.00  0.00  0  5.0  0.00  0.00  N/A\n"
          "  0  0  float  none  -1  5.0  0.00  0.00  0  5.0  0.00  0.00  N/A\n"
          "  64  8  float  none  -1  N/A  N/A  N/A  N/A  7.0  0.01  0.01  N/A\n"
          "  128  16  float  none  -1  N/A  N/A  N/A  N/A  N/A  N/A  N/A  N/A\n",
      "a.log");
  REQUIRE(sweeps.size() == 1);
  REQUIRE(sweeps[0].points.size() == 1);
  CHECK(sweeps[0].points[0].seconds == Approx(7e-6));  // in place, as nothing else was timed
}

TEST_CASE("a log with two tables gives two sweeps", "[validation][nccl_tests]") {
  const std::string log = header(1, 2) +
                          "# broadcast_perf\n#  size count\n"
                          "  64  16  float  none  0  5.0  0.01  0.01  0  5.0  0.01  0.01  0\n"
                          "# Avg bus bandwidth    : 0.01\n" +
                          header(2, 2) +
                          "# sendrecv_perf\n#  size count\n"
                          "  32  8  float  sum  -1  6.0  0.01  0.01  0  6.0  0.01  0.01  N/A\n";
  const auto sweeps = read_nccl_tests_log(log, "both.log");
  REQUIRE(sweeps.size() == 2);
  CHECK(sweeps[0].operation == NcclOperation::broadcast);
  CHECK(sweeps[0].ranks == 2);
  CHECK(sweeps[1].operation == NcclOperation::sendrecv);
  CHECK(sweeps[1].ranks == 4);
  CHECK(sweeps[1].hosts == 2);
}

TEST_CASE("hosts are not counted where lines of ranks are missing", "[validation][nccl_tests]") {
  const auto sweeps = read_nccl_tests_log(
      std::string("#  Rank 71 Group  0 Pid  1 on host device  3 [0x01] NVIDIA GB200\n") + kNewRow,
      "a.log");
  CHECK(sweeps.at(0).ranks == 72);
  CHECK(sweeps.at(0).hosts == 0);
}

TEST_CASE("bus factors are those of nccl-tests", "[validation][nccl_tests]") {
  CHECK(bus_factor(NcclOperation::all_reduce, 4) == Approx(1.5));  // 2 * 3/4
  CHECK(bus_factor(NcclOperation::all_gather, 4) == Approx(0.75));
  CHECK(bus_factor(NcclOperation::reduce_scatter, 4) == Approx(0.75));
  CHECK(bus_factor(NcclOperation::alltoall, 4) == Approx(0.75));
  CHECK(bus_factor(NcclOperation::broadcast, 4) == 1);
  CHECK(bus_factor(NcclOperation::sendrecv, 4) == 1);
}

TEST_CASE("a log that can't be used is refused with its line", "[validation][nccl_tests]") {
  const std::string two = header(1, 2);  // four lines
  const auto row = [](const std::string& size, const std::string& time) {
    return size + "  16  float  sum  -1  " + time + "  0.4  0.6  0  9.0  0.4  0.6  0\n";
  };
  CHECK(error_of(two + row("8192", "5.0") + row("4096", "5.0"), "all_reduce.log") ==
        "all_reduce.log:6: size 4096 comes after 8192; sizes of one table increase");
  CHECK(error_of(two + row("8192", "0.00")) ==
        "a.log:5: 8192 bytes in no time; expected a time above 0");
  CHECK(error_of(two + row("8192", "fast")) ==
        "a.log:5: expected a time in microseconds, got 'fast'");
  CHECK(error_of(two + row("8192", "-3")) == "a.log:5: expected a time in microseconds, got '-3'");
  CHECK(error_of(two + "8192  16  float  sum  -1  5.0\n").find("a.log:5: a row of 6 columns") == 0);
  CHECK(error_of(two + "8192 16 float sum -1 5.0 0.4 0.6 3 9.0 0.4 0.6 0\n") ==
        "a.log:5: 3 values are wrong in this run; its times mean nothing");
  CHECK(error_of(two).find("a.log: no row with a size and a time") == 0);
  CHECK(error_of(kNewRow).find("rows without the header's lines") != std::string::npos);
  CHECK(error_of(header(1, 1) + header(1, 1)).find("rank 0 stands here twice") !=
        std::string::npos);
  CHECK(error_of(header(2, 2) + "64 8 float none -1 5.0 0.4 0.3 0 9.0 0.4 0.3 0\n")
            .find("does not say which program wrote it") != std::string::npos);
}

TEST_CASE("whatever is broken in a log, it is read or refused with a sentence",
          "[validation][nccl_tests]") {
  const std::uint32_t seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string whole =
      header(2, 2) + "# all_reduce_perf\n" + kNewRow + "# Avg bus bandwidth\n";
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        default:
          text.insert(at, whole.substr(random() % whole.size(), random() % 40));
      }
    }
    try {
      for (const NcclSweep& sweep : read_nccl_tests_log(text, "a.log"))
        for (const NcclSweep::Point& point : sweep.points) {
          REQUIRE(point.bytes > 0);
          REQUIRE(point.seconds > 0);
        }
    } catch (const Error& error) {
      ++refused;
      REQUIRE(error.code() == ErrorCode::bad_input);
      REQUIRE(std::string(error.what()).find("a.log:") == 0);
    }
  }
  CHECK(refused > 0);
  CHECK(refused < 500);
}

}  // namespace
}  // namespace refit
