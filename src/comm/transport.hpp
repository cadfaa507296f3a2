// What carries large buffers between ranks, sums and weights: MPI, NCCL between devices, or MPI
// with device memory staged through the host; and why that one.
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

/// Through which buffers pass that do not lie where the transport works.
inline constexpr std::size_t kWorkBytes = std::size_t{64} << 20;

/// How a rank computes, as far as the choice asks.
struct RankDevice {
  std::string node{};     ///< its name
  std::string device{};   ///< PCI bus id of its CUDA device; empty: it computes on its processor
  std::string no_nccl{};  ///< why it cannot use NCCL; empty: it can
  int host = 0;           ///< number of its machine: containers may all have one name
};
struct TransportChoice {
  TransportKind transport = TransportKind::mpi;
  std::string reason;  ///< a clause: "each of the 8 ranks has a device of its own"
};
/// Pure. `wish`: run.comm, auto, mpi or nccl. NCCL wants it on every rank and a device for each.
/// Throws EnvironmentError where nccl is asked for and cannot be.
TransportChoice choose_transport(const std::string& wish, const std::vector<RankDevice>& ranks);
std::string describe(const TransportChoice& choice);  ///< "NCCL: each of the 8 ranks has a device
                                                      ///< of its own"

/// One of several broadcasts, each within ranks of its own.
struct Broadcast {
  Collectives* ranks = nullptr;
  int root = 0;
  std::span<std::byte> bytes{};
};

/// Makes collectives of one transport. Buffers may lie on the host, or on the device where the
/// transport has one; what was queued for them is finished before a call.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Collective over the group, which must outlive the answer; its deadline of collectives is that
  /// of the answer.
  virtual std::unique_ptr<Collectives> over(Communicator& group) = 0;
  /// All of them, side by side where the transport can. `ranks` are of this transport; every rank
  /// lists those that it takes part in, in one order for all.
  virtual void broadcast(std::span<const Broadcast> broadcasts) = 0;
  /// XXH3 64 bit, wherever they lie
  virtual std::uint64_t checksum(std::span<const std::byte> bytes) = 0;
};

/// The group itself, for buffers on the host.
std::unique_ptr<Transport> mpi_transport();

struct ChosenTransport {
  std::unique_ptr<Transport> transport;
  TransportChoice choice;
};
/// What `wish` and the devices of all ranks lead to; `device`: of this rank, none where it computes
/// on its processor. Collective. Throws EnvironmentError.
ChosenTransport choose_carrier(Communicator& world, const std::string& wish,
                               std::optional<int> device, std::size_t work_bytes = kWorkBytes);

}  // namespace rollcall::comm
