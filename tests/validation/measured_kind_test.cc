#include "validation/measured_kind.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace refit {
namespace {

TEST_CASE("a file is told by its content", "[validation][calibrate]") {
  CHECK(measured_kind("id,system,time_s\n1,a,2\n", "f") == MeasuredKind::published_rows);
  CHECK(measured_kind("# nThread 1 nGpus 1 minBytes 8\n", "f") == MeasuredKind::nccl_tests_log);
  CHECK(measured_kind("hello\n[0] 8 2 float sum -1[0] 5.0 0.1 0.1 0[0] 5.0 0.1 0.1 0\n", "f") ==
        MeasuredKind::nccl_tests_log);
  CHECK(measured_kind("Parameter Pattern   Count  T_MB_min\n", "f") == MeasuredKind::m2n_bench);
  CHECK(measured_kind("{\n  \"schema\": \"refit.measurement/1\"", "f") ==
        MeasuredKind::refit_measurement);
}

TEST_CASE("a file of another kind is named", "[validation][calibrate]") {
  const auto says = [](const std::string& text) {
    try {
      measured_kind(text, "f");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::bad_input);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(says("<graphs version=\"1\">").find("f: this is an NCCL graph file; expected ") == 0);
  CHECK(says("<system version=\"1\">").find("f: this is an NCCL topology file") == 0);
  CHECK(says("\tGPU0\tGPU1\nGPU0\t X \tNV18\n").find("f: this is a matrix of nvidia-smi") == 0);
  CHECK(says("{\"schema\": \"refit.schedule/1\"}").find("f: this is a plan of refit") == 0);
  CHECK(says("scenario: a\n").find("f: this is a scenario") == 0);
  CHECK(says(" \n\n").find("f: the file is empty") == 0);
  CHECK(says(std::string("a\nb\0c", 5)).find("f:2: this is no text but binary") == 0);
  CHECK(says("hello\n").find("f: this is none of the files") == 0);
  CHECK(says(std::string(kMostMeasuredBytes + 1, 'a')) ==
        "f: larger than 64 MiB; of a log the header and the tables are enough");
}

}  // namespace
}  // namespace refit
