// The tests for a code task, as stated in a prompt's reference answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

struct StdioCase {
  std::string input, output;
  std::optional<double> tolerance = std::nullopt;
};

/// One of three kinds. {"type": "stdio", "cases": [{"input", "output"}, ...]}: Python code; its
/// output is compared. {"type": "assert", "code": "..."}: Python statements that run after the
/// response's code. {"type": "command", "command": [...], "file": "main.c", "cases": [...]}: any
/// program, with the response's code in that file. `"tolerance": t` in a case, or next to the type
/// for all cases without their own, gives the largest allowed error of numbers in the output
/// (same_output).
struct CodeTests {
  std::vector<StdioCase> cases;
  std::string asserts;
  std::vector<std::string> command;
  std::string file;
};

/// Throws InputError that describes the fault of the reference.
CodeTests parse_code_tests(std::string_view reference);

/// Whether two outputs are equal, apart from white space at the ends of lines and at the end of the
/// output. With a tolerance t, lines are compared word by word, and numbers a against wanted b by
/// |a - b| <= t max(1, |b|). Everything else in a word must be equal, and so must integers of any
/// length if t max(1, |b|) is below 1.
bool same_output(std::string_view got, std::string_view wanted,
                 std::optional<double> tolerance = std::nullopt);

}  // namespace rollcall::reward
