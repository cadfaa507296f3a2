// Keys of the examples that the chat template makes nothing of: files that differ in them alone
// teach the same, which their writer should know.
#pragma once

#include "base/log.hpp"
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
  /// Looks for every key that no conversation so far was read with. For threads.
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
            "{}:{}: the chat template does not read {}\"{}\", here or on any other line: nothing is learnt from it",
            file, state.line, key.first ? "a message's " : "", key.second);
  }

 private:
  using Key = std::pair<bool, std::string>;  ///< whether it is a message's, and its name
  struct State {
    std::size_t line;  ///< the first with it
    bool read;
  };
  /// Files of one type a column hold nulls and empty lists where nothing is said.
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
