#include "cli/measured_plan.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/runners.h"
#include "report/comparison.h"
#include "report/measurement_json.h"
#include "sim/predict.h"

namespace refit {

MeasuredPlan load_measured_plan(const std::string& plan, const std::string& measurement,
                                const std::string& verb) {
  const Question question = load_question(plan);
  if (!question.plan) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: is a scenario; {} needs the plan that was run, from "
                            "refit plan {} -o plan.json",
                            plan, verb, plan));
  }
  RunReport report = read_measurement(read_file(measurement), measurement);
  require_same_plan(*question.plan, question.scenario.name, plan, report, measurement);
  if (report.measurement.fault) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: rank {} was lost in this run, so its ops have no times to compare",
                            measurement, report.measurement.fault->lost.value));
  }
  if (question.plan->coding) {
    throw Error(ErrorCode::bad_input,
                fmt::format("{}: sends changes, whose sizes are known when they have been made; "
                            "refit run --lab holds its prediction for those against the clock",
                            plan));
  }
  const Progress progress("simulating " + question.scenario.name);
  RunCase run = run_case(question, std::nullopt,
                         report.scale ? std::optional(report.scale->factor) : std::nullopt);
  PredictOptions links_only;
  links_only.network_model.nic_efficiency = link_efficiency(report.measurement.transport);
  links_only.network_model.nvlink_efficiency = links_only.network_model.nic_efficiency;
  Prediction prediction = predict(run.schedule, run.scenario.cluster, links_only);
  return {std::move(run), std::move(report), std::move(prediction)};
}

}  // namespace refit
