// What supervised steps learn from where the run file names a file of its own: conversations, or
// prompts with their answers.
#pragma once

#include "core/run_config.hpp"
#include "text/chat/conversation.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::task {

struct ExampleSet {
  /// Each with something that the assistant says.
  std::vector<text::Conversation> conversations;
  std::vector<std::pair<std::string, std::string>> answers;  ///< prompt, answer
  std::vector<std::size_t> lines;  ///< of the file: those of the conversations, then those of the
                                   ///< answers
  /// Keys of lines that nothing is made of, each with the first line that has it.
  std::map<std::string, std::size_t> unused;
  std::string hash;  ///< SHA-256 of the file
  std::size_t size() const { return conversations.size() + answers.size(); }
};

/// A file of one JSON object a line: {"messages": [{"role": ..., "content": ...}, ...]}, or
/// {"prompt": ..., "answer": ...} under the keys of the section. Messages keep all their keys.
/// "tools" and "documents" of a conversation's line and the members of its "chat_template_kwargs"
/// are variables of the template. Throws InputError naming file and line.
ExampleSet read_examples(const SftSection& section);

}  // namespace rollcall::task
