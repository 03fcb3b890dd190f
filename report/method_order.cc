#include "report/method_order.h"

#include <algorithm>

#include "report/validation_words.h"

namespace refit {
namespace {

MethodOrder::Method method_of(const std::string& system, const std::vector<ValidationRow>& rows,
                              const std::string& layout) {
  std::vector<double> published, predicted, left_out;
  for (const ValidationRow& row : rows) {
    if (row.system != system || row.layout != layout) continue;
    published.push_back(row.published_s);
    predicted.push_back(row.predicted_s);
    left_out.push_back(row.left_out_s);
  }
  return {system, median(published), median(predicted), median(left_out)};
}

}  // namespace

bool MethodOrder::right() const {
  return std::ranges::is_sorted(methods, {}, &Method::predicted_s);
}

bool MethodOrder::left_out_right() const {
  return std::ranges::is_sorted(methods, {}, &Method::left_out_s);
}

std::vector<MethodOrder> method_orders(const std::vector<ValidationRow>& rows) {
  std::vector<std::string> layouts;
  std::vector<MethodOrder> orders;
  for (const ValidationRow& row : rows) {
    if (std::ranges::find(layouts, row.layout) != layouts.end()) continue;
    layouts.push_back(row.layout);
    MethodOrder order{row.model, row.hardware, {}};
    for (const ValidationRow& other : rows) {
      const auto known =
          std::ranges::find(order.methods, other.system, &MethodOrder::Method::system);
      if (other.layout == row.layout && known == order.methods.end())
        order.methods.push_back(method_of(other.system, rows, row.layout));
    }
    if (order.methods.size() < 2) continue;
    std::ranges::sort(order.methods, {}, &MethodOrder::Method::published_s);
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace refit
