#pragma once

#include "planner/plan.h"

namespace refit {

// The strategy `optimal`: all content, striped over every owner and every NIC, relayed where that
// helps, each transfer's sender and time chosen as ports fall free (docs/decisions/0015). Its
// wire-only time stands near FlowBound::seconds for any two layouts on any cluster; how near is in
// the certificate (report/certificate.h), not promised here. Attention, embeddings and the rest
// travel the same way.
// It has no use for PlanOptions: chunks and order follow from the bound.
Schedule plan_optimal(const Refit& refit, const Cluster& cluster);

}  // namespace refit
