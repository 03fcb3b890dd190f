#pragma once

#include "planner/plan.h"

namespace refit {

// The strategy `optimal`: all content, striped over every owner and every NIC, relayed where that
// helps, each transfer's sender and time chosen as ports fall free (docs/decisions/0015). Its
// wire-only time stands near FlowBound::seconds for any two layouts on any cluster; how near is in
// the certificate (sim/certificate.h), not promised here. Attention, embeddings and the rest
// travel the same way.
// Of PlanOptions it knows the limits and what stands around a plan only: chunks and order follow
// from the bound. Error(bad_input) if no plan that it finds keeps them; the message says how near
// it came. With `delta` it is the strategy `delta_reshard`: changes only, coded once by who first
// sends them.
Schedule plan_optimal(const Refit& refit, const Cluster& cluster, const PlanLimits& limits = {},
                      const DeltaOptions* delta = nullptr, const Around& around = {});

}  // namespace refit
