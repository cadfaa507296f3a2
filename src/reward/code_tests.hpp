// The tests of a code task, as the reference answer of a prompt states them, and the code within a response.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

struct StdioCase {
  std::string input, output;
};

/// One of: {"type": "stdio", "cases": [{"input", "output"}, ...]}, Python whose output is compared; {"type": "assert", "code": "..."}, Python statements run after
/// the response's code; {"type": "command", "command": [...], "file": "main.c", "cases": [...]}, any program, with the response's code in that file.
struct CodeTests {
  std::vector<StdioCase> cases;
  std::string asserts;
  std::vector<std::string> command;
  std::string file;
};

/// Throws InputError: what is wrong with the reference.
CodeTests parse_code_tests(std::string_view reference);

/// The last fenced block (``` or ~~~, with or without a language) of a response, or the whole of one that has no fence. `complete`: the block was closed, or
/// there is none and the response finished.
struct FoundCode {
  std::string code;
  bool complete = false;
};
FoundCode find_code(std::string_view response, bool finished);

/// Equal but for white space at the ends of lines and of the whole.
bool same_output(std::string_view got, std::string_view wanted);

}  // namespace rollcall::reward
