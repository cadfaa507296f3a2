// Kinds of instruction that the task instructions can give, and the draft of the text that follows
// them.
#pragma once

#include "base/json.hpp"
#include "task/generate.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::task {

/// A text as it is put together: what instructions ask for is entered here first and measured in
/// the text afterwards, so that all can be followed together.
struct Draft {
  std::string topic;                    ///< "Write about the sea."
  std::vector<std::string> paragraphs;  ///< of plain sentences
  std::string between = "\n\n";         ///< of paragraphs
  std::string first, last;              ///< put before and behind everything
  std::vector<std::string> lines;       ///< behind the paragraphs, a line each
  enum class Case { as_written, upper, lower } letters = Case::as_written;
  bool quoted = false, as_json = false;
};
std::string text_of(const Draft& draft);

/// What an instruction leaves no other to decide.
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
  const char* name;      ///< IFEval's
  std::uint32_t claims;  ///< no two rows that are given together claim the same
  std::uint32_t needs;   ///< no row given together claims it
  void (*write)(Draft& draft, Draws& draws);  ///< may be none
  /// IFEval's kwargs, such that `text` follows
  nlohmann::json (*arguments)(const Draft& draft, const std::string& text, Draws& draws);
  std::string (*words)(const nlohmann::json& arguments);  ///< "Use at least 5 words."
};

const std::vector<InstructionKind>& instruction_kinds();

}  // namespace rollcall::task
