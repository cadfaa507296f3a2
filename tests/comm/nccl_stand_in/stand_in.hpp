// What tests ask of the stand-in for NCCL.
#pragma once

#include <nccl.h>

#include <cstdint>

namespace stand_in {

/// Since the process began.
struct Counts {
  int communicators, destroyed, aborted;
  int groups, most_in_group;     ///< of calls between ncclGroupStart and ncclGroupEnd
  std::int64_t sent, scattered;  ///< bytes handed to MPI in all, and by ncclReduceScatter
};
Counts counts();
/// The next question after the state of a communicator is answered with this.
void fail_next(ncclResult_t state);
/// The next group of calls is answered with this, and none of them is queued.
void refuse_next_group(ncclResult_t code);

}  // namespace stand_in
