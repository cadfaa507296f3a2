# rollcall_precompiled_headers(NAME [POSITION_INDEPENDENT] LINK ... [OPTIONS ...] HEADERS ...): headers that are parsed once, for targets with the same flags
# that say REUSE_FROM NAME.
#
# Half of a file's compile time is the parsing of the standard library, fmt and JSON (of ATen: four fifths). Only headers of others are precompiled: a change
# of Rollcall's own never makes them again, and a copy of the sources (scripts/break_objective) may use them.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows missing includes.
set(ROLLCALL_COMMON_HEADERS <nlohmann/json.hpp> <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <charconv> <cmath> <filesystem> <fstream> <functional>
                            <limits> <map> <memory> <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <vector>)

function(rollcall_precompiled_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "POSITION_INDEPENDENT" "" "LINK;OPTIONS;HEADERS")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// Holds nothing: precompiled headers belong to a source file.\n")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ${arg_POSITION_INDEPENDENT})
  target_link_libraries(${name} PRIVATE ${arg_LINK} rollcall::toolchain)
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()
