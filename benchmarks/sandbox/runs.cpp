// How many isolated runs a second does one core make? Functions (fork only), commands (fork and
// exec), Python tests from the warm interpreter.
#include "sandbox/sandbox.hpp"

#include <benchmark/benchmark.h>
#include <sched.h>

#include <stdexcept>

namespace {

using namespace rollcall::sandbox;

/// All processes of the sandbox inherit the one core; the thread that measures shares it.
const Sandbox& on_one_core() {
  static const Sandbox sandbox = [] {
    cpu_set_t now, one;
    sched_getaffinity(0, sizeof now, &now);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &now)) CPU_SET(core, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
    return Sandbox({.workers = 1});
  }();
  return sandbox;
}

void measure(benchmark::State& state, const Program& program, std::string_view input,
             std::string_view wanted) {
  const Sandbox& sandbox = on_one_core();
  for (auto _ : state) {
    const Outcome outcome = sandbox.run(program, input);
    if (outcome.end != End::passed || outcome.out != wanted)
      throw std::runtime_error(std::string(name_of(outcome.end)) + ": " + outcome.reason +
                               outcome.err);
  }
  state.counters["runs_a_second"] =
      benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
}

int nothing(std::string_view, std::string&) { return 0; }

void fork_only(benchmark::State& state) { measure(state, function(nothing), "", ""); }
void fork_and_exec(benchmark::State& state) { measure(state, command({"/usr/bin/true"}), "", ""); }
void python_stdio(benchmark::State& state) {
  measure(state, python("a, b = map(int, input().split())\nprint(a + b)"), "3 4\n", "7\n");
}
void python_asserts(benchmark::State& state) {
  measure(state,
          python("def f(x):\n    return x * 2 + 1",
                 "assert f(1) == 3\nassert f(0) == 1\nassert f(-4) == -7"),
          "", "");
}

BENCHMARK(fork_only)->UseRealTime();
BENCHMARK(fork_and_exec)->UseRealTime();
BENCHMARK(python_stdio)->UseRealTime();
BENCHMARK(python_asserts)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
