// The examples of supervised steps if the run file names a file for them: conversations, or prompts
// with their answers.
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
  /// conversations, each with at least one turn of the assistant
  std::vector<text::Conversation> conversations;
  std::vector<std::pair<std::string, std::string>> answers;  ///< prompt, answer
  /// Line numbers in the file, first for the conversations, then for the answers.
  std::vector<std::size_t> lines;
  /// Keys that nothing reads, each with the first line that has it.
  std::map<std::string, std::size_t> unused;
  std::string hash;  ///< SHA-256 of the file
  std::size_t size() const { return conversations.size() + answers.size(); }
};

/// Reads a file with one JSON object per line: {"messages": [{"role": ..., "content": ...}, ...]},
/// or {"prompt": ..., "answer": ...} under the keys that the section names. Messages keep all their
/// keys. "tools" and "documents" of a conversation's line and the members of its
/// "chat_template_kwargs" become variables of the template. Throws InputError naming file and line.
ExampleSet read_examples(const SftSection& section);

}  // namespace rollcall::task
