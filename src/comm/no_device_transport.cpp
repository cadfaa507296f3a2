// Replaces device_transport.cpp in a build without CUDA, where no rank has a device.
#include "base/errors/error.hpp"
#include "comm/device_transport.hpp"

namespace rollcall::comm {

RankDevice rank_device(int) {
  throw EnvironmentError(error_message("this program was built without CUDA",
                                       "a rank of the run computes on a device",
                                       "configure with cmake --preset cuda"));
}

std::unique_ptr<Transport> device_transport(TransportKind, int device, std::size_t) {
  rank_device(device);
  return nullptr;
}

}  // namespace rollcall::comm
