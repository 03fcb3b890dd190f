#include "validation/near_rows.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"

namespace refit {
namespace {

constexpr int kGpusOfNode = 8;

const PublishedRow& row_named(const std::vector<PublishedRow>& rows, std::string_view id) {
  const auto found = std::ranges::find(rows, id, &PublishedRow::id);
  REFIT_CHECK(found != rows.end());
  return *found;
}

std::vector<RowPrediction> predict_all(const std::vector<RowRun>& runs, const NetworkModel& model) {
  return predict_rows(runs, std::vector<NetworkModel>(runs.size(), model));
}

}  // namespace

std::vector<ScalePoint> scale_series(const std::vector<PublishedRow>& rows,
                                     const NetworkModel& model) {
  const PublishedRow& base = row_named(rows, "SC-0032");
  std::vector<PublishedRow> larger;
  std::vector<ScalePoint> points;
  for (int gpus = 32; gpus <= 2048; gpus *= 2) {
    PublishedRow row = base;
    row.train_gpus = row.infer_gpus = gpus / 2;
    row.train_nodes = row.infer_nodes = gpus / 2 / kGpusOfNode;
    larger.push_back(row);
    points.push_back({gpus, {}, 0});
    for (const PublishedRow& other : rows) {
      const bool same = other.system == base.system && other.method == base.method &&
                        layout_of(other) == layout_of(base);
      if (same && other.train_gpus == row.train_gpus && other.infer_gpus == row.infer_gpus)
        points.back().published_s = other.time_s;
    }
  }
  const RowRuns runs = plan_rows(larger);
  REFIT_CHECK(runs.skipped.empty());
  const std::vector<RowPrediction> predictions = predict_all(runs.runs, model);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].predicted_s = predictions[i].seconds;
  return points;
}

std::vector<StreamsPoint> streams_series(const std::vector<PublishedRow>& rows,
                                         const NetworkModel& model) {
  constexpr std::array kStreams = {1, 2, 4};
  // What NeMo RL's pull requests say of one, two and four; two are the rows' own.
  constexpr std::pair<const char*, std::array<const char*, 3>> kSaid[] = {
      {"NR-39", {"about 15 s", "about 8 s", "no better than two"}},
      {"NV-04", {"", "2.4 s to 2.6 s", ""}}};
  std::vector<RowRun> runs;
  std::vector<StreamsPoint> points;
  for (const auto& [id, said] : kSaid) {
    const PublishedRow& base = row_named(rows, id);
    for (std::size_t i = 0; i < kStreams.size(); ++i) {
      RowCase question = std::get<RowCase>(row_case(base));
      question.scenario_yaml += fmt::format("plan:\n  streams: {}\n", kStreams[i]);
      std::variant<RowRun, RowSkip> run = plan_question(base, question);
      REFIT_CHECK(std::holds_alternative<RowRun>(run));
      runs.push_back(std::get<RowRun>(std::move(run)));
      points.push_back({question.system, kStreams[i], said[i], 0});
    }
  }
  const std::vector<RowPrediction> predictions = predict_all(runs, model);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].predicted_s = predictions[i].seconds;
  return points;
}

}  // namespace refit
