#include <nlohmann/json.hpp>

#include "report/json_number.h"
#include "report/table.h"

namespace refit {

std::string Table::json(const std::string& schema) const {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const std::vector<Cell>& row : rows_) {
    Json object = Json::object();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].for_people) continue;
      Json& value = object[columns_[c].field.empty() ? columns_[c].heading : columns_[c].field];
      if (row[c].number) {
        value = json_number(*row[c].number);
      } else if (!row[c].text.empty()) {
        value = row[c].text;
      }
    }
    rows.push_back(std::move(object));
  }
  return Json{{"schema", schema}, {"rows", std::move(rows)}}.dump(2) + "\n";
}

}  // namespace refit
