#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace refit::detail {

// Names of hosts as schedulers write them: "srv[1-3,7],b2" -> srv1 srv2 srv3 srv7 b2; leading zeros
// stay ("n[08-10]").
//
// A list of a few bytes stands for any number of names, and a file has any number of lists, so
// names are counted over all lists of a file: one of these for each.
class HostLists {
 public:
  // Error(bad_input) with `where` in front if a bracket or range is wrong, if a name is longer than
  // a host's can be, or if the lists so far have more names than kMostHosts.
  std::vector<std::string> expand(std::string_view list, const std::string& where);

 private:
  std::size_t names_ = 0;  // of the lists before
};

inline constexpr std::size_t kMostHosts = 250'000;  // more than any cluster has

}  // namespace refit::detail
