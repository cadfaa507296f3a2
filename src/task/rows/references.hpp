// Makes the question and the reference for each kind of row in a question file.
#pragma once

#include "base/text/json.hpp"
#include "task/json_lines.hpp"
#include "text/chat/conversation.hpp"

#include <optional>
#include <string>

namespace rollcall::task {

struct Layout;

/// One row of a file, as its layout reads it.
struct FileRow {
  const nlohmann::json& object;
  const Line& line;
  const Layout& layout;
  const std::string& marker;  ///< task.answer_marker
};

/// Layout::verifier if what follows the answers' marker decides (task/answer_source.hpp).
inline constexpr const char* kByMarker = "";
/// Layout::verifier if each row decides.
inline constexpr const char* kByRow = "by row";

/// The reference by which answers to a row are judged.
struct Reference {
  std::string answer;      ///< as Prompt::answer
  std::string solution{};  ///< as Prompt::solution
  std::int32_t level = 0;  ///< lines of reasoning before the answer, if they are the level
  std::string verifier{};  ///< only where Layout::verifier is kByRow
};

using Asks = text::Conversation (*)(const FileRow& row);
using Refers = Reference (*)(const FileRow& row);

// Questions. All of them throw InputError naming the line.
/// A string, which becomes the user's message, or a list of messages.
text::Conversation asks_prompt(const FileRow& row);
/// The question with its options, each after a letter.
text::Conversation asks_choice(const FileRow& row);
/// "Make 98 from the numbers 44, 19, 35."
text::Conversation asks_countdown(const FileRow& row);
/// A function to write, and the tests that it has to pass.
text::Conversation asks_function(const FileRow& row);
/// Asks to complete a function from its signature.
text::Conversation asks_completion(const FileRow& row);
/// A program that reads input and prints output.
text::Conversation asks_program(const FileRow& row);
/// The calls of tools that answer a request.
text::Conversation asks_calls(const FileRow& row);

// References. All of them throw InputError naming the line.
/// A string, a number or a list of accepted answers; what follows the marker is the reference.
Reference refers_to_answer(const FileRow& row);
/// The last box in a worked solution, or the whole text if it has none.
Reference refers_to_box(const FileRow& row);
/// The "ground truth" of other trainers: an answer, the JSON text of a list of accepted ones,
/// numbers and target of countdown, or inputs and outputs of a program.
Reference refers_to_ground_truth(const FileRow& row);
Reference refers_to_choice(const FileRow& row);
Reference refers_to_countdown(const FileRow& row);
/// A list of asserts, with what has to run before them.
Reference refers_to_asserts(const FileRow& row);
/// A function check(candidate), which is called with the function that was asked for.
Reference refers_to_check(const FileRow& row);
Reference refers_to_output(const FileRow& row);
Reference refers_to_calls(const FileRow& row);
Reference refers_to_instructions(const FileRow& row);

}  // namespace rollcall::task
