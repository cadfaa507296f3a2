# rollcall_test_target(TARGET): what every GoogleTest program shares: its include root, and a build of minutes. rollcall_test_program(TARGET): the same for
# programs that tests run.
#
# A third of a test's compile time is the optimiser: tests are compiled with -O1 in a release build; what they test keeps its own flags.
set(ROLLCALL_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

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
