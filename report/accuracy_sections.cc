#include "report/accuracy_sections.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "base/units.h"
#include "report/method_order.h"
#include "report/validation_words.h"

namespace refit {
namespace {

constexpr double kFlat = 1.25;     // most over least of a series that is called flat
constexpr double kNoBetter = 0.9;  // of the time with fewer streams

std::string verdict(bool right) { return right ? "right" : "**wrong**"; }

std::string times_of(const MethodOrder& order, double MethodOrder::Method::*seconds) {
  auto methods = order.methods;
  std::ranges::stable_sort(methods, {}, seconds);
  std::string text;
  for (const MethodOrder::Method& method : methods) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " < ", method.system,
                        format_seconds(method.*seconds));
  }
  return text;
}

double sum_of(const ValidationRow& row, std::initializer_list<const char*> constants) {
  double sum = 0;
  for (const char* key : constants) {
    const auto found = row.phase_s.find(key);
    if (found != row.phase_s.end()) sum += found->second;
  }
  return sum;
}

}  // namespace

std::string method_order_section(const Validation& v) {
  const std::vector<MethodOrder> orders = method_orders(v.rows);
  Table table({{"model", Align::left},
               {"machines", Align::left},
               {"published", Align::left},
               {"predicted", Align::left},
               {"order"},
               {"left out"}});
  std::size_t right = 0, left_out_right = 0;
  for (const MethodOrder& order : orders) {
    table.add_row({order.model, order.hardware, times_of(order, &MethodOrder::Method::published_s),
                   times_of(order, &MethodOrder::Method::predicted_s), verdict(order.right()),
                   verdict(order.left_out_right())});
    right += order.right() ? 1 : 0;
    left_out_right += order.left_out_right() ? 1 : 0;
  }
  return fmt::format(
             "## Which method is fastest\n\nEvery layout for which two methods or more were "
             "published, fastest first; several times of one method count as their median. "
             "Predicted orders: {} of {} right, with each method's scenario left out {}.\n\n",
             right, orders.size(), left_out_right) +
         table.markdown() + "\n";
}

std::string scale_section(const std::vector<ScalePoint>& points) {
  Table table({{"GPUs"}, {"published"}, {"predicted"}});
  double least = 0, most = 0;
  for (const ScalePoint& point : points) {
    table.add_row({format_count(point.gpus),
                   point.published_s ? format_seconds(*point.published_s) : "-",
                   format_seconds(point.predicted_s)});
    least = least == 0 ? point.predicted_s : std::min(least, point.predicted_s);
    most = std::max(most, point.predicted_s);
  }
  const bool flat = most <= kFlat * least;
  return fmt::format(
             "## More GPUs\n\nQwen3-30B-A3B by NeMo RL's packed broadcast on H100, half of the "
             "GPUs training with TP1 PP2 EP8, half generating with TP2. Published times are flat; "
             "predicted ones {} flat within 25 %: {} to {}. Beyond the published sizes this says "
             "that nothing in the model grows with ranks but the latency of a ring, not that "
             "nothing in a real cluster does.\n\n",
             flat ? "are" : "are **not**", format_seconds(least), format_seconds(most)) +
         table.markdown() + "\n";
}

std::string streams_section(const std::vector<StreamsPoint>& points) {
  Table table({{"system", Align::left}, {"streams"}, {"published", Align::left}, {"predicted"}});
  for (const StreamsPoint& point : points) {
    table.add_row({point.system, fmt::format("{}", point.streams),
                   point.published.empty() ? "-" : point.published,
                   format_seconds(point.predicted_s)});
  }
  const auto seconds_of = [&](std::string_view system, int streams) {
    const auto found = std::ranges::find_if(points, [&](const StreamsPoint& point) {
      return point.system == system && point.streams == streams;
    });
    return found == points.end() ? 0 : found->predicted_s;
  };
  const double two = seconds_of("nemo_rl_golden", 2), four = seconds_of("nemo_rl_golden", 4);
  return fmt::format(
             "## One, two and four streams\n\nDeepSeek-V3 on H100, training PP16 EP16, generating "
             "TP32; a stream moves one pipeline stage at a time. `-`: nobody has published it. "
             "That four streams of whole-tensor broadcasts are no better than two is predicted "
             "{}: {} and {}.\n\n",
             verdict(four >= kNoBetter * two), format_seconds(four), format_seconds(two)) +
         table.markdown() + "\n";
}

std::string gb200_section(const Validation& v) {
  Table table({{"row", Align::left},
               {"system", Align::left},
               {"published"},
               {"predicted"},
               {"bound"},
               {"/ bound"},
               {"wire"},
               {"calls"},
               {"stacking"},
               {"landing"},
               {"misc"},
               {"start"},
               {"latency"}});
  std::vector<double> ratios;
  for (const ValidationRow& row : v.rows) {
    if (row.hardware != "GB200") continue;
    const double wire = sum_of(row, {"nic_efficiency", "nvlink_efficiency", "stream_rate"});
    const double calls = sum_of(row, {"call"});
    const double stacking = sum_of(row, {"stack_call"});
    const double landing = sum_of(row, {"land_rate"});
    const double start = sum_of(row, {"fixed"});
    // What is on the account of no constant are latencies of links.
    double latency = row.predicted_s + sum_of(row, {"nic_message", "nvlink_message"});
    for (const auto& [key, seconds] : row.phase_s) latency -= seconds;
    const double misc = row.predicted_s - wire - calls - stacking - landing - start - latency;
    ratios.push_back(row.published_s / row.bound_s);
    std::vector<Cell> cells{row.id,
                            row.system,
                            format_seconds(row.published_s),
                            format_seconds(row.predicted_s),
                            format_seconds(row.bound_s),
                            fmt::format("{:.1f}", ratios.back())};
    for (const double seconds : {wire, calls, stacking, landing, misc, start, latency})
      cells.push_back(fmt::format("{:.2f}", seconds < 0.005 ? 0.0 : seconds));
    table.add_row(std::move(cells));
  }
  return fmt::format(
             "## Why GB200 runs stand far above their bound\n\nPublished times are {:.1f} times "
             "the bound here, in the median. The bound counts every NIC or NVLink port of a domain "
             "as busy all the time; the table says where the predicted seconds go instead, along "
             "the chain of steps that waits for nothing else. *wire*: bytes over NICs and NVLink "
             "as these plans use them; *calls*: transport calls; *stacking*: expert matrices "
             "regrouped; *landing*: bytes unpacked and copied into place; *misc*: tensors "
             "exported, "
             "named, converted, packed, fetched and loaded one by one; *start*: before the first "
             "byte; *latency*: of links and messages. Seconds.\n\n",
             median(ratios)) +
         table.markdown() + "\n";
}

}  // namespace refit
