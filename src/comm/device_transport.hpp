// Transports for device memory: NCCL, or MPI with device memory staged through the host. In a build
// without CUDA, no_device_transport.cpp replaces device_transport.cpp. Private to comm.
#pragma once

#include "comm/transport.hpp"

#include <cstddef>

namespace rollcall::comm {

/// Describes a CUDA device of this process. Throws EnvironmentError if the process does not see the
/// device, and in a build without CUDA.
RankDevice rank_device(int device);
/// Makes the transport `transport`, which is not plain MPI.
std::unique_ptr<Transport> device_transport(TransportKind transport, int device,
                                            std::size_t work_bytes);

/// Every rank of a group needs its own device. A wait ends at the group's deadline with a roll
/// call, as over MPI, and aborts NCCL's communicator.
std::unique_ptr<Transport> nccl_transport(int device, std::size_t work_bytes);
std::unique_ptr<Transport> staged_transport(int device, std::size_t work_bytes);

}  // namespace rollcall::comm
