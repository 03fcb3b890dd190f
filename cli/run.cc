#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/dry_run.h"
#include "cli/number_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_case.h"
#include "cli/runners.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "models/conversion_totals.h"
#include "report/measurement_json.h"
#include "report/op_times.h"
#include "report/run_table.h"
#include "sim/fault.h"
#include "sim/predict.h"

namespace refit {
namespace {

struct RunOptions {
  std::string file;
  std::optional<std::string> strategy;
  std::string transport = "inproc";
  bool lab = false;
  VersionOptions versions;
  int iterations = 5;
  int warmup = 1;
  int check = 1;
  std::uint64_t seed = 1;
  std::optional<std::string> scale;
  std::optional<int> ranks;
  bool json = false;
  bool csv = false;
  std::optional<FaultPolicy> on_fault;
  std::optional<double> timeout_s;
  bool dry_run = false;
  bool all = false;
  std::string output = "-";
};

// The moves of one phase alone.
Moves moves_of_phase(const Moves& moves, const Schedule& schedule, std::size_t phase) {
  Moves result;
  for (const Move& move : moves.moves) {
    if (schedule.ops[move.op.index()].phase == phase) result.moves.push_back(move);
  }
  return result;
}

std::vector<RunPhase> phases_of(const RunCase& run, const ExecuteOptions& options,
                                const Measurement& measurement,
                                const std::optional<Prediction>& prediction) {
  const Schedule& schedule = run.schedule;
  const Moves moves = write_out(schedule, run.scenario.refit, run.scenario.cluster, options.moves);
  const Timeline measured = flow_times(schedule, measurement.timeline);
  const std::optional<Timeline> predicted =
      prediction ? std::optional(flow_times(schedule, prediction->timeline)) : std::nullopt;
  std::vector<RunPhase> phases;
  for (std::size_t p = 0; p < schedule.phases.size(); ++p) {
    const std::optional<Span> span = phase_span(schedule, measured, p);
    if (!span) continue;
    phases.push_back({schedule.phases[p].name,
                      largest_rank_bytes(moves_of_phase(moves, schedule, p), schedule.ranks), *span,
                      predicted ? phase_span(schedule, *predicted, p) : std::nullopt});
  }
  return phases;
}

// The scenario's fault, if this runner can cause it, with its time in seconds.
RunFaults faults_of(const RunCase& run, const Runner& runner, const RunOptions& options,
                    const std::optional<Prediction>& prediction) {
  RunFaults faults;
  const std::optional<FaultSpec>& fault = run.scenario.fault;
  faults.timeout_s = options.timeout_s;
  faults.policy = options.on_fault.value_or(fault ? fault->policy : FaultPolicy::fail);
  if (!fault || !runner.can_lose_ranks) return faults;
  faults.inject = fault;
  faults.inject->policy = faults.policy;
  if (faults.inject->at_s < 0) {
    if (!prediction) {
      throw Error(ErrorCode::bad_input,
                  fmt::format("fault: 'at: {:.4g} %' needs a predicted time, which only --lab has; "
                              "write a time, as in 'at: 40 ms'",
                              100 * fault->fraction));
    }
    faults.inject->at_s = fault->fraction * prediction->makespan_s;
  }
  // Silence is known when the time-out says so.
  if (fault->kind != FaultKind::killed && !faults.timeout_s) faults.timeout_s = fault->detection_s;
  return faults;
}

// Nothing in a process that is a rank of a job but does not report for it.
std::optional<RunReport> measure(const RunCase& run, const Runner& runner,
                                 const RunOptions& options) {
  ExecuteOptions execute;
  execute.iterations = options.iterations;
  execute.warmup = options.warmup;
  execute.check = options.check == 1;
  execute.seed = options.seed;
  PredictOptions links_only;
  links_only.network_model.nic_efficiency = runner.link_efficiency;
  links_only.network_model.nvlink_efficiency = runner.link_efficiency;
  std::optional<Prediction> prediction;
  if (run.schedule.coding) {
    // What travels is known when it has travelled.
  } else if (runner.has_network && (runner.reports || run.scenario.fault)) {
    Progress progress("simulating " + run.scenario.name);
    prediction = predict(run.schedule, run.scenario.cluster, links_only);
  }
  if (run.scenario.fault && !runner.can_lose_ranks && runner.reports) {
    fmt::print(stderr, "refit: the scenario's fault is not caused: ranks of {} can't be lost\n",
               runner.transport);
  }
  const RunFaults faults = faults_of(run, runner, options, prediction);
  Run result = runner.run(run.schedule, run.scenario, execute, faults);

  if (!runner.reports) return std::nullopt;
  RunCase as_run = run;
  if (result.sized) {
    as_run.schedule = std::move(result.sized->schedule);
    execute.moves = result.sized->moves;
    if (runner.has_network) prediction = predict(as_run.schedule, run.scenario.cluster, links_only);
  }
  RunReport report;
  report.scenario = run.scenario.name;
  report.strategy = run.schedule.strategy;
  report.scale = run.scale;
  report.seed = options.seed;
  report.warmup = options.warmup;
  report.checked = execute.check;
  if (result.measurement.fault) {
    if (faults.inject && prediction) {
      report.predicted_fault = predict_fault(run.schedule, run.scenario.refit, run.scenario.cluster,
                                             *faults.inject, *prediction, links_only);
      report.predicted_s = report.predicted_fault->makespan_s;
    }
  } else {
    report.phases = phases_of(as_run, execute, result.measurement, prediction);
    if (prediction) report.predicted_s = prediction->makespan_s;
  }
  report.not_graded = std::move(result.not_graded);
  if (report.not_graded.empty() && result.measurement.wrong_bytes > 0) {
    report.not_graded = "destination bytes are wrong";
  }
  if (report.not_graded.empty() && result.measurement.fault && !report.predicted_fault) {
    report.not_graded = "a rank was lost that nobody meant to lose";
  }
  report.measurement = std::move(result.measurement);
  const std::size_t conversions = conversion_totals(run.scenario.refit).size();
  if (conversions > 0) {
    report.measurement.environment.emplace_back(
        "conversions",
        fmt::format("{} kind{} not executed; bytes move as they travel, and `refit simulate` lists "
                    "and times the rest",
                    conversions, conversions == 1 ? "" : "s"));
  }
  return report;
}

RunCase planned_case(const RunOptions& options) {
  std::optional<double> scale;
  if (options.scale) scale = parse_scale(*options.scale);
  const Question question = load_question(options.file);
  RunCase run = run_case(question, options.strategy, scale);
  if (options.ranks && *options.ranks != run.schedule.ranks) {
    throw Error(ErrorCode::bad_input,
                fmt::format("--ranks {}: the plan has {}; start as many, or plan for {}",
                            *options.ranks, run.schedule.ranks, *options.ranks));
  }
  return run;
}

int run(const Runner& runner, const RunOptions& options) {
  const RunCase planned = planned_case(options);
  if (runner.reports) say_reason(planned.schedule.strategy, planned.reason);
  if (options.dry_run) {
    write_output(options.output, [&](std::ostream& out) {
      write_dry_run(out, planned.schedule, planned.scenario.refit, planned.scenario.cluster,
                    options.all);
    });
    return 0;
  }
  const std::optional<RunReport> report = measure(planned, runner, options);
  if (!report) return 0;
  if (options.json) {
    write_output(options.output, [&](std::ostream& out) { write_measurement(out, *report); });
  } else {
    write_output(options.output, options.csv ? run_csv(*report) : run_table(*report));
  }
  return report->measurement.wrong_bytes == 0 ? 0 : static_cast<int>(ErrorCode::check_failed);
}

// In a job of many processes one says what is wrong.
int run(const RunOptions& options) {
  const Runner runner = runner_called(options.transport, options.lab, options.versions);
  try {
    return run(runner, options);
  } catch (const Error& error) {
    if (!runner.said_elsewhere(error)) throw;
    return static_cast<int>(error.code());
  }
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("run", "Move real bytes by a plan, check and time them");
  auto options = std::make_shared<RunOptions>();
  verb->add_option("SCENARIO", options->file, "Scenario YAML, or a plan")->required();
  verb->add_option(
      "--strategy", options->strategy,
      std::string(kStrategyNames) + ";\ndefault: policy if there is one, else reshard");
  verb->add_option(
      "--transport", options->transport,
      "inproc (default: threads of this process), tcp (processes; started here, or by\n"
      "mpirun, srun or torchrun), nccl (the same with a GPU each) or cuda (all ranks on one\n"
      "GPU); the last two need the program refit_gpu beside this one");
  verb->add_flag("--lab", options->lab,
                 "With tcp: over network namespaces with the scenario's links, NICs and NVLink\n"
                 "ports shaped to their (scaled) rates, so that the prediction can be graded");
  verb->add_option("--store", options->versions.store,
                   "Of plans that send changes: these travel through a bucket of an object store,\n"
                   "http://HOST:PORT/BUCKET[/PREFIX], not by the plan's moves; keys from the\n"
                   "environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION");
  verb->add_option(
          "--learning-rate", options->versions.learning_rate,
          "Of plans that send changes: of the trainer that makes them; default 1e-6, with\n"
          "which about 1 % of the weights change in a version")
      ->check(number_from(1e-12, 1.0));
  verb->add_option(
          "--first-version", options->versions.first_version,
          "Of plans that send changes: the version that travels whole, default 0; with the\n"
          "last one of a run under another layout, and its seed, the trainer goes on")
      ->check(number_from(0, 1'000'000));
  verb->add_option("-n,--iters,--versions", options->iterations,
                   "Timed iterations, or versions of a plan that sends changes; default 5")
      ->check(number_from(1, 100'000));
  verb->add_option("-w,--warmup", options->warmup, "Iterations before them; default 1")
      ->check(number_from(0, 100'000));
  verb->add_option("-c,--check", options->check, "1 (default): compare every destination byte")
      ->check(number_from(0, 1));
  verb->add_option("--seed", options->seed, "Of the content; every iteration has its own")
      ->check(number_from<std::uint64_t>(0));
  verb->add_option("--scale", options->scale,
                   "1/2000: bytes and bandwidths both times this; same ranks, same messages");
  verb->add_option("--ranks", options->ranks, "Ranks that are started; must be the plan's")
      ->check(number_from(1, 1'000'000));
  verb->add_option("--on-fault", options->on_fault,
                   "When a rank is lost: fail (default without a fault in the scenario), shrink\n"
                   "(the others go on and send only what is missing) or rebuild (all connections\n"
                   "and the whole refit anew)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, FaultPolicy>{{"fail", FaultPolicy::fail},
                                             {"shrink", FaultPolicy::shrink},
                                             {"rebuild", FaultPolicy::rebuild}}));
  verb->add_option(
          "--fault-timeout", options->timeout_s,
          "Seconds of silence after which a rank or link is lost; default 0.5, more where\n"
          "ranks share a core, 30 with --lab")
      ->check(number_from(0.02, 3600.0));
  CLI::Option* json =
      verb->add_flag("--json", options->json, "Print refit.measurement/1 instead of a table");
  add_csv(*verb, options->csv, json);
  CLI::Option* dry =
      verb->add_flag("--dry-run", options->dry_run, "Print what each rank would post; run nothing");
  dry->excludes(json)->excludes("--csv");
  verb->add_flag("--all", options->all, "With --dry-run: all messages of a rank, not only 20")
      ->needs(dry);
  verb->add_option("-o,--output", options->output, "Write to a file; - is standard output");
  verb->callback([&action, options] {
    action = [options] {
      require_other_file(options->file, options->output);
      return run(*options);
    };
  });
}

}  // namespace refit
