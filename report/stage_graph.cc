#include "report/stage_graph.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.h"
#include "report/drawing.h"
#include "report/step_boxes.h"

namespace refit {
namespace {

constexpr int kStripPoints = 150;
// Arrows go everywhere here, so fewer of them are readable than between domains.
constexpr std::size_t kMostStepBoxes = 30, kMostStepEdges = 60;

const char* colour_of(const StepBox& box) {
  if (box.kind == OpKind::barrier) return kNeitherColour;
  return box.kind == OpKind::compute ? kBothColour : kSourceColour;
}

std::string what(const StepBox& box) {
  return std::string(box.kind == OpKind::compute ? to_string(box.work) : to_string(box.kind));
}

std::string place(const StepBox& box) {
  std::vector<std::string> words;
  if (box.stage >= 0) words.push_back(fmt::format("stage {}", box.stage));
  if (box.stage == kSeveral) words.push_back("several stages");
  if (box.lane >= 0) words.push_back(fmt::format("lane {}", box.lane));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string table_of(const StepBox& box, const Schedule& schedule, double end_s) {
  const std::string phase = schedule.phases[static_cast<std::size_t>(box.phase)].name;
  std::vector<std::string> lines;
  const std::string name = what(box);
  lines.push_back(
      fmt::format("<B>{}</B>", phase == name ? in_table(name) : in_table(phase + ": " + name)));
  if (const std::string where = place(box); !where.empty()) lines.push_back(where);
  lines.push_back(fmt::format("{} op{}{}", format_count(box.ops), box.ops == 1 ? "" : "s",
                              box.bytes > 0 ? ", " + format_bytes(box.bytes) : ""));
  if (box.waits_inside > 0)
    lines.push_back(fmt::format("{} wait for others here", format_count(box.waits_inside)));
  const std::string start = format_seconds(box.span.start_s);
  const std::string end = format_seconds(box.span.end_s);
  lines.push_back(start == end ? "at " + end : start + " to " + end);
  if (start != end && box.busy_s < 0.99 * (box.span.end_s - box.span.start_s))
    lines.push_back(fmt::format("{} of it at work", format_seconds(box.busy_s)));
  std::string rows;
  for (const std::string& line : lines) rows += "<TR><TD>" + line + "</TD></TR>";
  if (end_s > 0)
    rows += fmt::format("<TR><TD BORDER=\"1\" CELLPADDING=\"0\" BGCOLOR=\"#ffffff\">{}</TD></TR>",
                        strip(box.span.start_s / end_s, box.span.end_s / end_s, kStripPoints));
  return fmt::format(
      "<TABLE BORDER=\"1\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"2\" BGCOLOR=\"{}\" "
      "COLOR=\"#606060\">{}</TABLE>",
      colour_of(box), rows);
}

// What is drawn together, so that nobody takes a box for one lane or stage.
std::string together(const StepDetail& detail, const Schedule& schedule) {
  std::vector<std::string> words;
  if (!detail.lanes && schedule.lanes > 1) words.push_back(fmt::format("{} lanes", schedule.lanes));
  std::set<int> stages;
  for (const Parcel& parcel : schedule.parcels) stages.insert(parcel.stage);
  if (!detail.stages && stages.size() > 1)
    words.push_back(fmt::format("{} pipeline stages of the source", stages.size()));
  if (words.empty()) return {};
  return fmt::format("Drawn as one: {}.\\l", fmt::join(words, ", "));
}

bool fits(const StepBoxes& steps) {
  return steps.boxes.size() <= kMostStepBoxes && steps.edges.size() <= kMostStepEdges;
}

}  // namespace

std::string stage_graph(const Schedule& schedule, const Prediction& prediction) {
  StepDetail detail;
  StepBoxes steps;
  for (const StepDetail& next :
       {StepDetail{true, true}, {true, false}, {false, true}, {false, false}}) {
    detail = next;
    steps = step_boxes(schedule, prediction.timeline, detail);
    if (steps.boxes.size() <= kMostStepBoxes) drop_implied(steps);
    if (fits(steps)) break;
  }
  Drawing drawing(
      fmt::format("What waits for what: {}\\l"
                  "Predicted {} with network model {}; a box's strip is when it runs in that.\\l"
                  "{}Solid: so many ops wait for ops of the other box. Dashed: a rank does one "
                  "after the other.\\l",
                  plain(schedule.strategy), format_seconds(prediction.makespan_s),
                  plain(prediction.network_model), together(detail, schedule)),
      {{"shape", "plain"}}, {});
  std::vector<Drawing::Node> nodes;
  for (std::size_t b = 0; b < steps.boxes.size(); ++b) {
    nodes.push_back(drawing.node(drawing.root(), fmt::format("step {}", b), {}));
    drawing.set_table(nodes.back(), table_of(steps.boxes[b], schedule, prediction.makespan_s));
  }
  for (const auto& [pair, edge] : steps.edges) {
    const bool after = edge.after > 0;
    drawing.edge(nodes[pair.first], nodes[pair.second],
                 {{"label", after ? format_count(edge.after) : ""},
                  {"style", after ? "solid" : "dashed"},
                  // Boxes stand in the order in which they begin.
                  {"constraint", steps.goes_back(pair.first, pair.second) ? "false" : "true"}});
  }
  return drawing.text();
}

}  // namespace refit
