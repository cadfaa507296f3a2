// Removes the thought from a share of the worked examples, for a policy that is to learn when to
// think (TON, arXiv:2505.16854).
#pragma once

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "core/run_config.hpp"
#include "text/answer/answer_form.hpp"
#include "text/chat/conversation.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace rollcall::run {

/// Each example is chosen or not by an addressed random number of its own.
class ThoughtDropout {
 public:
  explicit ThoughtDropout(const RunConfig& config)
      : share_(config.sft.thought_dropout), seed_(std::uint64_t(config.run.seed)) {}
  std::string answer(std::size_t example, std::string text) {
    if (share_ == 0.0) return text;
    std::string without = text::without_thought(text);
    if (without != text) any_ = true;
    return is_emptied(example) ? without : text;
  }
  /// answer() for a conversation, whose thoughts are in the content of a message or under a key of
  /// their own.
  text::Conversation conversation(std::size_t example, text::Conversation talk) {
    if (share_ == 0.0) return talk;
    for (auto& message : talk.messages) {
      if (!text::is_said_by(message, "assistant")) continue;
      text::each_said(message, [&](std::string_view key, std::string& words) {
        if (key == "content" || key == "text") words = answer(example, std::move(words));
        else if (key != "name")
          any_ = true, words = is_emptied(example) ? std::string() : std::move(words);
      });
    }
    return talk;
  }
  void check() const {
    require<ConfigError>(
        share_ == 0.0 || any_,
        fmt::format("sft.thought_dropout is {}, and no example has a thought", share_),
        "there is no <think>...</think> that could be emptied",
        "set task.forms to [\"think\"], or name examples with thoughts in sft.file");
  }

 private:
  bool is_emptied(std::size_t example) const {
    return RandomStream(seed_, RandomPurpose::thoughts, 0, example).uniform(0) < share_;
  }

  double share_;
  std::uint64_t seed_;
  std::atomic<bool> any_ = false;  // atomic, because several threads make examples
};

}  // namespace rollcall::run
