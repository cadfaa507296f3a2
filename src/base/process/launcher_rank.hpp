// Finds the rank of this process in its job before MPI is started, so that only one rank prints
// some messages.
#pragma once

#include <cstdlib>
#include <cstring>

namespace rollcall {

/// Whether the launcher's variables (Open MPI, PMIx, PMI) give this process rank 0; true without
/// any of them.
inline bool is_first_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(variable)) return std::strcmp(rank, "0") == 0;
  return true;
}

}  // namespace rollcall
