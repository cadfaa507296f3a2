// Runs the response's code against its prompt's tests, in the sandbox.
#include "base/text/json.hpp"
#include "reward/code_blocks.hpp"
#include "reward/code_tests.hpp"
#include "reward/graders.hpp"
#include "reward/undecided_cause.hpp"
#include "reward/verifier.hpp"
#include "sandbox/sandbox.hpp"
#include "text/answer/answer_text.hpp"
#include "text/chat/thoughts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::reward {
namespace {

using sandbox::End;
using sandbox::Outcome;

constexpr std::size_t kShown = 200;  // bytes of an output that a reason shows

std::string shown(std::string_view text) {
  return nlohmann::json(text::cut(text, kShown))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The message of the first exception among those that a program wrote to standard error.
std::string_view first_exception(std::string_view text) {
  text = text::trim(text.substr(0, text.find("\nTraceback ")));
  return text.substr(text.rfind('\n') + 1);  // all of it if there is one line
}

/// The sum of the runs of one response.
struct Result {
  std::uint32_t tests = 0, passed = 0;
  std::uint32_t by_program = 0;  ///< checks in which the program compared two of its own objects
  bool clock_ended = false;      ///< whether a wall-clock or processor-time limit ended a run
  bool failed = false;           ///< whether the code failed any run, regardless of the outcomes of
                                 ///< the others
  bool second_tier = false;
  /// Names a test and says why it did not pass: the first test that the code failed, or, if it
  /// failed none, the first whose outcome is unknown.
  std::string reason;

  /// Adds a run in which `good` of `count` tests passed. `test` names the one that did not, as
  /// "test 2 of 5: ", or is empty if that is unknown. `wanted` is the output that this test
  /// expects, if outputs are compared. The reason is for people who read verdicts; it goes into no
  /// prompt.
  void add(const Outcome& outcome, std::uint32_t count, std::uint32_t good, const std::string& test,
           const std::string* wanted = nullptr) {
    tests += count;
    passed += good;
    by_program += outcome.counts.by_program;
    second_tier = second_tier || outcome.tier == sandbox::Tier::landlock;
    if (good == count) return;
    clock_ended = clock_ended || outcome.end == End::timed_out;
    // After these ends it is unknown whether the code is right.
    const bool is_unknown = outcome.end == End::sandbox_error || outcome.starved;
    if (!reason.empty() && (failed || is_unknown)) return;
    failed = failed || !is_unknown;
    const bool is_wrong = outcome.end == End::passed && wanted != nullptr;
    reason = test + (is_wrong ? "wrong output" : name_of(outcome.end));
    if (is_wrong)
      reason += fmt::format(", expected {}, got {}", shown(*wanted), shown(outcome.out));
    else if (!outcome.reason.empty()) reason += ": " + outcome.reason;
    else if (const auto said = first_exception(outcome.err); !said.empty())
      reason += ": " + shown(said);
  }
  bool correct() const { return tests > 0 && passed == tests; }
  bool decided() const { return correct() || failed; }
};

std::string named(std::size_t test, std::size_t of) {
  return fmt::format("test {} of {}: ", test, of);
}

Result run_tests(const sandbox::Sandbox& sandbox, const CodeTests& tests, const std::string& code) {
  Result result;
  if (!tests.asserts.empty()) {
    const Outcome outcome = sandbox.run(sandbox::python(code, tests.asserts));
    const std::uint32_t count = std::max(1U, outcome.counts.checks);
    const std::uint32_t first = outcome.counts.first_failed;
    result.add(
        outcome, count,
        outcome.end == End::passed ? count : std::min(outcome.counts.checks_passed, count - 1),
        first > 0 ? named(first, count) : "");
  }
  for (std::size_t n = 0; n < tests.cases.size(); ++n) {
    const StdioCase& one = tests.cases[n];
    const auto program = tests.command.empty()
                             ? sandbox::python(code)
                             : sandbox::command(tests.command, {{tests.file, code}});
    const Outcome outcome = sandbox.run(program, one.input);
    result.add(
        outcome, 1,
        outcome.end == End::passed && same_output(outcome.out, one.output, one.tolerance) ? 1 : 0,
        named(n + 1, tests.cases.size()), &one.output);
  }
  return result;
}

/// The response without its thoughts, unless their tags are part of its code.
std::string_view spoken(std::string_view response, std::string& storage) {
  const auto blocks = code_blocks(response);
  const auto holds_tag = [](const CodeBlock& block) {
    return block.closed && block.code.find("</think") != std::string::npos;
  };
  return std::any_of(blocks.begin(), blocks.end(), holds_tag)
             ? response
             : text::without_thoughts(response, storage);
}

}  // namespace

Score judge_code(const Prompt& prompt, const Response& response) {
  const CodeTests tests = parse_code_tests(prompt.answer);
  std::string said;
  const bool is_part = response.answer && !response.whole;
  const FoundCode found = is_part
                              ? find_code(response.answer->text, response.finished, tests)
                              : find_code(spoken(response.text, said), response.finished, tests);
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
  score.components = {double(score.correct), 1.0,
                      result.tests == 0 ? 0.0 : double(result.passed) / double(result.tests)};
  score.undecided = !result.decided();
  score.clock_ended = result.clock_ended;
  score.reason = result.reason;
  if (score.correct && result.by_program > 0)
    score.reason = fmt::format("{} of {} checks compared two objects of the program",
                               result.by_program, result.tests);
  if (result.second_tier)
    score.reason += score.reason.empty() ? "second tier: landlock" : " (second tier: landlock)";
  return score;
}

std::string_view undecided_cause(std::string_view reason) {
  if (reason.find(sandbox::kWasShort) != std::string_view::npos) return "starved";
  return reason.find(sandbox::kMemoryRanOut) != std::string_view::npos ? "out_of_memory"
                                                                       : "sandbox_error";
}

bool runs_code(const Verifier& verifier) { return verifier.judge == judge_code; }

}  // namespace rollcall::reward
