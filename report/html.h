#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/layout_picture.h"
#include "report/role_bytes.h"
#include "report/simulation.h"
#include "sweep/what_if.h"
#include "topology/cluster.h"

namespace refit {

// One number that the page rests on.
struct Provenance {
  std::string subject;  // "network model default", "cluster dgx_h100"
  std::string name;     // "nic_efficiency"
  std::string meaning;
  std::string value;
  std::string source;
};

// One rule, or one runtime, that the scenario was held against.
struct CheckResult {
  std::string subject;  // "layouts", "plan reshard", "nemo_rl_nixl"
  bool fine = true;
  std::vector<std::string> findings;
  std::string note;  // what was looked at, or why nothing was
};

// How the prediction moves with one constant: its seconds less those after the change, if the same
// ops stay critical.
struct ConstantChange {
  std::string constant;
  std::string change;  // "+10 %"
  double delta_s = 0;
};

// Everything the page of `refit report` shows (docs/report_page.md).
struct HtmlReport {
  SimulationReport simulation;
  std::size_t shown = 0;                                   // the row that is the answer
  std::string question;                                    // in words
  std::vector<std::string> plan_pictures;                  // plan_picture_json, by row
  std::vector<std::vector<ConstantChange>> sensitivities;  // by row
  std::vector<Sensitivity> what_ifs;                       // of the row that is the answer, or none
  LayoutPicture layouts;
  std::vector<RoleBytes> roles;
  std::vector<CheckResult> checks;
  std::vector<Provenance> provenance;
  std::string scenario_text;
  bool of_plan = false;               // of a saved plan, which is not in the page
  std::vector<std::string> commands;  // that make this page again
  std::string version;
};

// The answer in one line: "optimal: 1.43 s (1.11 s to 1.84 s, 80 % band), 1.70 x its bound of …".
std::string answer_words(const StrategyResult& row);

// What the page draws from, as JSON. Equal reports give equal bytes.
std::string html_data(const HtmlReport& report, const Refit& refit, const Cluster& cluster);

// One HTML file that asks for nothing else: text, data, styles and scripts.
std::string html_page(const HtmlReport& report, const Refit& refit, const Cluster& cluster);

// What pages have in common: a heading around sections, the data, and scripts that draw from it.
struct HtmlFrame {
  std::string title;
  std::string question;
  std::string answer;
  std::string version;
  std::string_view sections;              // an embedded file, as are the scripts
  std::string data;                       // JSON
  std::vector<std::string_view> scripts;  // a script uses what stands before it
};
std::string framed(const HtmlFrame& frame);

// Text as HTML shows it, in an element or in a quoted attribute.
std::string html_escaped(const std::string& text);

// JSON as a script element can hold it: nothing in it ends the element or opens a comment.
std::string script_escaped(const std::string& json);

}  // namespace refit
