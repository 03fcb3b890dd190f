#pragma once

#include <string>
#include <vector>

#include "report/link_picture.h"
#include "report/timeline_picture.h"
#include "report/transfer_picture.h"
#include "sim/traffic.h"

namespace refit {

// What the report page shows of one plan besides its row of the table: as small as a drawing needs
// it, however large the plan.
struct PlanPicture {
  std::string strategy;
  LinkPicture links;
  TransferPicture transfers;
  TimelinePicture timeline;
  std::vector<TrafficTotals> phase_traffic;
};

// As JSON, a line without an end, for the page (docs/report_page.md). Numbers of pictures have five
// digits: nobody sees more.
std::string plan_picture_json(const PlanPicture& picture, const Schedule& schedule);

}  // namespace refit
