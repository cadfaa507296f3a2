# rollcall_add_benchmark(NAME SOURCES ... LINK ...): a Google Benchmark program, smoke-run as a test so that it never stops working.
function(rollcall_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  string(REPLACE "/" "_" target "bench_${name}")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} benchmark::benchmark rollcall::toolchain)
  add_test(NAME bench/${name} COMMAND ${target} --benchmark_min_time=0.001)
  set_tests_properties(bench/${name} PROPERTIES LABELS bench TIMEOUT 120)
endfunction()
