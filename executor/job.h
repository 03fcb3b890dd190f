#pragma once

#include "base/error.h"
#include "executor/rank_environment.h"

namespace refit {

// What the ranks of a job say that mpirun, srun or torchrun has started. When it goes wrong, rank 0
// says why, once; the others say something only if rank 0 can't.

// Tells rank 0, which then ends the job with it, what this rank has met before it could join the
// others. Whether rank 0 has heard it and will say it.
bool tell_rank_zero(const RankEnvironment& place, const Error& error);

// Launchers end a job as soon as one rank ends with an error: another one than rank 0 waits here
// before it does, so that the reason is said.
void let_rank_zero_speak();

}  // namespace refit
