# Language level, warnings and sanitizers, as one interface target that every Rollcall target links.
add_library(rollcall_toolchain INTERFACE)
add_library(rollcall::toolchain ALIAS rollcall_toolchain)
target_compile_features(rollcall_toolchain INTERFACE cxx_std_20)
# For Rollcall's own files only: a project that uses the installed libraries keeps its own flags.
target_compile_options(rollcall_toolchain INTERFACE
  # No contraction: a*b+c becomes an FMA only where the code says so, so that every ISA version of a kernel rounds alike.
  "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-ffp-contract=off>>")
if(ROLLCALL_SANITIZER)
  target_compile_options(rollcall_toolchain INTERFACE -fsanitize=${ROLLCALL_SANITIZER} -fno-omit-frame-pointer)
  target_link_options(rollcall_toolchain INTERFACE -fsanitize=${ROLLCALL_SANITIZER})
endif()
find_program(ROLLCALL_CCACHE ccache)
if(ROLLCALL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are cached under these two conditions (ccache's manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${ROLLCALL_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${ROLLCALL_CCACHE}")
endif()
