# Corrections to what the packages of MPI and Kokkos declare; for the build and, installed, for projects that use Rollcall's libraries.

# The deprecated C++ bindings would have to be linked if mpi.h were allowed to declare them.
set_property(TARGET MPI::MPI_CXX APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

# Debian's Kokkos names a directory that does not exist; its headers are under include/trilinos.
get_target_property(_kokkos_include Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
foreach(_dir IN LISTS _kokkos_include)
  if(IS_ABSOLUTE "${_dir}" AND NOT EXISTS "${_dir}" AND EXISTS /usr/include/trilinos/Kokkos_Core.hpp)
    set_property(TARGET Kokkos::kokkos PROPERTY INTERFACE_INCLUDE_DIRECTORIES /usr/include/trilinos)
  endif()
endforeach()
