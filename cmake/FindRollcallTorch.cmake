# Finds LibTorch as imported targets without the package file it ships, which fails where CUDA is half present.
# Looks in TORCH_ROOT (variable or environment), the project's .deps/libtorch and CMAKE_PREFIX_PATH; accepts the PyPI wheel, the CPU zip,
# a module or a Spack prefix. Defines RollcallTorch::cpu: objectives are
# evaluated on the host in a build with CUDA too.
set(_hints ${TORCH_ROOT} $ENV{TORCH_ROOT} ${PROJECT_SOURCE_DIR}/.deps/libtorch)
find_path(RollcallTorch_INCLUDE_DIR ATen/ATen.h HINTS ${_hints} PATH_SUFFIXES include torch/include)
get_filename_component(_torch_prefix "${RollcallTorch_INCLUDE_DIR}" DIRECTORY)
find_library(RollcallTorch_CPU_LIBRARY torch_cpu HINTS ${_torch_prefix}/lib NO_DEFAULT_PATH)
find_library(RollcallTorch_CPU_LIBRARY torch_cpu)
find_library(RollcallTorch_C10_LIBRARY c10 HINTS ${_torch_prefix}/lib NO_DEFAULT_PATH)
find_library(RollcallTorch_C10_LIBRARY c10)
set(RollcallTorch_VERSION "")
if(EXISTS "${RollcallTorch_INCLUDE_DIR}/torch/headeronly/version.h")
  set(_version_header "${RollcallTorch_INCLUDE_DIR}/torch/headeronly/version.h")
else()
  set(_version_header "${RollcallTorch_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h")
endif()
if(EXISTS "${_version_header}")
  file(READ "${_version_header}" _text)
  string(REGEX MATCH "define TORCH_VERSION[^\"]*\"([0-9]+\\.[0-9]+\\.[0-9]+)" _match "${_text}")
  set(RollcallTorch_VERSION "${CMAKE_MATCH_1}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RollcallTorch
  REQUIRED_VARS RollcallTorch_CPU_LIBRARY RollcallTorch_C10_LIBRARY RollcallTorch_INCLUDE_DIR VERSION_VAR RollcallTorch_VERSION
  REASON_FAILURE_MESSAGE "run scripts/quickstart, which installs it into .deps/libtorch, or set TORCH_ROOT to a LibTorch folder")
if(RollcallTorch_FOUND AND NOT TARGET RollcallTorch::cpu)
  add_library(RollcallTorch::c10 SHARED IMPORTED)
  set_target_properties(RollcallTorch::c10 PROPERTIES IMPORTED_LOCATION "${RollcallTorch_C10_LIBRARY}")
  add_library(RollcallTorch::cpu SHARED IMPORTED)
  set_target_properties(RollcallTorch::cpu PROPERTIES
    IMPORTED_LOCATION "${RollcallTorch_CPU_LIBRARY}"
    # After the system's folders: the wheel brings copies of fmt and others, which must not replace the ones the rest is built with.
    INTERFACE_COMPILE_OPTIONS "SHELL:-idirafter ${RollcallTorch_INCLUDE_DIR};SHELL:-idirafter ${RollcallTorch_INCLUDE_DIR}/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES RollcallTorch::c10
    # libtorch_cpu names its own companions by run path; the linker must not ask for them.
    INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined")
endif()
