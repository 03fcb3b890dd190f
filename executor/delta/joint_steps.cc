#include "executor/delta/joint_steps.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "executor/delta/blob.h"

namespace refit {

using detail::put;
using detail::put_text;
using detail::take_text;

namespace {

constexpr int kRepeats = 3;

}  // namespace

// What a rank says when it has tried.
struct JointSteps::Finding {
  std::string problem;  // empty: none
  Hash128 state;
  Lacks lacks;

  std::string blob() const {
    std::string out;
    put(out, state);
    put_text(out, problem);
    put_text(out, lacks.why);
    return out + blob_of(lacks.lacks);
  }
  static Finding of(std::string_view in) {
    Finding finding;
    finding.state = detail::take<Hash128>(in);
    finding.problem = take_text(in);
    finding.lacks.why = take_text(in);
    finding.lacks.lacks = entries_of<Lack>(in);
    return finding;
  }
};

JointSteps::JointSteps(DeltaSeat& seat, DeltaRank& rank, std::uint64_t version,
                       const std::vector<std::optional<std::size_t>>& first_coder,
                       std::function<void(std::size_t)> arrived)
    : seat_(seat),
      rank_(rank),
      version_(version),
      first_coder_(first_coder),
      arrived_(std::move(arrived)) {}

std::vector<Hash128> JointSteps::take(const std::function<Lacks()>& step, const char* otherwise) {
  for (int turn = 0;; ++turn) {
    Finding own;
    try {
      own.lacks = step();
    } catch (const Error& error) {
      own.problem = error.what();
    }
    if (const auto record = rank_.record()) own.state = record->next_state;
    if (turn == kRepeats && own.problem.empty()) own.problem = own.lacks.why;
    const std::vector<Finding> findings = exchange(own, otherwise);
    const bool lack = std::ranges::any_of(
        findings, [](const Finding& finding) { return !finding.lacks.lacks.empty(); });
    if (lack) {
      bring(findings, own.lacks.lacks);
      continue;
    }
    std::vector<Hash128> states;
    for (const Finding& finding : findings) states.push_back(finding.state);
    return states;
  }
}

std::vector<JointSteps::Finding> JointSteps::exchange(const Finding& own, const char* otherwise) {
  std::vector<Finding> findings;
  for (const std::string& blob : seat_.all_gather(own.blob()))
    findings.push_back(Finding::of(blob));
  for (const Finding& finding : findings) {
    if (finding.problem.empty()) continue;
    throw Error(ErrorCode::check_failed,
                fmt::format("version {} {}: {}", version_, otherwise, finding.problem));
  }
  return findings;
}

void JointSteps::bring(const std::vector<Finding>& findings, const std::vector<Lack>& own) {
  std::set<Lack> asked;
  for (const Finding& finding : findings) {
    asked.insert(finding.lacks.lacks.begin(), finding.lacks.lacks.end());
    asked_again_ += finding.lacks.lacks.size();
  }
  std::string blob;
  for (const Lack& lack : asked) {
    if (first_coder_[lack.chunk] != rank_.rank().index()) continue;
    put(blob, lack);
    put_text(blob, rank_.answer(lack));
  }
  for (const std::string& answers : seat_.all_gather(blob)) {
    for (std::string_view in = answers; !in.empty();) {
      const auto lack = detail::take<Lack>(in);
      const std::string answer = take_text(in);
      if (std::ranges::count(own, lack) == 0) continue;
      rank_.take(lack, answer);
      if (lack.of_segment == 0) arrived_(lack.chunk);
    }
  }
}

}  // namespace refit
