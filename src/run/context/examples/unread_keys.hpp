// Finds keys of the examples that the chat template does not read. Files that differ only in such
// keys teach the same, so their writer is warned.
#pragma once

#include "base/errors/log.hpp"
#include "text/chat/conversation.hpp"
#include "text/chat/prompt_format.hpp"

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace rollcall::run {

class UnreadKeys {
 public:
  /// Checks every key of the conversation that the template has not read in an earlier one. Several
  /// threads may call it. `line`: the line of the example in its file.
  void look(const text::PromptFormat& format, const text::Conversation& conversation,
            std::size_t line) {
    std::set<Key> keys;
    for (const auto& message : conversation.messages)
      for (const auto& [name, value] : message.items())
        if (name != "role" && name != "content" && says(value)) keys.emplace(true, name);
    for (const auto& [name, value] : conversation.variables.items())
      if (says(value)) keys.emplace(false, name);
    for (const Key& key : keys) {
      if (is_read(key)) continue;
      const bool read = format.conversations().reads(conversation, key.second, key.first);
      const std::lock_guard lock(mutex_);
      State& state = states_.try_emplace(key, State{line, false}).first->second;
      state.line = std::min(state.line, line), state.read |= read;
    }
  }

  void tell(const std::string& file) const {
    for (const auto& [key, state] : states_)
      if (!state.read)
        log_warning(
            "{}:{}: the chat template does not read {}\"{}\", here or on any other line: nothing "
            "is learnt from it",
            file, state.line, key.first ? "a message's " : "", key.second);
  }

 private:
  /// first: whether the key is one of a message and not of the whole example. second: its name.
  using Key = std::pair<bool, std::string>;
  struct State {
    std::size_t line;  ///< number of the first line that has the key
    bool read;
  };
  /// Whether the value holds anything: files with one type for each column have nulls and empty
  /// lists where an example has nothing.
  static bool says(const text::Message& value) {
    return !value.is_null() && !value.empty() && value != "";
  }
  bool is_read(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto state = states_.find(key);
    return state != states_.end() && state->second.read;
  }

  std::mutex mutex_;
  std::map<Key, State> states_;
};

}  // namespace rollcall::run
