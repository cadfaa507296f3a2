# rollcall_add_library(NAME SOURCES ... HEADERS ... LINK ...): one library per folder, headers as a file set, only the named links.
# PRECOMPILE names headers that the library parses once, or says common: ROLLCALL_COMMON_HEADERS, where most files use JSON (GCC 12 warns falsely behind them, so
# not everywhere).
rollcall_precompiled_headers(rollcall_library_headers POSITION_INDEPENDENT LINK nlohmann_json::nlohmann_json fmt::fmt HEADERS ${ROLLCALL_COMMON_HEADERS})

function(rollcall_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;LINK;PRIVATE_LINK;PRECOMPILE")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rollcall_add_library(${name}): unknown argument ${arg_UNPARSED_ARGUMENTS}")
  endif()
  # The include root is src for the libraries under it and the top folder for kernels and io: a header is named by its path.
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/src/")
    set(root "${PROJECT_SOURCE_DIR}/src")
  else()
    set(root "${PROJECT_SOURCE_DIR}")
  endif()
  add_library(rollcall_${name} STATIC ${arg_SOURCES})
  add_library(rollcall::${name} ALIAS rollcall_${name})
  set_target_properties(rollcall_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_sources(rollcall_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${root}" FILES ${arg_HEADERS})
  target_link_libraries(rollcall_${name} PUBLIC rollcall::toolchain ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  if(arg_PRECOMPILE STREQUAL "common")
    target_precompile_headers(rollcall_${name} REUSE_FROM rollcall_library_headers)
  elseif(arg_PRECOMPILE)
    target_precompile_headers(rollcall_${name} PRIVATE ${arg_PRECOMPILE})
  endif()
  set_property(GLOBAL APPEND PROPERTY ROLLCALL_LIBRARIES rollcall_${name})
endfunction()
