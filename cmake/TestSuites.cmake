# Read by ctest when it starts, from a file that rollcall_add_test generates for one GoogleTest
# program: adds one test for each of its test suites.
#
# A suite is one process, because the start of a process that uses LibTorch (0.4 s of a core) takes
# longer than most tests. GoogleTest names the tests that fail.
# Reads: program, folder (where it runs, and where the list of its suites is kept), prefix (before
# the suite's name), label, timeout, environment.
if(NOT EXISTS "${program}")
  add_test("${prefix}NOT_BUILT" "${program}")  # which fails, as it should
  return()
endif()
get_filename_component(list "${program}" NAME)
set(list "${folder}/${list}_suites.txt")
if(NOT EXISTS "${list}" OR "${program}" IS_NEWER_THAN "${list}")
  execute_process(COMMAND "${program}" --gtest_list_tests WORKING_DIRECTORY "${folder}"
                  OUTPUT_VARIABLE told ERROR_VARIABLE complaint RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${program} --gtest_list_tests ended with ${code}, so no test of it is "
                        "known:\n${complaint}")
  endif()
  file(WRITE "${list}" "${told}")
endif()
# A suite's name stands at the beginning of a line and ends in a dot; tests are indented below it.
file(STRINGS "${list}" lines REGEX "^[A-Za-z0-9_/]+[.]( |$)")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "[.].*" "" suite "${line}")
  add_test("${prefix}${suite}" "${program}" "--gtest_filter=${suite}.*")
  set_tests_properties("${prefix}${suite}" PROPERTIES LABELS "${label}" TIMEOUT "${timeout}"
                       WORKING_DIRECTORY "${folder}" ENVIRONMENT "${environment}")
endforeach()
