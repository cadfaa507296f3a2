// The code within a response: fenced blocks by CommonMark's rules, and which of them is the answer.
#pragma once

#include "reward/code_tests.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// A fenced code block (CommonMark 0.31, section 4.5), its indentation and that of the list items
/// and block quotes around it taken away.
struct CodeBlock {
  std::string language;  ///< first word of the info string, in lower case; empty where there is
                         ///< none
  std::string code;
  bool closed = false;  ///< by a fence of its own
};
std::vector<CodeBlock> code_blocks(std::string_view text);

/// `complete`: the block was closed, or the response finished, whose end closes a block as the end
/// of a document does.
struct FoundCode {
  std::string code;
  bool complete = false;
};

/// The last block in the wanted language, or without one, that has what the tests need: the
/// functions that asserts call; input and output where those are compared. Sample outputs, sessions
/// of a shell and examples of use have not. Where no block has it, the last one in the language;
/// the whole response where it has no fence.
FoundCode find_code(std::string_view response, bool finished, const CodeTests& tests);

}  // namespace rollcall::reward
