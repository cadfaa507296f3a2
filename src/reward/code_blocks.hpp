// Finds the code in a response: fenced blocks according to CommonMark, and the one among them that
// is the answer.
#pragma once

#include "reward/code_tests.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::reward {

/// A fenced code block (CommonMark 0.31, section 4.5) without its indentation and that of the list
/// items and block quotes around it.
struct CodeBlock {
  std::string language;  ///< First word of the info string, in lower case; empty if there is none.
  std::string code;
  bool closed = false;  ///< whether a closing fence ends the block
};
std::vector<CodeBlock> code_blocks(std::string_view text);

/// `complete` says that the block was closed, by a fence or by the end of a finished response,
/// which closes a block as the end of a document does.
struct FoundCode {
  std::string code;
  bool complete = false;
};

/// The last block in the tests' language, or without a language, that has the parts that the tests
/// need: the functions that asserts call, or input and output if those are compared. Sample
/// outputs, shell sessions and usage examples lack these parts. If no block has them, the last
/// block in the language is taken. If the response has no fence, all of it is taken.
FoundCode find_code(std::string_view response, bool finished, const CodeTests& tests);

}  // namespace rollcall::reward
