# rollcall_add_test(NAME SOURCES ... LINK ... [RANKS 1 3 ...] [TIMEOUT s] [LABEL l]): a GoogleTest program.
# Without RANKS each of its test suites is a test, NAME/Suite (TestSuites.cmake); with RANKS the
# program runs whole under MPI, once per count, as NAME/ranks<n>.
function(rollcall_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;LABEL" "SOURCES;LINK;RANKS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rollcall_add_test(${name}): unknown argument ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT AND arg_RANKS)
    set(arg_TIMEOUT 120)  # a deadlock is a failure
  elseif(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)  # of a whole suite
  endif()
  string(REPLACE "/" "_" target "test_${name}")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  rollcall_test_target(${target})
  if(arg_RANKS)
    # The MPI main gathers every rank's verdict, so that all ranks exit alike.
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp")
    target_link_libraries(${target} PRIVATE MPI::MPI_CXX)
    foreach(n IN LISTS arg_RANKS)
      add_test(NAME ${name}/ranks${n}
               COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${n} ${ROLLCALL_MPIEXEC_FLAGS} $<TARGET_FILE:${target}>)
      set_tests_properties(${name}/ranks${n} PROPERTIES LABELS "mpi;ranks${n}" PROCESSORS ${n} TIMEOUT ${arg_TIMEOUT}
        ENVIRONMENT "${ROLLCALL_MPI_ENVIRONMENT};${arg_ENVIRONMENT}")
    endforeach()
  else()
    target_link_libraries(${target} PRIVATE GTest::gtest_main)
    if(NOT arg_LABEL)
      set(arg_LABEL unit)
    endif()
    set(suites "${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake")
    file(GENERATE OUTPUT "${suites}" CONTENT "set(program [==[$<TARGET_FILE:${target}>]==])
set(folder [==[${CMAKE_CURRENT_BINARY_DIR}]==])
set(prefix [==[${name}/]==])
set(label [==[${arg_LABEL}]==])
set(timeout [==[${arg_TIMEOUT}]==])
set(environment [==[${arg_ENVIRONMENT}]==])
include([==[${PROJECT_SOURCE_DIR}/cmake/TestSuites.cmake]==])
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${suites}")
  endif()
endfunction()

# How a small machine starts more ranks than cores, and as root inside a container; a site preset replaces these.
set(ROLLCALL_MPIEXEC_FLAGS "--oversubscribe" CACHE STRING "Extra flags of the MPI launcher in tests")
set(ROLLCALL_MPI_ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" CACHE STRING "Environment of MPI tests")
