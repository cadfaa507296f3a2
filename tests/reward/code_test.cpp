// The verifier of code: fences, references, comparison of output, and hand-worked responses run in
// the sandbox.
#include "reward/code_blocks.hpp"

#include "base/errors/error.hpp"
#include "reward/undecided_cause.hpp"
#include "reward/verifier.hpp"
#include "sandbox/sandbox.hpp"
#include "task/task.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace rollcall::reward {
namespace {

std::string found(std::string_view response, bool finished = true, const CodeTests& tests = {}) {
  const FoundCode code = find_code(response, finished, tests);
  return (code.complete ? "+" : "-") + code.code;
}

TEST(FindCode, LastFencedBlock) {
  EXPECT_EQ(found("print(1)"), "+print(1)");
  EXPECT_EQ(found("print(1)", false), "-print(1)");
  EXPECT_EQ(found("Here:\n```python\na\nb\n```\nDone."), "+a\nb\n");
  EXPECT_EQ(found("```\nfirst\n```\nbetter:\n```py\nsecond\n```"), "+second\n");
  EXPECT_EQ(found("```python\nx = 1\n"), "+x = 1\n");  // the end closes it,
  // but not where the limit cut it
  EXPECT_EQ(found("```python\nx = 1\n", false), "-x = 1\n");
  EXPECT_EQ(found("```python\na\n```", false), "+a\n");  // closed before the limit cut
  // a shorter fence, or another mark, is text
  EXPECT_EQ(found("~~~~\ns = '''\n```\n~~~\n'''\n~~~~"), "+s = '''\n```\n~~~\n'''\n");
  // words after it: no closing fence
  EXPECT_EQ(found("```\na\n```python\n```"), "+a\n```python\n");
  EXPECT_EQ(found("    ```\nx\n"), "+```\nx");  // indented by four: no fence
  // nor where another follows
  EXPECT_EQ(found("    ```\n    x\n    ```\n\n```\ny\n```\n"), "+y\n");
  EXPECT_EQ(found("```\n```"), "+");
}

TEST(FindCode, FencesByCommonMark) {
  // up to the fence's own indentation goes
  EXPECT_EQ(found("   ```\n     a\n   b\n c\n   ```"), "+  a\nb\nc\n");
  // four spaces do not close it, a longer fence does
  EXPECT_EQ(found("```\na\n    ```\n   `````  \n"), "+a\n    ```\n");
  // no backtick behind backticks
  EXPECT_EQ(found("``` a`b ```\n~~~ a`b\nx\n~~~\n"), "+x\n");
  EXPECT_EQ(found("1. So:\n\n   ```python\n   if x:\n       y\n   ```\n"), "+if x:\n    y\n");
  EXPECT_EQ(found("10) So:\n    ~~~\n    a\n    ~~~"), "+a\n");  // its content begins at column 4
  EXPECT_EQ(found("- ```\n  a\n\n  b\n  ```\n- c"), "+a\n\nb\n");
  EXPECT_EQ(found("- a\n  - b\n    ```\n    c\n      d\n    ```"), "+c\n  d\n");
  // less indented than its item, but meant
  EXPECT_EQ(found("* So\n\n    ```\n    a\n  b\n```"), "+a\nb\n");
  EXPECT_EQ(found("> ```\n> a\n>  b\n>\n> ```\n"), "+a\n b\n\n");
  EXPECT_EQ(found("> - ```\n>   a\n>   ```"), "+a\n");
  EXPECT_EQ(found("> ```\n> a\nb"), "+a\n");  // the quote ends, and the block with it
  EXPECT_EQ(found("```\n\ta\n\t\tb\n```"), "+\ta\n\t\tb\n");  // tabs of the code stay
  EXPECT_EQ(found("-\t```\n\ta\n\t```"), "+a\n");
  EXPECT_EQ(found("1234567890. ```\na"), "+1234567890. ```\na");  // ten digits: no list
  EXPECT_EQ(found("**```** and ``` here\n```\na\n```"), "+a\n");
}

CodeTests stdio_tests() {
  return parse_code_tests(
      R"({"cases": [{"input": "3\n", "output": "9\n"}, {"input": "4", "output": "16"}]})");
}

TEST(FindCode, TheLastThatHasWhatTheTestsNeed) {
  const CodeTests stdio = stdio_tests();
  const CodeTests asserts = parse_code_tests(
      R"({"type": "assert", "code": "def check(c):\n  assert c(1) == 2\ncheck(f)\nassert f(g(3)) == 2"})");
  const std::string program = "n = int(input())\nprint(n * n)\n",
                    good = "```python\n" + program + "```\n";
  for (const char* after :
       {"```\n9\n```", "It prints\n```text\n9\n```", "```bash\necho 3 | python3 solution.py\n```",
        "```\n25\n```", "```output\nprint(9)\n```", "```\n$ python3 a.py\n9\n```",
        "```python\nprint(square(3))\n```", "```pycon\n>>> print(input())\n9\n```",
        "```python\n>>> print(int(input()))\n9\n```", "```\n```",
        "```json\n{\"print\": \"input\"}\n```", "```\nInput: 3\nOutput: 9\n```",
        "```cpp\nprint(input())\n```"})
    EXPECT_EQ(found(good + after, true, stdio), "+" + program) << after;
  EXPECT_EQ(found("```python\nprint(1)\n```\n" + good, true, stdio), "+" + program);
  EXPECT_EQ(found("```\n" + program + "```\nor\n```Python3\nprint(input())\n```", true, stdio),
            "+print(input())\n");
  for (const bool finished : {true, false})  // its last word is cut
    EXPECT_EQ(found(good + "Better:\n```python\nn = int(input())\nprint(n", finished, stdio),
              (finished ? "+" : "-") + std::string("n = int(input())\nprint(n"));
  EXPECT_EQ(found("```rust\nfn main() {}\n```", true, stdio), "+fn main() {}\n");
  const std::string defined = "def f(x): return x\n\ng = abs\n",
                    block = "```python\n" + defined + "```\n";
  for (const char* after :
       {"```python\nprint(f(3))\nx = f(g(1))\n```", "```python\nassert f(1) == 1\n```",
        "```\ndef h(f): pass\n```", "```python\nf(1) == 2\n```"})
    EXPECT_EQ(found(block + after, true, asserts), "+" + defined) << after;
  EXPECT_EQ(found("```python\ndef f(x): pass\n```\n" + block, true, asserts), "+" + defined);
  EXPECT_EQ(found("```\nasync def f(x): pass\nclass g: pass\n```", true, asserts),
            "+async def f(x): pass\nclass g: pass\n");
}

TEST(FindCode, CommandsHaveTheLanguageOfTheirFile) {
  const auto c = parse_code_tests(
      R"({"command": ["sh", "-c", "gcc main.c"], "file": "main.c", "cases": [{"input": "3", "output": "9"}]})");
  const auto shell = parse_code_tests(
      R"({"command": ["sh", "solution"], "cases": [{"input": "b", "output": "a"}]})");
  const auto unknown =
      parse_code_tests(R"({"command": ["./run"], "cases": [{"input": "b", "output": "a"}]})");
  EXPECT_EQ(
      found("```c\nint main;\n```\n```bash\ngcc main.c && ./a.out\n```\n```\n9\n```", true, c),
      "+int main;\n");
  EXPECT_EQ(found("```\nint main;\n```\n```\ngcc main.c && ./a.out\n```", true, c), "+int main;\n");
  EXPECT_EQ(found("```bash\nsort\n```\n```\n$ sh solution\na\n```\n```python\nprint(1)\n```", true,
                  shell),
            "+sort\n");
  EXPECT_EQ(found("```zig\nx\n```\n```text\na b\n```", true, unknown), "+x\n");
}

RC_GTEST_PROP(FindCode, TakesAnyBytes, (const std::string& text)) {
  RC_ASSERT(find_code(text, true, stdio_tests()).code.size() <= text.size());
}

/// Marks, spaces and letters at random: what fences and containers are made of.
RC_GTEST_PROP(FindCode, TakesAnyMarks, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("```~~~>>--1.) \t\n\n ab")));
  for (const CodeBlock& block : code_blocks(text)) RC_ASSERT(block.code.size() <= 4 * text.size());
}

RC_GTEST_PROP(FindCode, FindsWhatWasFenced, (std::string code)) {
  std::erase_if(code, [](char c) { return c == '`'; });
  const auto blocks = code_blocks("text\n```python\n" + code + "\n```\n");
  RC_ASSERT(blocks.size() == 1 && blocks[0].closed && blocks[0].language == "python" &&
            blocks[0].code == code + "\n");
}

/// The same within a list item or a block quote.
RC_GTEST_PROP(FindCode, FindsWhatWasFencedInAContainer, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string(" >-1.ab~"))));
  const auto [first, others] = *rc::gen::elementOf(std::vector<std::pair<std::string, std::string>>{
      {"- ", "  "}, {"12. ", "    "}, {"> ", "> "}, {"> * ", ">   "}});
  std::string text = first + "```\n", code;
  for (const auto& line : lines) text += others + line + "\n", code += line + "\n";
  const auto blocks = code_blocks(text + others + "```\n");
  RC_ASSERT(blocks.size() == 1 && blocks[0].closed && blocks[0].code == code);
}

TEST(SameOutput, WhiteSpaceAtTheEndsOfLines) {
  EXPECT_TRUE(same_output("1 2 \r\n3\n\n", "1 2\n3"));
  EXPECT_TRUE(same_output("", "\n"));
  EXPECT_FALSE(same_output("1  2", "1 2"));
  EXPECT_FALSE(same_output("1\n\n2", "1\n2"));
  EXPECT_FALSE(same_output("1\n2", "1"));
  EXPECT_FALSE(same_output(" 1", "1"));
}

TEST(SameOutput, WithinATolerance) {
  const auto same = [](const char* got, const char* wanted, double tolerance) {
    return same_output(got, wanted, tolerance);
  };
  EXPECT_TRUE(same("0.333", "0.3333", 1e-3));
  EXPECT_FALSE(same("0.333", "0.3333", 1e-4));
  EXPECT_TRUE(same("1001", "1000", 1e-3));   // 1 <= 0.001 * 1000
  EXPECT_FALSE(same("1002", "1000", 1e-3));  // 2 > 1
  EXPECT_TRUE(same("1.000001", "1", 1e-6));  // on the edge
  EXPECT_FALSE(same("1.0000011", "1", 1e-6));
  EXPECT_TRUE(same("0.0000009", "0", 1e-6));
  EXPECT_TRUE(same("a: 0.50, 2e-1\n[1,2]", "a: .5,  0.2\n[1.0,2]", 0));
  EXPECT_FALSE(same("a 1", "b 1", 1));
  EXPECT_FALSE(same("1 2", "1 2 3", 9));
  EXPECT_FALSE(same("1\n2", "1 2", 9));  // lines stay lines
  EXPECT_FALSE(same("x1", "x2", 9));     // no number, but part of a word
  EXPECT_FALSE(same("1a", "2a", 9));
  EXPECT_TRUE(same("nan inf", "nan inf", 0.1));
  EXPECT_FALSE(same("nan", "1", 9));
  EXPECT_FALSE(same("inf", "1e400", 9));
  EXPECT_FALSE(same("100000000000000000001", "100000000000000000002", 0));
  EXPECT_TRUE(same("-0", "0", 0));
  EXPECT_TRUE(same("007", "7", 0));
  EXPECT_FALSE(same("3", "", 9));
  EXPECT_TRUE(same("3-1", "3-2", 1));
  EXPECT_FALSE(same_output("0.50", "0.5"));  // without a tolerance: to the letter
}

RC_GTEST_PROP(SameOutput, ToleranceIsTheFormulas,
              (std::int16_t a, std::int16_t b, std::uint8_t t)) {
  const double tolerance = t / 64.0, x = a / 128.0, y = b / 128.0;  // exact in binary
  RC_ASSERT(same_output(fmt::format("v {:.8f}", x), fmt::format("v {:.8f}", y), tolerance) ==
            (std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y))));
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
  EXPECT_NE(refusal(R"({"cases": [{"input": 1, "output": ""}]})").find("type must be string"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"command": [], "cases": [{"input": "", "output": ""}]})")
                .find("its command is empty"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"command": ["sh"], "file": "../x", "cases": [{"input": "", "output": ""}]})")
          .find("slash"),
      std::string::npos);
  for (const char* tolerance : {"-0.1", "\"0.1\"", "null", "true"})
    EXPECT_NE(
        refusal(fmt::format(R"({{"cases": [{{"input": "", "output": "1", "tolerance": {}}}]}})",
                            tolerance)
                    .c_str())
            .find("not a finite number"),
        std::string::npos)
        << tolerance;
  EXPECT_NE(refusal(R"({"tolerance": 1e999, "cases": []})").find("JSON"), std::string::npos);
  EXPECT_NE(refusal(R"({"tolerance": 1, "type": "assert", "code": "assert f"})").find("no outputs"),
            std::string::npos);
  const CodeTests both = parse_code_tests(
      R"({"tolerance": 0.5, "cases": [{"input": "", "output": "1"}, {"input": "", "output": "1", "tolerance": 0}]})");
  EXPECT_EQ(both.cases[0].tolerance, 0.5);
  EXPECT_EQ(both.cases[1].tolerance, 0.0);
}

/// correct, format, share of tests passed, and the reason.
std::string verdict(const std::string& reference, std::string_view response, double wall_s = 60,
                    bool finished = true) {
  if (sandbox::started() == nullptr)
    sandbox::start({.limits = {.cpu_s = 1,
                               .wall_s = wall_s,
                               .memory = 256 << 20,
                               .output = 1 << 16,
                               .files = 1 << 20},
                    .workers = 1});
  Prompt prompt;
  prompt.answer = reference;
  const Score score =
      Grader(find_verifier("code"), TaskSection{}).score(prompt, response, finished);
  EXPECT_EQ(score.correct, score.components[0] == 1.0);
  return std::to_string(int(score.components[0])) + std::to_string(int(score.components[1])) + " " +
         std::to_string(int(100 * score.components[2])) + (score.undecided ? " undecided" : "") +
         (score.clock_ended ? " clock " : " ") + score.reason;
}

constexpr const char* kSum =
    R"({"type": "stdio", "cases": [{"input": "1 2\n", "output": "3"}, {"input": "10 -4\n", "output": "6\n"}]})";
constexpr const char* kDouble =
    R"({"type": "assert", "code": "assert f(1) == 2\nassert f(2) == 4\nassert f(-3) == -6\nassert f(0) == 0"})";

TEST(Code, StandardInputAndOutput) {
  EXPECT_EQ(verdict(kSum, "```python\na, b = map(int, input().split())\nprint(a + b)\n```"),
            "11 100 ");
  EXPECT_EQ(verdict(kSum, "print(3)"),
            R"(01 50 test 2 of 2: wrong output, expected "6\n", got "3\n")");
  EXPECT_EQ(verdict(kSum, "print(sum(map(int, input().split())))\nraise SystemExit(3)"),
            "01 0 test 1 of 2: failed");
  EXPECT_EQ(verdict(kSum, "while True: pass"),
            "01 0 clock test 1 of 2: timed_out: processor time: 1 s");
  EXPECT_EQ(verdict(kSum, "x = bytearray(10**12)"),
            "01 0 test 1 of 2: out_of_memory: memory: 268435456 bytes");
  EXPECT_EQ(verdict(kSum, "print('x' * 10**6)"),
            "01 0 test 1 of 2: output_limit: output of more than 65536 bytes");
  EXPECT_EQ(verdict(kSum, "print(int(input()))").substr(0, 38),
            "01 0 test 1 of 2: failed: \"ValueError:");
  const std::string shown = verdict(R"({"cases": [{"input": "", "output": ""}]})",
                                    "print('\u00e9' * 1000)");  // 200 bytes of it
  EXPECT_LT(shown.size(), 300U);
  EXPECT_TRUE(shown.ends_with("é...\"")) << shown;
  // closed by the end
  EXPECT_EQ(verdict(kSum, "```python\nprint(3").substr(0, 38),
            "01 0 test 1 of 2: failed: \"SyntaxError");
  EXPECT_EQ(verdict(kSum, "```python\nprint(3", 60, false), "00 0 no complete code");
}

TEST(Code, AProgramThatWaitsIsWrong) {
  const std::string said =
      verdict(R"({"cases": [{"input": "", "output": ""}]})", "import time\ntime.sleep(60)", 0.5);
  EXPECT_EQ(said.substr(0, said.rfind("wall clock")), "01 0 clock test 1 of 1: timed_out: ");
  EXPECT_NE(said.find("was not short of processors"), std::string::npos) << said;
}

TEST(Code, OneWrongOutputDecides) {
  const std::string said =
      verdict(kSum, "import time\nprint(0) if input() == '1 2' else time.sleep(60)", 1.5);
  EXPECT_EQ(said, R"(01 0 clock test 1 of 2: wrong output, expected "3", got "0\n")");
  const char* unknown =
      R"({"command": ["sh", "-c", "read a; exec $a"], "cases": [{"input": "echo 1", "output": "1"}, {"input": "echo 2", "output": "3"}]})";
  EXPECT_EQ(verdict(unknown, "x"), R"(01 50 test 2 of 2: wrong output, expected "3", got "2\n")");
}

TEST(Code, Tolerance) {
  const char* third =
      R"({"tolerance": 1e-4, "cases": [{"input": "3", "output": "0.33333"}, {"input": "4", "output": "0.25", "tolerance": 0}]})";
  EXPECT_EQ(verdict(third, "print(f'{1 / int(input()):.6f}')"), "11 100 ");
  EXPECT_EQ(verdict(third, "print(1 / int(input()) + 1e-6)").substr(0, 33),
            "01 50 test 2 of 2: wrong output, ");
}

TEST(Code, ChecksThatTheProgramDecidedAreCounted) {
  const char* reference =
      R"({"type": "assert", "code": "assert f(1) == f(1)\nassert f(1).x == 1\nassert f(1) == 1"})";
  const std::string code =
      "class P:\n  def __init__(s, x): s.x = x\n  def __eq__(s, o): return True\nf = P";
  EXPECT_EQ(verdict(reference, code),
            "01 66 test 3 of 3: failed: expected 1, got an object of the program");
  EXPECT_EQ(
      verdict(R"({"type": "assert", "code": "assert f(1) == f(1)\nassert f(1).x == 1"})", code),
      "11 100 1 of 2 checks compared two objects of the program");
}

TEST(Code, Asserts) {
  EXPECT_EQ(verdict(kDouble, "def f(x): return 2 * x"), "11 100 ");
  EXPECT_EQ(verdict(kDouble, "def f(x): return x * x if x > 1 else 2 * x"), "11 100 ");
  EXPECT_EQ(verdict(kDouble, "def f(x): return x + 1 if x else 0"),
            "01 50 test 2 of 4: failed: expected 4, got 3");
  EXPECT_EQ(verdict(kDouble, "def g(x): return 2 * x"),
            "01 0 test 1 of 4: failed: \"NameError: name 'f' is not defined\"");
  EXPECT_EQ(verdict(kDouble, "def f(x) return 2 * x").substr(0, 25), "01 0 failed: \"SyntaxError");
  EXPECT_EQ(verdict(kDouble, "import os\nos._exit(0)"), "01 0 failed: it ended before its checks");
  EXPECT_EQ(verdict(kDouble, "raise SystemExit(0)"), "01 0 failed: it ended before its checks");
}

TEST(Code, IsWhatTheResponseSaysBehindItsThoughts) {
  const std::string good = "```python\ndef f(x): return 2 * x\n```";
  EXPECT_EQ(verdict(kDouble, "<think>```python\ndef f(x): return 0\n```</think>\n" + good),
            "11 100 ");
  EXPECT_EQ(verdict(kDouble, "So\n```python\ndef f(x): return 0\n```\n</think>\n" + good),
            "11 100 ");
  EXPECT_EQ(verdict(kDouble, "<think>\n" + good + "\n</think>\nI do not know.")[0], '0');
  EXPECT_EQ(verdict(kDouble, "<think>a</think>def f(x): return 2 * x"), "11 100 ");
  EXPECT_EQ(
      verdict(kDouble,
              "```python\ntags = '<think></think>'\ndef f(x): return 2 * x if tags else 0\n```"),
      "11 100 ");
  EXPECT_EQ(verdict(kDouble, "    ```python\n    def f(x): return 0\n    ```\n\n" + good),
            "11 100 ");
}

TEST(Code, AnyStatementOfTheTestsMayFail) {
  const auto after_assert = [](const char* rest) {
    return fmt::format(R"({{"type": "assert", "code": "assert f(1) == 2\n{}"}})", rest);
  };
  for (const char* rest :
       {R"(for i in range(5):\n    assert f(i) == i + 1)",
        R"(def check(f):\n    assert f(3) == 4\ncheck(f))", "f(1, 2)", "raise ValueError"})
    EXPECT_EQ(verdict(after_assert(rest), "def f(x): return 2").substr(0, 26),
              "01 50 test 2 of 2: failed:")
        << rest;
  EXPECT_EQ(verdict(after_assert(R"(for i in range(5):\n    assert f(i) == i + 1)"),
                    "def f(x): return x + 1"),
            "11 100 ");
  EXPECT_EQ(verdict(R"({"type": "assert", "code": "for i in range(5):\n    assert f(i) == 2"})",
                    "def f(x): return 2"),
            "11 100 ");
  for (const char* nothing :
       {R"(def check():\n    assert f(1) == 3)", "x = 1", "import math", "assert f(1) =="})
    EXPECT_EQ(
        verdict(fmt::format(R"({{"type": "assert", "code": "{}"}})", nothing),
                "def f(x): return 2"),
        "01 0 undecided sandbox_error: the tests of the prompt check nothing, or are no Python")
        << nothing;
}

TEST(Code, AnyCommand) {
  const char* sorted =
      R"({"type": "command", "command": ["sh", "main.sh"], "file": "main.sh", "cases": [{"input": "b\na\n", "output": "a\nb\n"}]})";
  EXPECT_EQ(verdict(sorted, "```sh\nsort\n```"), "11 100 ");
  EXPECT_EQ(verdict(sorted, "cat"),
            R"(01 0 test 1 of 1: wrong output, expected "a\nb\n", got "b\na\n")");
  EXPECT_EQ(
      verdict(R"({"command": ["no-such-program"], "cases": [{"input": "", "output": ""}]})", "x"),
      "01 0 undecided test 1 of 1: sandbox_error: running the command: No such file or directory");
}

TEST(Code, WorkedSolutionsOfTheTaskPass) {
  for (const char* wording : {"plain", "question"}) {
    TaskSection section;
    section.name = "code", section.train_prompts = 12, section.validation_prompts = 0,
    section.heldout_prompts = 1, section.min_level = 1, section.max_level = 8;
    section.wording = {wording};
    for (const Prompt& prompt : task::find_task("code").make(section, 3).train)
      EXPECT_EQ(verdict(prompt.answer, prompt.solution), "11 100 ") << prompt.text;
  }
}

TEST(Code, AnUndecidedVerdictSaysItsCause) {
  EXPECT_EQ(
      undecided_cause(
          "test 1 of 2: timed_out: wall clock: 20 s; the machine was short of processors (/proc/PID/schedstat)"),
      "starved");
  EXPECT_EQ(
      undecided_cause(
          "test 2 of 2: sandbox_error: memory of the job or the machine ran out: meanwhile the kernel ended 2 processes"),
      "out_of_memory");
  EXPECT_EQ(undecided_cause("the sandbox was not started"), "sandbox_error");
}

}  // namespace
}  // namespace rollcall::reward
