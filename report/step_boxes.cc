#include "report/step_boxes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace refit {
namespace {

using Key = std::tuple<int, int, int, OpKind, Work>;  // phase, stage, lane, what

std::vector<int> stage_of_cargos(const Schedule& schedule) {
  std::vector<int> stages;
  for (const Cargo& cargo : schedule.cargos) {
    int stage = kNone;
    for (const ParcelId parcel : cargo.parcels) {
      const int other = schedule.parcels[parcel.index()].stage;
      stage = stage == kNone || stage == other ? other : kSeveral;
    }
    stages.push_back(stage);
  }
  return stages;
}

// Which boxes a rank's lane had in the round that it is in and in the one before.
struct LaneTail {
  int round = -1;
  std::vector<std::size_t> now, before;

  void enter(int next) {
    if (next == round) return;
    round = next;
    if (!now.empty()) before = std::exchange(now, {});
  }
  // What comes next waits for the barrier, in its round, too.
  void close(std::size_t barrier) {
    now.clear();
    before = {barrier};
  }
  void add(std::size_t box) {
    if (std::find(now.begin(), now.end(), box) == now.end()) now.push_back(box);
  }
};

class LaneOrder {
 public:
  LaneOrder(const Schedule& schedule, StepBoxes& boxes)
      : schedule_(schedule),
        boxes_(boxes),
        lanes_(static_cast<std::size_t>(schedule.lanes)),
        tails_(static_cast<std::size_t>(schedule.ranks) * lanes_) {}

  void add(const Op& op, std::size_t box) {
    waits_for_.clear();
    if (op.kind == OpKind::transfer) {
      visit(op, op.src, box);
      if (op.dst != op.src) visit(op, op.dst, box);
    } else {
      for (const Rank rank : schedule_.groups[op.group.index()].ranks) visit(op, rank, box);
    }
    for (const std::size_t earlier : waits_for_)
      if (earlier != box) ++boxes_.edges[{earlier, box}].lane;
  }

 private:
  void visit(const Op& op, Rank rank, std::size_t box) {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      // A barrier is on every lane.
      if (lane != op.lane && op.kind != OpKind::barrier) continue;
      if (schedule_.window_of(static_cast<int>(lane)) != nullptr) continue;
      LaneTail& tail = tails_[rank.index() * lanes_ + lane];
      if (op.kind == OpKind::barrier) {
        const std::vector<std::size_t>& last = tail.now.empty() ? tail.before : tail.now;
        waits_for_.insert(last.begin(), last.end());
        tail.close(box);
        continue;
      }
      tail.enter(op.round);
      waits_for_.insert(tail.before.begin(), tail.before.end());
      tail.add(box);
    }
  }

  const Schedule& schedule_;
  StepBoxes& boxes_;
  std::size_t lanes_;
  std::vector<LaneTail> tails_;  // [rank][lane]
  std::set<std::size_t> waits_for_;
};

// By arrows that go on in time: in plans that work bucket by bucket, boxes wait for each other.
bool reaches(const StepBoxes& steps, std::size_t from, std::size_t to) {
  std::vector<std::size_t> left = {from};
  std::vector<bool> seen(steps.boxes.size(), false);
  while (!left.empty()) {
    const std::size_t box = left.back();
    left.pop_back();
    if (box == to) return true;
    if (seen[box]) continue;
    seen[box] = true;
    for (auto edge = steps.edges.lower_bound({box, 0});
         edge != steps.edges.end() && edge->first.first == box; ++edge)
      if (!steps.goes_back(box, edge->first.second)) left.push_back(edge->first.second);
  }
  return false;
}

}  // namespace

void drop_implied(StepBoxes& steps) {
  for (auto edge = steps.edges.begin(); edge != steps.edges.end();) {
    const auto next = std::next(edge);
    if (edge->second.after == 0) {
      auto taken = steps.edges.extract(edge);
      if (!reaches(steps, taken.key().first, taken.key().second))
        steps.edges.insert(std::move(taken));
    }
    edge = next;
  }
}

StepBoxes step_boxes(const Schedule& schedule, const Timeline& timeline, const StepDetail& detail) {
  REFIT_CHECK(timeline.size() == schedule.ops.size());
  const std::vector<int> stages = stage_of_cargos(schedule);
  const auto key_of = [&](const Op& op) {
    const bool moves = moves_bytes(op);
    const int stage = !detail.stages ? kAll : moves ? stages[op.cargo.index()] : kNone;
    const int lane = !detail.lanes || op.kind == OpKind::barrier ? kAll : op.lane;
    return Key{op.phase, stage, lane, op.kind, op.kind == OpKind::compute ? op.work : Work::none};
  };
  std::map<Key, std::size_t> number;
  for (const Op& op : schedule.ops) number.emplace(key_of(op), 0);
  StepBoxes result;
  for (auto& [key, box] : number) {
    box = result.boxes.size();
    const auto& [phase, stage, lane, kind, work] = key;
    StepBox& step = result.boxes.emplace_back();
    step.phase = phase;
    step.stage = stage;
    step.lane = lane;
    step.kind = kind;
    step.work = work;
  }
  std::vector<std::size_t> box_of;
  std::vector<std::vector<Span>> spans(result.boxes.size());
  LaneOrder order(schedule, result);
  std::set<std::size_t> waits_for;
  for (std::size_t id = 0; id < schedule.ops.size(); ++id) {
    const Op& op = schedule.ops[id];
    const std::size_t number_of_box = number.at(key_of(op));
    box_of.push_back(number_of_box);
    StepBox& box = result.boxes[number_of_box];
    ++box.ops;
    if (moves_bytes(op)) box.bytes += static_cast<double>(op.bytes);
    spans[number_of_box].push_back(timeline[id]);
    waits_for.clear();
    for (const OpId earlier : schedule.after_of(op)) waits_for.insert(box_of[earlier.index()]);
    for (const std::size_t earlier : waits_for)
      ++(earlier == number_of_box ? box.waits_inside
                                  : result.edges[{earlier, number_of_box}].after);
    order.add(op, number_of_box);
  }
  for (std::size_t b = 0; b < result.boxes.size(); ++b) {
    StepBox& box = result.boxes[b];
    box.span = spans[b].front();
    for (const Span& span : spans[b]) {
      box.span.start_s = std::min(box.span.start_s, span.start_s);
      box.span.end_s = std::max(box.span.end_s, span.end_s);
    }
    box.busy_s = covered_s(std::move(spans[b]));
  }
  return result;
}

}  // namespace refit
