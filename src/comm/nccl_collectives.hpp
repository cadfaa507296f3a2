// The collectives of the model over NCCL, between GPUs. Built only with ROLLCALL_ENABLE_CUDA.
#pragma once

#include "comm/communicator.hpp"

namespace rollcall::comm {

/// The ranks of `group`, each with a CUDA device of its own, as NCCL collectives. Collective over `group`, which carries NCCL's id and must outlive it.
/// Buffers may lie on the device, finished on their own stream before the call, or on the host, where they are staged in parts.
/// A result is complete on return. Throws EnvironmentError without such a device, ProtocolError on errors and after `deadline_s` in one collective.
std::unique_ptr<Collectives> nccl_collectives(Communicator& group, int device, double deadline_s = 600.0);

}  // namespace rollcall::comm
