#pragma once

#include <nccl.h>
#include <fmt/format.h>

#include "base/error.h"

static_assert(NCCL_VERSION_CODE >= NCCL_VERSION(2, 18, 1),
              "ncclCommSplit and non-blocking communicators need NCCL 2.18.1 or newer");

namespace refit {

// Error(environment) if an NCCL call failed, with NCCL's own last words. ncclInProgress is not a
// failure: communicators are non-blocking, and who called must poll.
inline void nccl_check(ncclResult_t status, const char* call, ncclComm_t communicator = nullptr) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  const char* last = ncclGetLastError(communicator);
  const bool said_more = last != nullptr && *last != '\0';
  throw Error(ErrorCode::environment,
              fmt::format("{}: {}{}{}", call, ncclGetErrorString(status), said_more ? ": " : "",
                          said_more ? last : "; NCCL_DEBUG=WARN makes NCCL say more"));
}

}  // namespace refit
