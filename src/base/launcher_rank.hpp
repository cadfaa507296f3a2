// Which rank of its job this process is, before MPI is started: for what only one of them says.
#pragma once

#include <cstdlib>
#include <cstring>

namespace rollcall {

/// By the number that the launcher gave it (Open MPI, PMIx, PMI); true where there is none.
inline bool is_first_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(variable)) return std::strcmp(rank, "0") == 0;
  return true;
}

}  // namespace rollcall
