#include "report/measurement_json.h"

#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/report/run_sample.h"

namespace refit {
namespace {

std::string written(const RunReport& report) {
  std::ostringstream out;
  write_measurement(out, report);
  return out.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// What reading the sample says after one change in its text.
std::string error_after(const std::string& from, const std::string& to) {
  try {
    read_measurement(replaced(written(sample_run()), from, to), "run.json");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    return error.what();
  }
  return "no error";
}

TEST_CASE("a measurement's JSON has the members that its page lists", "[report][measurement]") {
  const nlohmann::json document = nlohmann::json::parse(written(sample_run()));
  CHECK(document.at("schema") == "refit.measurement/1");
  CHECK(document.at("scenario") == "sample");
  CHECK(document.at("strategy") == "reshard");
  CHECK(document.at("transport") == "tcp");
  CHECK(document.at("ranks") == 8);
  CHECK(document.at("scale").at("factor") == 0.0005);
  CHECK(document.at("measured_s") == nlohmann::json{{"min", 1.0}, {"median", 2.0}, {"max", 3.0}});
  CHECK(document.at("predicted_s") == 1.6);
  CHECK(document.at("ratio") == 1.25);  // 2 / 1.6
  CHECK(document.at("wrong_bytes") == 0);
  CHECK(document.at("graded") == true);
  CHECK_FALSE(document.contains("reason"));
  CHECK(document.at("environment").at("cores") == "2");
  CHECK(document.at("cpu_s") == 4.5);
  REQUIRE(document.at("iterations").size() == 3);
  CHECK(document["iterations"][2] ==
        nlohmann::json{{"seconds", 2.0}, {"slowest_rank", 7}, {"wrong_bytes", 0}});
  REQUIRE(document.at("phases").size() == 2);
  CHECK(document["phases"][1].at("predicted").is_null());
  CHECK(document.at("ops").at("start_s") == nlohmann::json{0.0, 0.5});
  CHECK(document.at("ops").at("end_s").size() == 2);
}

TEST_CASE("a measurement reads back to the last bit", "[report][measurement]") {
  const std::string text = written(sample_run());
  const RunReport back = read_measurement(text, "run.json");
  CHECK(written(back) == text);
  CHECK(back.seed == sample_run().seed);
  CHECK(back.measurement.timeline == sample_run().measurement.timeline);  // 0.1 + 0.2 is not 0.3
  CHECK(back.measurement.iterations[0].slowest == Rank{5});
  CHECK(back.phases[0].predicted == Span{0, 1.2});
  CHECK(back.not_graded.empty());
}

TEST_CASE("what is not known is null, and a run that is not graded says why",
          "[report][measurement]") {
  RunReport report = sample_run();
  report.scale.reset();
  report.predicted_s.reset();
  report.checked = false;
  report.not_graded = "no network";
  const std::string text = written(report);
  const nlohmann::json document = nlohmann::json::parse(text);
  for (const char* key : {"scale", "predicted_s", "ratio", "wrong_bytes"}) {
    CAPTURE(key);
    CHECK(document.at(key).is_null());
  }
  CHECK(document["iterations"][0].at("wrong_bytes").is_null());
  CHECK(document.at("graded") == false);
  CHECK(document.at("reason") == "no network");
  const RunReport back = read_measurement(text, "run.json");
  CHECK_FALSE(back.checked);
  CHECK(written(back) == text);
}

TEST_CASE("wrong bytes are counted and located", "[report][measurement]") {
  RunReport report = sample_run();
  report.measurement.wrong_bytes = 12;
  report.measurement.iterations[1].wrong_bytes = 12;
  report.measurement.wrong_examples = {{Rank{3}, "layers.0.q", 4'000'000'000}};
  const std::string text = written(report);
  const nlohmann::json document = nlohmann::json::parse(text);
  CHECK(document.at("wrong_bytes") == 12);
  CHECK(document.at("wrong_examples")[0] ==
        nlohmann::json{{"rank", 3}, {"tensor", "layers.0.q"}, {"element", 4'000'000'000}});
  CHECK(written(read_measurement(text, "run.json")) == text);
}

TEST_CASE("a file that is not a measurement is refused with place and reason",
          "[report][measurement]") {
  CHECK(error_after("measurement/1", "measurement/2") ==
        "run.json: schema: the file says \"refit.measurement/2\"; this program reads "
        "\"refit.measurement/1\"");
  CHECK(error_after("\"cpu_s\"", "\"cpu\"").starts_with("run.json: unknown member 'cpu'; use "));
  CHECK(error_after("\"cpu_s\": 4.5,\n", "") == "run.json: the member 'cpu_s' is missing");
  CHECK(error_after("\"cpu_s\": 4.5", "\"cpu_s\": 4.5,\n\"cpu_s\": 4.5") ==
        "run.json: cpu_s: the member stands here twice");
  CHECK(error_after("\"seconds\":2.0", "\"seconds\":\"fast\"") ==
        "run.json: iterations[2].seconds: expected a number of at least 0, got \"fast\"");
  CHECK(error_after("\"slowest_rank\":5", "\"slowest_rank\":8") ==
        "run.json: iterations[0].slowest_rank: expected an integer from 0 to 7, got 8");
  CHECK(error_after("\"start_s\":[0.0,0.5]", "\"start_s\":[0.0]") ==
        "run.json: ops: 1 starts and 2 ends; each op has one of both");
  CHECK(error_after("\"start_s\":[0.0,0.5]", "\"start_s\":[0.0,2.5]") ==
        "run.json: ops.end_s[1]: 1.75 is before the start at 2.5");
  CHECK(error_after("\"start_s\":[0.0,0.5]", "\"start_s\":[0.0,-1]") ==
        "run.json: ops.start_s[1]: expected a number of at least 0, got -1");
  CHECK(error_after("\"median\":2.0", "\"median\":1.5") ==
        "run.json: measured_s.median: 1.5 does not follow from the iterations, which give 2");
  CHECK(error_after("\"ratio\": 1.25", "\"ratio\": 1.0") ==
        "run.json: ratio: 1 does not follow from the iterations, which give 1.25");
  CHECK(error_after("\"graded\": true", "\"graded\": false") ==
        "run.json: reason: a run has a reason exactly where it is not graded");
  CHECK(error_after("\"factor\":0.0005", "\"factor\":2") ==
        "run.json: scale.factor: expected more than 0 and at most 1, got 2");
  CHECK(error_after("\"environment\": {", "\"environment\": {\"deep\":[[[[1]]]],") ==
        "run.json: nested deeper than 4 levels");
}

TEST_CASE("a file that is cut off is refused, wherever the cut is", "[report][measurement]") {
  const std::string text = written(sample_run());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    CAPTURE(length);
    CHECK_THROWS_AS(read_measurement(text.substr(0, length), "run.json"), Error);
  }
}

}  // namespace
}  // namespace refit
