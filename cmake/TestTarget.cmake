# rollcall_test_target(TARGET): what every GoogleTest program shares: its include root, and a build of minutes. rollcall_test_program(TARGET): the same for
# programs that tests run.
#
# Half of a test's compile time is the parsing of GoogleTest, RapidCheck and the standard library, and a third is the optimiser. So the first are parsed once
# (rollcall_test_headers), and tests are compiled with -O1 in a release build; what they test keeps its own flags. Only headers of others are precompiled:
# a change of Rollcall's own headers never makes them again, and a copy of the sources (scripts/break_objective) may use them.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows missing includes.
set(ROLLCALL_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

# rollcall_precompiled_headers(NAME LINK ... HEADERS ...): a set of precompiled headers, for targets that link the same and say REUSE_FROM.
function(rollcall_precompiled_headers name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK;HEADERS")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp CONTENT "// Holds nothing: precompiled headers belong to a source file.\n")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${arg_LINK} rollcall::toolchain)
  target_compile_options(${name} PRIVATE ${ROLLCALL_TEST_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

function(rollcall_test_program target)
  target_link_libraries(${target} PRIVATE rollcall::toolchain)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(${target} PRIVATE ${ROLLCALL_TEST_OPTIONS})
endfunction()

function(rollcall_test_target target)
  target_link_libraries(${target} PRIVATE GTest::gtest GTest::gmock rapidcheck)
  rollcall_test_program(${target})
  target_precompile_headers(${target} REUSE_FROM rollcall_test_headers)
endfunction()
