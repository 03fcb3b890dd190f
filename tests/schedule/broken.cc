#include "tests/schedule/broken.h"

#include <functional>
#include <optional>

namespace refit::test {
namespace {

// The plan with op lists `order` of the old plan (numbers may repeat or be missing) and `after`
// names rewritten to the first new op made from the old one.
Schedule rebuilt(const Schedule& schedule, const std::vector<std::size_t>& order) {
  std::vector<std::optional<OpId>> new_id(schedule.ops.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!new_id[order[i]]) new_id[order[i]] = OpId(static_cast<std::int64_t>(i));
  }
  Schedule result = schedule;
  result.ops.clear();
  result.after.clear();
  for (const std::size_t old : order) {
    Op op = schedule.ops[old];
    op.after_begin = static_cast<std::uint32_t>(result.after.size());
    for (const OpId earlier : schedule.after_of(schedule.ops[old])) {
      if (new_id[earlier.index()]) result.after.push_back(*new_id[earlier.index()]);
    }
    op.after_end = static_cast<std::uint32_t>(result.after.size());
    result.ops.push_back(op);
  }
  return result;
}

}  // namespace

Schedule without_op(const Schedule& schedule, std::size_t id) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    if (i != id) order.push_back(i);
  }
  return rebuilt(schedule, order);
}

Schedule with_copy_of_op(const Schedule& schedule, std::size_t id) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < schedule.ops.size(); ++i) {
    order.push_back(i);
    if (i == id) order.push_back(i);
  }
  return rebuilt(schedule, order);
}

Schedule with_op(Schedule schedule, std::size_t id, const Op& op) {
  schedule.ops[id] = op;
  return schedule;
}

Schedule with_after(Schedule schedule, std::size_t id, std::vector<OpId> after) {
  Op& op = schedule.ops[id];
  op.after_begin = static_cast<std::uint32_t>(schedule.after.size());
  schedule.after.insert(schedule.after.end(), after.begin(), after.end());
  op.after_end = static_cast<std::uint32_t>(schedule.after.size());
  return schedule;
}

std::string text_of(const Diagnostics& findings) {
  std::string text;
  for (const Diagnostic& finding : findings) text += finding.where + ": " + finding.message + "\n";
  return text;
}

}  // namespace refit::test
