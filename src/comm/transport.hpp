// What carries large buffers, gradient sums and weights, between ranks: MPI, NCCL between devices,
// or MPI with device memory staged through the host. Also the reason for the choice.
#pragma once

#include "comm/communicator.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rollcall::comm {

enum class TransportKind { mpi, staged, nccl };

/// Bytes of the work memory for buffers that do not lie where the transport works.
inline constexpr std::size_t kWorkBytes = std::size_t{64} << 20;

/// What the choice of a transport needs to know about a rank.
struct RankDevice {
  std::string node{};     ///< host name
  std::string device{};   ///< PCI bus id of its CUDA device; empty if it computes on its processor
  std::string no_nccl{};  ///< why it cannot use NCCL; empty if it can
  int host = 0;  ///< lowest rank on its machine, because containers may all have the same name
};
struct TransportChoice {
  TransportKind transport = TransportKind::mpi;
  std::string reason;  ///< a clause, such as "each of the 8 ranks has a device of its own"
};
/// Pure. `wish` is run.comm: auto, mpi or nccl. NCCL needs support in every rank and a separate
/// device for each. Throws EnvironmentError if `wish` is nccl and these needs are not met.
TransportChoice choose_transport(const std::string& wish, const std::vector<RankDevice>& ranks);
std::string describe(const TransportChoice& choice);  ///< "NCCL: each of the 8 ranks has a device
                                                      ///< of its own"

/// One of several broadcasts that run at the same time, each within its own group.
struct Broadcast {
  Collectives* ranks = nullptr;
  int root = 0;
  std::span<std::byte> bytes{};
};

/// Makes collectives that run over one transport. A buffer may lie on the host, or on the device if
/// the transport has one. Work that was queued for a buffer must have ended before a call.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Collectives of `group`, which must outlive them and whose deadline they use. Collective.
  virtual std::unique_ptr<Collectives> over(Communicator& group) = 0;
  /// Runs several broadcasts, at the same time if the transport can. Their `ranks` must come from
  /// this transport. Every rank lists the broadcasts that it takes part in, in the same order.
  virtual void broadcast(std::span<const Broadcast> broadcasts) = 0;
  /// 64-bit XXH3 of bytes on the host or on the device.
  virtual std::uint64_t checksum(std::span<const std::byte> bytes) = 0;
};

/// Uses the group itself, for buffers on the host.
std::unique_ptr<Transport> mpi_transport();

struct ChosenTransport {
  std::unique_ptr<Transport> transport;
  TransportChoice choice;
};
/// Chooses the transport from `wish` and the devices of all ranks. `device` is this rank's device,
/// or empty if it computes on its processor. Collective. Throws EnvironmentError.
ChosenTransport agree_on_transport(Communicator& world, const std::string& wish,
                                   std::optional<int> device, std::size_t work_bytes = kWorkBytes);

}  // namespace rollcall::comm
