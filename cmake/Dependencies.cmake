# Every dependency of Rollcall: the version asked for and the reason it is here. The layer that may link it is in CONTRIBUTING.md.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Several MPIs may lie side by side, as Debian's do: mpicxx.mpich and h5pcc.mpich name one of them and the HDF5 that was built with it.
set(ROLLCALL_MPI "" CACHE STRING "Suffix of the compiler wrappers of an MPI and its HDF5 (mpich, openmpi); empty: the ones CMake finds")
if(ROLLCALL_MPI)
  find_program(MPI_CXX_COMPILER mpicxx.${ROLLCALL_MPI} REQUIRED)
  find_program(MPIEXEC_EXECUTABLE mpiexec.${ROLLCALL_MPI} REQUIRED)
  find_program(HDF5_C_COMPILER_EXECUTABLE h5pcc.${ROLLCALL_MPI} REQUIRED)
endif()

# MPI: the transport of the whole job (home: src/comm). MPI-3 for non-blocking collectives and MPI_Comm_split_type.
find_package(MPI 3.1 REQUIRED COMPONENTS CXX)

# HDF5: the rollout archive (home: io). 1.10 for the stable parallel API and single-writer file locking control.
set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 1.10 REQUIRED COMPONENTS C)
if(NOT HDF5_IS_PARALLEL)
  message(FATAL_ERROR "The HDF5 found in ${HDF5_INCLUDE_DIRS} is serial (shards are packed by collective writes); "
    "install libhdf5-openmpi-dev or set HDF5_ROOT to a parallel build")
endif()

# Kokkos: portable element-wise kernels over parameters (home: kernels). 3.4 is what Debian 12 ships inside Trilinos.
find_package(Kokkos 3.4 REQUIRED)
include(ImportedTargets)  # corrects what those packages declare

# LibTorch: autograd and ATen (home: src/objective), built with libstdc++'s C++11 ABI as the rest is.
# 2.1 for headers in C++17; 2.11 is what the scripts install and the tests saw.
find_package(RollcallTorch 2.1 REQUIRED)

find_package(Boost 1.74 REQUIRED COMPONENTS serialization)  # control messages (home: core/serialize.hpp)
find_package(CLI11 2.1 REQUIRED)                             # command line (home: src/app/command_line.cpp)
find_package(nlohmann_json 3.11 REQUIRED)                    # config.json, manifests, metrics.jsonl
find_package(spdlog 1.10 REQUIRED)                           # logging and, through fmt, message text (home: base)
find_package(fmt 9 REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)           # SHA-256 of policies and run identity (home: base)
find_path(ROLLCALL_TOMLPP_INCLUDE toml++/toml.h REQUIRED)    # run files (home: base); header only, 3.3 tried
find_path(ROLLCALL_RANDOM123_INCLUDE Random123/philox.h REQUIRED)  # addressed random numbers (home: base); header only, 1.14 tried
find_path(ROLLCALL_XXHASH_INCLUDE xxhash.h REQUIRED)         # checksums of datasets and files (home: base); 0.8.1 tried
find_library(ROLLCALL_XXHASH_LIBRARY xxhash REQUIRED)
add_library(rollcall_xxhash INTERFACE)
target_include_directories(rollcall_xxhash SYSTEM INTERFACE ${ROLLCALL_XXHASH_INCLUDE})
target_link_libraries(rollcall_xxhash INTERFACE ${ROLLCALL_XXHASH_LIBRARY})
find_path(ROLLCALL_PCRE2_INCLUDE pcre2.h REQUIRED)           # regular expressions of tokenizer.json and of answers (home: src/text); 10.42 tried, 10.40 for scripts by \p{sc:...}
find_library(ROLLCALL_PCRE2_LIBRARY pcre2-8 REQUIRED)
add_library(rollcall_pcre2 INTERFACE)
target_include_directories(rollcall_pcre2 SYSTEM INTERFACE ${ROLLCALL_PCRE2_INCLUDE})
target_link_libraries(rollcall_pcre2 INTERFACE ${ROLLCALL_PCRE2_LIBRARY})
find_path(ROLLCALL_UTF8PROC_INCLUDE utf8proc.h REQUIRED)     # categories, case and normal forms of characters (home: src/text); 2.8 tried
find_library(ROLLCALL_UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(rollcall_utf8proc INTERFACE)
target_include_directories(rollcall_utf8proc SYSTEM INTERFACE ${ROLLCALL_UTF8PROC_INCLUDE})
target_link_libraries(rollcall_utf8proc INTERFACE ${ROLLCALL_UTF8PROC_LIBRARY})

# Exact and interval arithmetic of mathematical answers (home: src/reward/math): GMP 6.2, MPFR 4.2 and MPFI 1.5 tried; mpfr_rootn_ui needs MPFR 4.0. All LGPL.
# An earlier plan was FLINT and Arb: they are LGPL too, but Debian 12 links FLINT with NTL and so with gf2x, whose package is under the GPL.
find_path(ROLLCALL_MPFI_INCLUDE mpfi.h REQUIRED)
find_path(ROLLCALL_GMPXX_INCLUDE gmpxx.h REQUIRED)
add_library(rollcall_mpfi INTERFACE)
target_include_directories(rollcall_mpfi SYSTEM INTERFACE ${ROLLCALL_MPFI_INCLUDE} ${ROLLCALL_GMPXX_INCLUDE})
find_library(ROLLCALL_MPFI_LIBRARY mpfi REQUIRED)
find_library(ROLLCALL_MPFR_LIBRARY mpfr REQUIRED)
find_library(ROLLCALL_GMPXX_LIBRARY gmpxx REQUIRED)
find_library(ROLLCALL_GMP_LIBRARY gmp REQUIRED)
target_link_libraries(rollcall_mpfi INTERFACE ${ROLLCALL_MPFI_LIBRARY} ${ROLLCALL_MPFR_LIBRARY} ${ROLLCALL_GMPXX_LIBRARY} ${ROLLCALL_GMP_LIBRARY})

find_path(ROLLCALL_SECCOMP_INCLUDE seccomp.h REQUIRED)       # filters of system calls around untrusted code (home: src/sandbox); 2.5 tried, LGPL 2.1
find_library(ROLLCALL_SECCOMP_LIBRARY seccomp REQUIRED)
add_library(rollcall_seccomp INTERFACE)
target_include_directories(rollcall_seccomp SYSTEM INTERFACE ${ROLLCALL_SECCOMP_INCLUDE})
target_link_libraries(rollcall_seccomp INTERFACE ${ROLLCALL_SECCOMP_LIBRARY})

if(ROLLCALL_ENABLE_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)  # A100, H100 and later ones of data centres
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 12 REQUIRED)
  # NCCL 2.14 for communicators that do not block: sums and weights between devices (home: src/comm). Without it they pass through the host.
  find_path(ROLLCALL_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(ROLLCALL_NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
endif()

if(ROLLCALL_BUILD_TESTS)
  find_package(GTest 1.12 REQUIRED)       # unit tests; gmock comes with it
  find_package(rapidcheck REQUIRED)       # property tests of the invariants
  find_package(Boost 1.74 REQUIRED COMPONENTS context)  # threads of the emulated device as fibers (home: tests/emulation)
endif()
if(ROLLCALL_BUILD_BENCHMARKS)
  find_package(benchmark 1.7 REQUIRED)    # Google Benchmark: kernels, exchange, archive
endif()
