// Runs the response's code against the tests of its prompt, in the sandbox.
#include "reward/code_tests.hpp"
#include "reward/judges.hpp"
#include "reward/verifier.hpp"
#include "sandbox/sandbox.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::reward {
namespace {

using sandbox::End;
using sandbox::Outcome;

/// What the runs of one response add up to.
struct Result {
  std::uint32_t tests = 0, passed = 0;
  bool clock_ended = false;  ///< a wall clock, which is no property of the code
  bool unknown = false;      ///< a run of which nothing is known
  std::string reason;        ///< of the first test that did not pass

  void add(const Outcome& outcome, std::uint32_t count, std::uint32_t good) {
    tests += count;
    passed += good;
    if (good == count) return;
    unknown = unknown || outcome.end == End::sandbox_error;
    clock_ended = clock_ended || (outcome.end == End::timed_out && outcome.reason.starts_with("wall clock"));
    if (!reason.empty()) return;
    reason = outcome.end == End::passed ? "wrong output" : name_of(outcome.end);
    if (!outcome.reason.empty()) reason += ": " + outcome.reason;
    if (outcome.tier == sandbox::Tier::landlock) reason += " (second tier: landlock)";
  }
  bool correct() const { return tests > 0 && passed == tests; }
  bool decided() const { return correct() || (!unknown && !clock_ended); }
};

Result run_tests(const sandbox::Sandbox& sandbox, const CodeTests& tests, const std::string& code) {
  Result result;
  if (!tests.asserts.empty()) {
    Outcome outcome = sandbox.run(sandbox::python(code, tests.asserts));
    if (outcome.end == End::passed && outcome.counts.checks == 0) {
      outcome.end = End::sandbox_error;
      outcome.reason = "the tests of the prompt check nothing, or are no Python";
    }
    const std::uint32_t count = std::max(1U, outcome.counts.checks);
    result.add(outcome, count, outcome.end == End::passed ? count : std::min(outcome.counts.checks_passed, count - 1));
  }
  for (const StdioCase& one : tests.cases) {
    const auto program = tests.command.empty() ? sandbox::python(code) : sandbox::command(tests.command, {{tests.file, code}});
    const Outcome outcome = sandbox.run(program, one.input);
    result.add(outcome, 1, outcome.end == End::passed && same_output(outcome.out, one.output) ? 1 : 0);
  }
  return result;
}

}  // namespace

Score judge_code(const Prompt& prompt, const Response& response) {
  const CodeTests tests = parse_code_tests(prompt.answer);
  const FoundCode found = find_code(response.answer ? std::string_view(response.answer->text) : response.text, response.finished);
  Score score{.components = {0.0, double(found.complete), 0.0}};
  if (!found.complete) {
    score.reason = "no complete code";
    return score;
  }
  score.answer = found.code;
  const sandbox::Sandbox* sandbox = sandbox::started();
  if (sandbox == nullptr) {
    score.undecided = true;
    score.reason = "the sandbox was not started";
    return score;
  }
  const Result result = run_tests(*sandbox, tests, found.code);
  score.correct = result.correct();
  score.components = {double(score.correct), 1.0, result.tests == 0 ? 0.0 : double(result.passed) / double(result.tests)};
  score.undecided = !result.decided();
  score.reason = result.reason;
  return score;
}

bool runs_code(const Verifier& verifier) { return verifier.judge == judge_code; }

}  // namespace rollcall::reward
