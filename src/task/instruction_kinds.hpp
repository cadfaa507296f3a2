// Kinds of instructions that the task `instructions` can give, and the draft of the text that
// follows them.
#pragma once

#include "base/text/json.hpp"
#include "task/generate.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::task {

/// A text under construction. Everything that the instructions demand is first entered here and
/// later measured in the text, so that all of them can be followed at once.
struct Draft {
  std::string topic;                    ///< "Write about the sea."
  std::vector<std::string> paragraphs;  ///< of plain sentences
  std::string between = "\n\n";         ///< separates paragraphs
  std::string first, last;              ///< put before and after everything else
  std::vector<std::string> lines;       ///< after the paragraphs, one per line
  enum class Case { as_written, upper, lower } letters = Case::as_written;
  bool quoted = false, as_json = false;
};
std::string text_of(const Draft& draft);

/// Properties of the text that only one of its instructions may decide.
enum Claim : std::uint32_t {
  kNothing = 0,
  kCase = 1,
  kStart = 2,
  kEnd = 4,
  kParagraphs = 8,
  kLayout = 16
};

/// A row of the table in instruction_kinds.cpp.
struct InstructionKind {
  const char* name;      ///< IFEval's name
  std::uint32_t claims;  ///< a set of Claim; no other instruction of the prompt may claim them
  std::uint32_t needs;   ///< a set of Claim that no other instruction of the prompt may have
                         ///< claimed
  void (*write)(Draft& draft, Draws& draws);  ///< nullptr if the draft needs no change
  /// the kwargs, in IFEval's form, for an instruction that `text` follows
  nlohmann::json (*arguments)(const Draft& draft, const std::string& text, Draws& draws);
  std::string (*words)(const nlohmann::json& arguments);  ///< "Use at least 5 words."
};

const std::vector<InstructionKind>& instruction_kinds();

}  // namespace rollcall::task
