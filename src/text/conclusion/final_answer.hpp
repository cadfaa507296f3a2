// Finds the final answer of a response, which may be in a box, in tags, announced, or at the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::text {

/// Where an answer was found, from the most reliable place to the least reliable one.
enum class AnswerPlace { box, tag, announcement, conclusion, formula, line };

struct FinalAnswer {
  std::string text;
  bool complete = false;  ///< false if the token limit may have cut it
  AnswerPlace place = AnswerPlace::line;
};

/// Looks, in this order, at the boxes of the last sentence with boxes, the last
/// <answer>...</answer>, the last announcement (announcement.hpp), the conclusion of the last
/// sentences, the last formula, and the last line if it is short. After an empty box or empty tags
/// only an announcement counts. `finished`: the response was not cut by the token limit. The text
/// of a closed thought counts only if the response has no other text.
std::optional<FinalAnswer> final_answer(std::string_view response, bool finished);

/// The answer of a response that is known to be finished. A mere formula or line at the end does
/// not count, because nothing says that it is the answer.
std::optional<std::string> stated_answer(std::string_view response);

/// A short answer without surrounding Markdown marks, dollars and quotation marks, and without
/// remarks after it. If nothing would be left, the answer is unchanged.
std::string plain_answer(std::string_view answer);

/// The text within the last <answer>...</answer> (DeepSeek-R1, arXiv:2501.12948, table 1).
std::optional<std::string_view> tagged_answer(std::string_view response);

}  // namespace rollcall::text
