#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/shown.h"
#include "report/measurement_json.h"

namespace refit {
namespace {

// In the order of the file, so that messages list members as people see them.
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 28;
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 61;
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr int kMaxDepth = 4;

constexpr std::string_view kSchema = "refit.measurement/1";

std::string short_dump(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  RunReport read(const std::string& text);

 private:
  Json parse(const std::string& text);
  void read_scale(const Json& value, RunReport& report) const;
  void read_verdict(const Json& root, RunReport& report) const;
  void read_iterations(const Json& root, RunReport& report) const;
  void read_fault(const Json& value, RunReport& report) const;
  void read_examples(const Json& value, RunReport& report) const;
  void read_phases(const Json& value, RunReport& report) const;
  void read_ops(const Json& value, RunReport& report) const;
  void check_derived(const Json& root, const RunReport& report) const;
  Span read_span(const Json& value, const std::string& path) const;

  [[noreturn]] void fail(const std::string& path, const std::string& message) const;
  const Json& member(const Json& object, std::string_view key, const std::string& path) const;
  void allow_only(const Json& object, std::initializer_list<std::string_view> keys,
                  const std::string& path) const;
  const Json& list(const Json& value, const std::string& path) const;
  std::string text(const Json& value, const std::string& path) const;
  double seconds(const Json& value, const std::string& path) const;
  std::int64_t integer(const Json& value, std::int64_t least, std::int64_t most,
                       const std::string& path) const;
  void check_equal(const Json& value, double right, const std::string& path) const;

  std::string name_;
};

void Reader::fail(const std::string& path, const std::string& message) const {
  throw Error(ErrorCode::bad_input, path.empty() ? fmt::format("{}: {}", name_, message)
                                                 : fmt::format("{}: {}: {}", name_, path, message));
}

const Json& Reader::member(const Json& object, std::string_view key,
                           const std::string& path) const {
  if (!object.is_object())
    fail(path, fmt::format("expected an object, got {}", short_dump(object)));
  const auto found = object.find(std::string(key));
  if (found == object.end()) fail(path, fmt::format("the member '{}' is missing", key));
  return *found;
}

void Reader::allow_only(const Json& object, std::initializer_list<std::string_view> keys,
                        const std::string& path) const {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(path, fmt::format("unknown member '{}'; use {}", shown(key), fmt::join(keys, ", ")));
    }
  }
}

const Json& Reader::list(const Json& value, const std::string& path) const {
  if (!value.is_array()) fail(path, fmt::format("expected a list, got {}", short_dump(value)));
  return value;
}

std::string Reader::text(const Json& value, const std::string& path) const {
  if (!value.is_string()) fail(path, fmt::format("expected a text, got {}", short_dump(value)));
  return value.get<std::string>();
}

double Reader::seconds(const Json& value, const std::string& path) const {
  if (value.is_number()) {
    const double number = value.get<double>();
    if (std::isfinite(number) && number >= 0) return number;
  }
  fail(path, fmt::format("expected a number of at least 0, got {}", short_dump(value)));
}

std::int64_t Reader::integer(const Json& value, std::int64_t least, std::int64_t most,
                             const std::string& path) const {
  const bool fits =
      value.is_number_integer() &&
      !(value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (fits) {
    const std::int64_t number = value.get<std::int64_t>();
    if (least <= number && number <= most) return number;
  }
  fail(path,
       fmt::format("expected an integer from {} to {}, got {}", least, most, short_dump(value)));
}

Span Reader::read_span(const Json& value, const std::string& path) const {
  const Span span{seconds(member(value, "start_s", path), path + ".start_s"),
                  seconds(member(value, "end_s", path), path + ".end_s")};
  allow_only(value, {"start_s", "end_s"}, path);
  if (span.end_s < span.start_s) {
    fail(path, fmt::format("ends at {} before it starts at {}", span.end_s, span.start_s));
  }
  return span;
}

void Reader::read_scale(const Json& value, RunReport& report) const {
  if (value.is_null()) return;
  const auto factor = [&](const char* key) {
    const std::string path = fmt::format("scale.{}", key);
    const double number = seconds(member(value, key, "scale"), path);
    if (!(number > 0 && number <= 1)) {
      fail(path, fmt::format("expected more than 0 and at most 1, got {}", number));
    }
    return number;
  };
  report.scale = {factor("factor"), factor("byte_factor")};
  allow_only(value, {"factor", "byte_factor"}, "scale");
}

void Reader::read_verdict(const Json& root, RunReport& report) const {
  const Json& graded = member(root, "graded", "");
  if (!graded.is_boolean()) {
    fail("graded", fmt::format("expected true or false, got {}", short_dump(graded)));
  }
  const bool has_reason = root.contains("reason");
  if (graded.get<bool>() == has_reason) {
    fail("reason", "a run has a reason exactly where it is not graded");
  }
  if (has_reason) report.not_graded = text(root["reason"], "reason");
  if (has_reason && report.not_graded.empty()) fail("reason", "expected words");
}

void Reader::read_iterations(const Json& root, RunReport& report) const {
  const std::int64_t last_rank = report.measurement.ranks - 1;
  for (const Json& item : list(member(root, "iterations", ""), "iterations")) {
    const std::string path = fmt::format("iterations[{}]", report.measurement.iterations.size());
    Iteration iteration;
    iteration.seconds = seconds(member(item, "seconds", path), path + ".seconds");
    iteration.slowest =
        Rank{integer(member(item, "slowest_rank", path), 0, last_rank, path + ".slowest_rank")};
    const Json& wrong = member(item, "wrong_bytes", path);
    if (report.checked) {
      iteration.wrong_bytes = integer(wrong, 0, kMaxBytes, path + ".wrong_bytes");
    } else if (!wrong.is_null()) {
      fail(path + ".wrong_bytes", "expected null, as in the member 'wrong_bytes' of the run");
    }
    allow_only(item, {"seconds", "slowest_rank", "wrong_bytes"}, path);
    report.measurement.iterations.push_back(iteration);
  }
  if (report.measurement.iterations.empty()) fail("iterations", "expected at least one");
}

void Reader::read_fault(const Json& value, RunReport& report) const {
  const std::int64_t last_rank = report.measurement.ranks - 1;
  FaultRecord fault;
  fault.lost = Rank(integer(member(value, "lost_rank", "fault"), 0, last_rank, "fault.lost_rank"));
  fault.reason = text(member(value, "reason", "fault"), "fault.reason");
  const std::string policy = text(member(value, "policy", "fault"), "fault.policy");
  if (policy == to_string(FaultPolicy::rebuild)) {
    fault.policy = FaultPolicy::rebuild;
  } else if (policy != to_string(FaultPolicy::shrink)) {
    fail("fault.policy", fmt::format("expected shrink or rebuild, got '{}'", shown(policy)));
  }
  fault.detected_s = seconds(member(value, "detected_s", "fault"), "fault.detected_s");
  fault.reconnected_s = seconds(member(value, "reconnected_s", "fault"), "fault.reconnected_s");
  fault.recovered_bytes =
      integer(member(value, "recovered_bytes", "fault"), 0, kMaxBytes, "fault.recovered_bytes");
  for (const Json& rank : list(member(value, "dropped_ranks", "fault"), "fault.dropped_ranks"))
    fault.dropped.push_back(Rank(integer(rank, 0, last_rank, "fault.dropped_ranks")));
  allow_only(value,
             {"lost_rank", "reason", "policy", "detected_s", "reconnected_s", "recovered_bytes",
              "dropped_ranks"},
             "fault");
  report.measurement.fault = std::move(fault);
}

void Reader::read_examples(const Json& value, RunReport& report) const {
  for (const Json& item : list(value, "wrong_examples")) {
    std::vector<WrongByte>& examples = report.measurement.wrong_examples;
    const std::string path = fmt::format("wrong_examples[{}]", examples.size());
    WrongByte wrong;
    wrong.rank =
        Rank{integer(member(item, "rank", path), 0, report.measurement.ranks - 1, path + ".rank")};
    wrong.tensor = text(member(item, "tensor", path), path + ".tensor");
    wrong.element = integer(member(item, "element", path), 0, kMaxBytes, path + ".element");
    allow_only(item, {"rank", "tensor", "element"}, path);
    examples.push_back(std::move(wrong));
  }
}

void Reader::read_phases(const Json& value, RunReport& report) const {
  for (const Json& item : list(value, "phases")) {
    const std::string path = fmt::format("phases[{}]", report.phases.size());
    RunPhase phase;
    phase.name = text(member(item, "name", path), path + ".name");
    phase.largest_rank_bytes = integer(member(item, "largest_rank_bytes", path), 0, kMaxBytes,
                                       path + ".largest_rank_bytes");
    phase.measured = read_span(member(item, "measured", path), path + ".measured");
    const Json& predicted = member(item, "predicted", path);
    if (!predicted.is_null()) phase.predicted = read_span(predicted, path + ".predicted");
    allow_only(item, {"name", "largest_rank_bytes", "measured", "predicted"}, path);
    report.phases.push_back(std::move(phase));
  }
}

void Reader::read_ops(const Json& value, RunReport& report) const {
  const Json& starts = list(member(value, "start_s", "ops"), "ops.start_s");
  const Json& ends = list(member(value, "end_s", "ops"), "ops.end_s");
  allow_only(value, {"start_s", "end_s"}, "ops");
  if (starts.size() != ends.size()) {
    fail("ops",
         fmt::format("{} starts and {} ends; each op has one of both", starts.size(), ends.size()));
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto time = [&](const Json& number, const char* key) {
      if (number.is_number() && number.get<double>() >= 0) return number.get<double>();
      return seconds(number, fmt::format("ops.{}[{}]", key, i));  // the path only for a message
    };
    const Span span{time(starts[i], "start_s"), time(ends[i], "end_s")};
    if (span.end_s < span.start_s) {
      fail(fmt::format("ops.end_s[{}]", i),
           fmt::format("{} is before the start at {}", span.end_s, span.start_s));
    }
    report.measurement.timeline.push_back(span);
  }
}

void Reader::check_equal(const Json& value, double right, const std::string& path) const {
  const double stated = seconds(value, path);
  if (std::abs(stated - right) <= 1e-9 * right) return;
  fail(path, fmt::format("{} does not follow from the iterations, which give {}", stated, right));
}

// Members that follow from others must say the same.
void Reader::check_derived(const Json& root, const RunReport& report) const {
  const Measurement& measurement = report.measurement;
  const Json& measured = member(root, "measured_s", "");
  check_equal(member(measured, "min", "measured_s"), measurement.minimum_s(), "measured_s.min");
  check_equal(member(measured, "median", "measured_s"), measurement.median_s(),
              "measured_s.median");
  check_equal(member(measured, "max", "measured_s"), measurement.maximum_s(), "measured_s.max");
  allow_only(measured, {"min", "median", "max"}, "measured_s");
  const Json& ratio = member(root, "ratio", "");
  if (report.predicted_s && *report.predicted_s > 0) {
    check_equal(ratio, measurement.median_s() / *report.predicted_s, "ratio");
  } else if (!ratio.is_null()) {
    fail("ratio", "expected null where nothing is predicted");
  }
}

Json Reader::parse(const std::string& file) {
  if (file.size() > kMaxFileBytes) {
    fail("", fmt::format("{} bytes is too large; at most {}", file.size(), kMaxFileBytes));
  }
  std::set<std::string> seen;
  try {
    return Json::parse(file, [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth > kMaxDepth) fail("", fmt::format("nested deeper than {} levels", kMaxDepth));
      if (event != Json::parse_event_t::key || depth != 1) return true;
      const std::string key = value.get<std::string>();
      if (!seen.insert(key).second) fail(key, "the member stands here twice");
      return true;
    });
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(error.byte == 0 ? 0 : error.byte - 1, file.size());
    const auto line =
        1 + std::count(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    throw Error(ErrorCode::bad_input, fmt::format("{}:{}: not JSON, or cut off here", name_, line));
  } catch (const Json::exception& error) {
    fail("", fmt::format("not JSON that can be read: {}", error.what()));
  }
}

RunReport Reader::read(const std::string& file) {
  const Json root = parse(file);
  const Json& schema = member(root, "schema", "");
  if (schema != Json(kSchema)) {
    fail("schema",
         fmt::format("the file says {}; this program reads \"{}\"", short_dump(schema), kSchema));
  }
  allow_only(root, {"schema",      "scenario",       "strategy",
                    "transport",   "ranks",          "scale",
                    "seed",        "warmup",         "largest_rank_bytes",
                    "measured_s",  "predicted_s",    "ratio",
                    "wrong_bytes", "wrong_examples", "graded",
                    "reason",      "environment",    "cpu_s",
                    "phases",      "iterations",     "ops",
                    "fault"},
             "");
  RunReport report;
  Measurement& measurement = report.measurement;
  report.scenario = text(member(root, "scenario", ""), "scenario");
  report.strategy = text(member(root, "strategy", ""), "strategy");
  measurement.transport = text(member(root, "transport", ""), "transport");
  measurement.ranks = static_cast<int>(integer(member(root, "ranks", ""), 1, kMaxRanks, "ranks"));
  read_scale(member(root, "scale", ""), report);
  const Json& seed = member(root, "seed", "");
  if (!seed.is_number_unsigned()) {
    fail("seed", fmt::format("expected an integer of at least 0, got {}", short_dump(seed)));
  }
  report.seed = seed.get<std::uint64_t>();
  report.warmup = static_cast<int>(integer(member(root, "warmup", ""), 0, kMaxInt32, "warmup"));
  measurement.largest_rank_bytes =
      integer(member(root, "largest_rank_bytes", ""), 0, kMaxBytes, "largest_rank_bytes");
  const Json& predicted = member(root, "predicted_s", "");
  if (!predicted.is_null()) report.predicted_s = seconds(predicted, "predicted_s");
  const Json& wrong = member(root, "wrong_bytes", "");
  report.checked = !wrong.is_null();
  if (report.checked) measurement.wrong_bytes = integer(wrong, 0, kMaxBytes, "wrong_bytes");
  read_verdict(root, report);
  const Json& environment = member(root, "environment", "");
  if (!environment.is_object()) {
    fail("environment", fmt::format("expected an object, got {}", short_dump(environment)));
  }
  for (const auto& [key, value] : environment.items()) {
    measurement.environment.emplace_back(key, text(value, "environment." + key));
  }
  measurement.cpu_s = seconds(member(root, "cpu_s", ""), "cpu_s");
  read_examples(member(root, "wrong_examples", ""), report);
  read_iterations(root, report);
  if (root.contains("fault")) read_fault(root["fault"], report);
  read_phases(member(root, "phases", ""), report);
  read_ops(member(root, "ops", ""), report);
  check_derived(root, report);
  return report;
}

}  // namespace

RunReport read_measurement(const std::string& text, const std::string& name) {
  return Reader(name).read(text);
}

}  // namespace refit
