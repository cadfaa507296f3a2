// Ranks as MPI processes. Private to comm; other folders use Communicator.
#pragma once

#include "comm/communicator.hpp"
#include "comm/mpi_calls.hpp"
#include "comm/mpi_messages.hpp"
#include "comm/mpi_waits.hpp"
#include "comm/roll_call.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rollcall::comm {

/// Collectives over MPI. If all ranks are on one node and have called meet(), short collectives go
/// through shared memory. MpiWaits does the waiting, and MpiMessages carries the messages.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm own, std::shared_ptr<RollCall> roll);  ///< takes ownership of the handle
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return waits_.rank(); }
  int size() const override { return waits_.size(); }
  void sum(std::span<std::int64_t> values) override;
  void maximum(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void barrier() override;
  void sum_to_shares(std::span<std::int64_t> values,
                     std::span<const std::int64_t> share_offsets) override;
  void gather_shares(std::span<float> values, std::span<const std::int64_t> share_offsets) override;
  std::unique_ptr<Communicator> split(int color) override;
  std::unique_ptr<Communicator> split_by_node() override;
  std::unique_ptr<Communicator> split_by_host() override;
  SharedMemory share_memory(std::size_t bytes) override;
  std::vector<std::string> gather_all(const std::string& bytes) override;
  std::vector<std::string> gather(const std::string& bytes, int root) override;
  std::string scatter(const std::vector<std::string>& parts, int root) override;
  void broadcast_together(std::span<const GroupBroadcast> broadcasts) override;
  const void* mpi_handle() const override { return &comm_; }
  [[noreturn]] void abort(int exit_code) override;

 private:
  MPI_Comm comm_;
  int exceptions_ = 0;                   ///< exceptions in flight at construction; if there are
                                         ///< more at destruction, the job is about to end
  std::vector<std::int64_t> addends_;    ///< buffer that sum_to_shares() receives into; a member,
                                         ///< because MPI may write into it until the job ends
  std::shared_ptr<RollCall> roll_call_;  ///< the same object as roll_
  MpiWaits waits_;
  MpiMessages* mpi_messages_ = nullptr;  ///< the same object as messages_
};

/// From now on the ranks of a communicator wait and run short collectives through shared memory,
/// which all of them must be able to share. `crowded`: other ranks also use cores of their node.
/// Collective.
void meet(Communicator& ranks, MpiWaits& waits, bool crowded);

/// A separate world, over a duplicate of `comm`. Collective.
std::unique_ptr<Communicator> duplicate(MPI_Comm comm);

}  // namespace rollcall::comm
