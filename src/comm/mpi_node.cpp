// Groups of ranks on one node, and the memory that they share.
#include "base/errors/error.hpp"
#include "comm/mpi_communicator.hpp"
#include "comm/shared_pages.hpp"
#include "comm/timed_call.hpp"

#include <fmt/format.h>

#include <optional>

namespace rollcall::comm {
namespace {

/// Maps pages that rank 0 makes. Returns nothing if this rank cannot reach them. Collective.
std::optional<SharedMemory> pages_of_first(Communicator& ranks, std::size_t bytes) {
  std::optional<SharedPages> made;
  if (ranks.rank() == 0) made.emplace(bytes);
  const std::string address = ranks.gather_all(made ? made->address() : "")[0];
  auto memory = made ? map_pages(bytes, made->file()) : open_pages(address, bytes);
  ranks.barrier();  // all ranks have mapped the pages, so rank 0 may close their file
  return memory;
}

}  // namespace

void meet(Communicator& ranks, MpiWaits& waits, bool crowded) {
  if (ranks.size() == 1) return;
  waits.meet(ranks.share_memory(NodeRendezvous::bytes(ranks.size())));
  const int cores = cores_together(ranks);  // collective
  waits.set_crowded(cores < ranks.size() || crowded);
}

std::unique_ptr<Communicator> MpiCommunicator::split_by_host() {
  barrier();  // the next call blocks, so ranks wait for each other asleep first
  MPI_Comm part = MPI_COMM_NULL;
  {
    const TimedCall guard(times_.collective_deadline_s, "MPI_Comm_split_type");
    check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank(), MPI_INFO_NULL, &part),
              "MPI_Comm_split_type");
  }
  auto host = std::make_unique<MpiCommunicator>(part, roll_call_);
  host->set_collective_deadline(times_.collective_deadline_s);
  return host;
}

std::unique_ptr<Communicator> MpiCommunicator::split_by_node() {
  const auto host = split_by_host();
  // Ranks in separate containers are on one machine but cannot share memory. Each of them counts as
  // a node.
  const bool reached = pages_of_first(*host, 1).has_value();
  auto node = host->split(reached ? 0 : 1 + host->rank());
  meet(*node, static_cast<MpiCommunicator&>(*node).waits_, waits_.crowded());
  if (!waits_.met() && node->size() == size())
    meet(*this, waits_, waits_.crowded());  // all ranks reach the same result here
  return node;
}

SharedMemory MpiCommunicator::share_memory(std::size_t bytes) {
  if (size() == 1) return map_pages(bytes);
  const auto memory = pages_of_first(*this, bytes);
  std::int64_t reached = memory ? 1 : 0;
  sum(std::span(&reached, 1));
  require<EnvironmentError>(
      reached == size(),
      fmt::format("{} of {} ranks cannot reach memory of their neighbour", size() - reached,
                  size()),
      "they were to share weights and sums",
      "look for limits on memory or open files that differ between the ranks of a node");
  return *memory;
}

}  // namespace rollcall::comm
