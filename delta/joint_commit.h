#pragma once

#include <cstddef>
#include <vector>

#include "delta/version_store.h"

namespace refit {

// All receivers have a version or none counts as having it: the coordinator's record moves from
// base to target, once, when the last of them has acknowledged.
class JointCommit {
 public:
  JointCommit(VersionStore& versions, const VersionRecord& base, const VersionRecord& target,
              std::size_t receivers);

  // A repeated acknowledgement and one for another version change nothing. True from the moment on
  // when all have acknowledged. Error(check_failed) if the record was no longer `base` then.
  bool acknowledge(std::size_t receiver, std::uint64_t version);

  std::vector<std::size_t> outstanding() const;

 private:
  VersionStore& versions_;
  VersionRecord base_;
  VersionRecord target_;
  std::vector<bool> acknowledged_;
  bool committed_ = false;
};

}  // namespace refit
