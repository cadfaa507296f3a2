// The final answer of a response: in a box, in tags, announced, or where it ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// Where an answer was found, the surest first.
enum class AnswerPlace { box, tag, announcement, conclusion, formula, line };

struct FinalAnswer {
  std::string text;
  bool complete = false;  ///< false: the token limit may have cut it
  AnswerPlace place = AnswerPlace::line;
};

/// In this order: the boxes of the last sentence with boxes, the last <answer>...</answer>, the
/// last announcement (announcement.hpp), what the last sentences come to, the last formula, and a
/// last line that is short. Empty boxes and tags leave nothing but an announcement. `finished`: the
/// response ended by itself. What a closed thought says counts only where nothing else is said.
std::optional<FinalAnswer> final_answer(std::string_view response, bool finished);

/// The same of a whole response, where it says that this is its answer: not a mere formula or line.
std::optional<std::string> stated_answer(std::string_view response);

/// A short answer without marks of Markdown, dollars and quotation marks around it and without
/// remarks behind it; as it is where that leaves nothing.
std::string plain_answer(std::string_view answer);

/// What the last <answer>...</answer> holds (DeepSeek-R1, arXiv:2501.12948, table 1).
std::optional<std::string_view> tagged_answer(std::string_view response);

}  // namespace rollcall::text
