// What the node offers a rank: neighbours and cores.
#include "comm/mpi_communicator.hpp"

#include <sched.h>
#include <unistd.h>

#include <memory>

namespace rollcall::comm {

int ranks_on_node(Communicator& world) {
  const auto* comm = static_cast<const MPI_Comm*>(world.mpi_handle());
  if (!comm) return world.size();
  world.barrier();  // come together asleep before a call that blocks
  MPI_Comm node = MPI_COMM_NULL;
  int ranks = 1;
  check_mpi(MPI_Comm_split_type(*comm, MPI_COMM_TYPE_SHARED, world.rank(), MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return ranks;
}

int cores_available() {
  // The mask of a node with more than 1,024 CPUs does not fit a cpu_set_t; the kernel says EINVAL until the set is large enough.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(CPU_ALLOC(cpus), [](cpu_set_t* set) { CPU_FREE(set); });
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (sched_getaffinity(0, bytes, mask.get()) == 0) return CPU_COUNT_S(bytes, mask.get());
  }
  return int(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace rollcall::comm
