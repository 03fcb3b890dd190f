#include "sim/detail/child.h"

#include <cstring>
#include <string>

#include "base/check.h"
#include "base/workers.h"

namespace refit::detail {

std::vector<double> run_in_child(std::size_t count,
                                 const std::function<std::vector<double>()>& work) {
  const auto as_text = [&] {
    const std::vector<double> numbers = work();
    REFIT_CHECK(numbers.size() == count);
    return std::string(reinterpret_cast<const char*>(numbers.data()), count * sizeof(double));
  };
  const std::string text = run_in_workers({{"simulation", as_text}}, 1).front();
  REFIT_CHECK(text.size() == count * sizeof(double));
  std::vector<double> numbers(count);
  std::memcpy(numbers.data(), text.data(), text.size());
  return numbers;
}

}  // namespace refit::detail
