#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refit::detail {

// "srv[1-3,7],b2" -> srv1 srv2 srv3 srv7 b2; leading zeros stay ("n[08-10]"). Error(bad_input) with
// `where` in front if a bracket or range is wrong, or if there are more than a million.
std::vector<std::string> expand_hosts(std::string_view list, const std::string& where);

inline constexpr std::size_t kMostHosts = 1'000'000;

}  // namespace refit::detail
