#include "delta/joint_commit.h"

#include <fmt/format.h>

#include "base/error.h"

namespace refit {

JointCommit::JointCommit(VersionStore& versions, const VersionRecord& base,
                         const VersionRecord& target, std::size_t receivers)
    : versions_(versions), base_(base), target_(target), acknowledged_(receivers, false) {}

bool JointCommit::acknowledge(std::size_t receiver, std::uint64_t version) {
  if (receiver >= acknowledged_.size()) {
    throw Error(ErrorCode::bad_input, fmt::format("receiver {} acknowledges, but there are {}",
                                                  receiver, acknowledged_.size()));
  }
  if (version != target_.version) return committed_;
  acknowledged_[receiver] = true;
  if (committed_ || !outstanding().empty()) return committed_;
  if (!versions_.compare_and_set(base_, target_)) {
    throw Error(ErrorCode::check_failed,
                fmt::format("all have version {}, but the record is {}, not {}", target_.version,
                            to_string(versions_.read()), to_string(base_)));
  }
  return committed_ = true;
}

std::vector<std::size_t> JointCommit::outstanding() const {
  std::vector<std::size_t> receivers;
  for (std::size_t i = 0; i < acknowledged_.size(); ++i) {
    if (!acknowledged_[i]) receivers.push_back(i);
  }
  return receivers;
}

}  // namespace refit
