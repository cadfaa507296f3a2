// Carriers for device memory: NCCL, or MPI with what lies on a device staged through the host.
// Without CUDA no_device_carrier.cpp stands here. Private to comm.
#pragma once

#include "comm/transport.hpp"

#include <cstddef>

namespace rollcall::comm {

/// A CUDA device of this process. Throws EnvironmentError where it does not see it, and in a build
/// without CUDA.
RankDevice rank_device(int device);
/// For a transport other than plain MPI.
std::unique_ptr<Transport> device_transport(TransportKind transport, int device,
                                            std::size_t work_bytes);

/// Every group's ranks have a device each. A wait ends at the group's deadline with its roll call,
/// as over MPI, and aborts NCCL's communicator on the way.
std::unique_ptr<Transport> nccl_transport(int device, std::size_t work_bytes);
std::unique_ptr<Transport> staged_carrier(int device, std::size_t work_bytes);

}  // namespace rollcall::comm
