// The verifier of code: fences, references, comparison of output, and hand-worked responses run in the sandbox.
#include "reward/code_tests.hpp"

#include "base/error.hpp"
#include "reward/verifier.hpp"
#include "sandbox/sandbox.hpp"
#include "task/task.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rollcall::reward {
namespace {

std::string found(std::string_view response, bool finished = true) {
  const FoundCode code = find_code(response, finished);
  return (code.complete ? "+" : "-") + code.code;
}

TEST(FindCode, LastFencedBlock) {
  EXPECT_EQ(found("print(1)"), "+print(1)");
  EXPECT_EQ(found("print(1)", false), "-print(1)");
  EXPECT_EQ(found("Here:\n```python\na\nb\n```\nDone."), "+a\nb\n");
  EXPECT_EQ(found("```\nfirst\n```\nbetter:\n```py\nsecond\n```"), "+second\n");
  EXPECT_EQ(found("```python\nx = 1\n"), "-x = 1\n");
  EXPECT_EQ(found("```python\na\n```", false), "+a\n");                                 // closed before the limit cut
  EXPECT_EQ(found("~~~~\ns = '''\n```\n~~~\n'''\n~~~~"), "+s = '''\n```\n~~~\n'''\n");  // a shorter fence, or another mark, is text
  EXPECT_EQ(found("```\na\n```python\n```"), "+a\n```python\n");                        // words after it: no closing fence
  EXPECT_EQ(found("    ```\nx\n"), "+    ```\nx\n");                                    // indented by four: no fence
  EXPECT_EQ(found("```\n```"), "+");
}

RC_GTEST_PROP(FindCode, TakesAnyBytes, (const std::string& text)) { RC_ASSERT(find_code(text, true).code.size() <= text.size()); }

RC_GTEST_PROP(FindCode, FindsWhatWasFenced, (std::string code)) {
  std::erase_if(code, [](char c) { return c == '`'; });
  RC_ASSERT(found("text\n```python\n" + code + "\n```\n") == "+" + code + "\n");
}

TEST(SameOutput, WhiteSpaceAtTheEndsOfLines) {
  EXPECT_TRUE(same_output("1 2 \r\n3\n\n", "1 2\n3"));
  EXPECT_TRUE(same_output("", "\n"));
  EXPECT_FALSE(same_output("1  2", "1 2"));
  EXPECT_FALSE(same_output("1\n\n2", "1\n2"));
  EXPECT_FALSE(same_output("1\n2", "1"));
  EXPECT_FALSE(same_output(" 1", "1"));
}

std::string refusal(const char* reference) {
  try {
    parse_code_tests(reference);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(CodeTests, RefusesWhatIsNoTest) {
  EXPECT_NE(refusal("5").find("no set of tests"), std::string::npos);
  EXPECT_NE(refusal("{").find("it is not a JSON object"), std::string::npos);
  EXPECT_NE(refusal(R"({"type": "stdout"})").find("its type is \"stdout\""), std::string::npos);
  EXPECT_NE(refusal(R"({"type": "stdio", "cases": []})").find("it is empty"), std::string::npos);
  EXPECT_NE(refusal(R"({"cases": [{"input": 1, "output": ""}]})").find("type must be string"), std::string::npos);
  EXPECT_NE(refusal(R"({"command": [], "cases": [{"input": "", "output": ""}]})").find("its command is empty"), std::string::npos);
  EXPECT_NE(refusal(R"({"command": ["sh"], "file": "../x", "cases": [{"input": "", "output": ""}]})").find("slash"), std::string::npos);
}

/// correct, format, share of tests passed, and the reason.
std::string verdict(const std::string& reference, std::string_view response, double wall_s = 60) {
  if (sandbox::started() == nullptr)
    sandbox::start({.limits = {.cpu_s = 1, .wall_s = wall_s, .memory = 256 << 20, .output = 1 << 16, .files = 1 << 20}, .workers = 1});
  Prompt prompt;
  prompt.answer = reference;
  const Score score = Judge(find_verifier("code"), TaskSection{}).score(prompt, response, true);
  EXPECT_EQ(score.correct, score.components[0] == 1.0);
  return std::to_string(int(score.components[0])) + std::to_string(int(score.components[1])) + " " + std::to_string(int(100 * score.components[2])) +
         (score.undecided ? " undecided" : "") + (score.clock_ended ? " clock " : " ") + score.reason;
}

constexpr const char* kSum = R"({"type": "stdio", "cases": [{"input": "1 2\n", "output": "3"}, {"input": "10 -4\n", "output": "6\n"}]})";
constexpr const char* kDouble = R"({"type": "assert", "code": "assert f(1) == 2\nassert f(2) == 4\nassert f(-3) == -6\nassert f(0) == 0"})";

TEST(Code, StandardInputAndOutput) {
  EXPECT_EQ(verdict(kSum, "```python\na, b = map(int, input().split())\nprint(a + b)\n```"), "11 100 ");
  EXPECT_EQ(verdict(kSum, "print(3)"), R"(01 50 test 2 of 2: wrong output, expected "6\n", got "3\n")");
  EXPECT_EQ(verdict(kSum, "print(sum(map(int, input().split())))\nraise SystemExit(3)"), "01 0 test 1 of 2: failed");
  EXPECT_EQ(verdict(kSum, "while True: pass"), "01 0 clock test 1 of 2: timed_out: processor time: 1 s");
  EXPECT_EQ(verdict(kSum, "x = bytearray(10**12)"), "01 0 test 1 of 2: out_of_memory: memory: 268435456 bytes");
  EXPECT_EQ(verdict(kSum, "print('x' * 10**6)"), "01 0 test 1 of 2: output_limit: output of more than 65536 bytes");
  EXPECT_EQ(verdict(kSum, "print(int(input()))").substr(0, 38), "01 0 test 1 of 2: failed: \"ValueError:");
  const std::string shown = verdict(R"({"cases": [{"input": "", "output": ""}]})", "print('\u00e9' * 1000)");  // 200 bytes of it
  EXPECT_LT(shown.size(), 300U);
  EXPECT_TRUE(shown.ends_with("é...\"")) << shown;
  EXPECT_EQ(verdict(kSum, "```python\nprint(3"), "00 0 no complete code");
}

TEST(Code, AWallClockLeavesItUndecided) {
  const std::string said = verdict(R"({"cases": [{"input": "", "output": ""}]})", "import time\ntime.sleep(60)", 0.5);
  EXPECT_EQ(said.substr(0, said.rfind(':')), "01 0 undecided clock test 1 of 1: timed_out: wall clock");
}

TEST(Code, Asserts) {
  EXPECT_EQ(verdict(kDouble, "def f(x): return 2 * x"), "11 100 ");
  EXPECT_EQ(verdict(kDouble, "def f(x): return x * x if x > 1 else 2 * x"), "11 100 ");
  EXPECT_EQ(verdict(kDouble, "def f(x): return x + 1 if x else 0"), "01 50 test 2 of 4: failed: \"AssertionError\"");
  EXPECT_EQ(verdict(kDouble, "def g(x): return 2 * x"), "01 0 test 1 of 4: failed: \"NameError: name 'f' is not defined\"");
  EXPECT_EQ(verdict(kDouble, "def f(x) return 2 * x").substr(0, 25), "01 0 failed: \"SyntaxError");
  EXPECT_EQ(verdict(kDouble, "import os\nos._exit(0)"), "01 0 failed: it ended before its checks");
  EXPECT_EQ(verdict(kDouble, "raise SystemExit(0)"), "01 0 failed: it ended before its checks");
}

TEST(Code, AnyStatementOfTheTestsMayFail) {
  const auto after_assert = [](const char* rest) { return fmt::format(R"({{"type": "assert", "code": "assert f(1) == 2\n{}"}})", rest); };
  for (const char* rest :
       {R"(for i in range(5):\n    assert f(i) == i + 1)", R"(def check(f):\n    assert f(3) == 4\ncheck(f))", "f(1, 2)", "raise ValueError"})
    EXPECT_EQ(verdict(after_assert(rest), "def f(x): return 2").substr(0, 28), "01 50 test 2 of 2: failed: \"") << rest;
  EXPECT_EQ(verdict(after_assert(R"(for i in range(5):\n    assert f(i) == i + 1)"), "def f(x): return x + 1"), "11 100 ");
  EXPECT_EQ(verdict(R"({"type": "assert", "code": "for i in range(5):\n    assert f(i) == 2"})", "def f(x): return 2"), "11 100 ");
  for (const char* nothing : {R"(def check():\n    assert f(1) == 3)", "x = 1", "import math", "assert f(1) =="})
    EXPECT_EQ(verdict(fmt::format(R"({{"type": "assert", "code": "{}"}})", nothing), "def f(x): return 2"),
              "01 0 undecided sandbox_error: the tests of the prompt check nothing, or are no Python")
        << nothing;
}

TEST(Code, AnyCommand) {
  const char* sorted = R"({"type": "command", "command": ["sh", "main.sh"], "file": "main.sh", "cases": [{"input": "b\na\n", "output": "a\nb\n"}]})";
  EXPECT_EQ(verdict(sorted, "```sh\nsort\n```"), "11 100 ");
  EXPECT_EQ(verdict(sorted, "cat"), R"(01 0 test 1 of 1: wrong output, expected "a\nb\n", got "b\na\n")");
  EXPECT_EQ(verdict(R"({"command": ["no-such-program"], "cases": [{"input": "", "output": ""}]})", "x"),
            "01 0 undecided test 1 of 1: sandbox_error: running the command: No such file or directory");
}

TEST(Code, WorkedSolutionsOfTheTaskPass) {
  for (const char* wording : {"plain", "question"}) {
    TaskSection section;
    section.name = "code", section.train_prompts = 12, section.validation_prompts = 0, section.heldout_prompts = 1, section.min_level = 1,
    section.max_level = 8;
    section.wording = {wording};
    for (const Prompt& prompt : task::find_task("code").make(section, 3).train) EXPECT_EQ(verdict(prompt.answer, prompt.solution), "11 100 ") << prompt.text;
  }
}

}  // namespace
}  // namespace rollcall::reward
