#pragma once

#include <functional>
#include <vector>

namespace refit::detail {

// Runs `work` in a forked child and returns its `count` numbers. An Error thrown there is thrown
// here again, with its code; a child that dies becomes Error(environment) that names the signal.
std::vector<double> run_in_child(std::size_t count,
                                 const std::function<std::vector<double>()>& work);

}  // namespace refit::detail
