// Worked examples without their thought, for a policy that is to choose whether it thinks (TON, arXiv:2505.16854).
#pragma once

#include "base/error.hpp"
#include "base/random.hpp"
#include "core/run_config.hpp"
#include "text/answer_form.hpp"
#include "text/prompt_format.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::stages {

/// Empties the thoughts of a share of the examples, each by an addressed draw of its own.
class ThoughtDropout {
 public:
  explicit ThoughtDropout(const RunConfig& config) : share_(config.sft.thought_dropout), seed_(std::uint64_t(config.run.seed)) {}
  std::string answer(std::size_t example, std::string text) {
    if (share_ == 0.0) return text;
    std::string without = text::without_thought(text);
    if (without != text) any_ = true;
    return RandomStream(seed_, RandomPurpose::thoughts, 0, example).uniform(0) < share_ ? without : text;
  }
  std::vector<text::Message> conversation(std::size_t example, std::vector<text::Message> messages) {
    for (auto& message : messages)
      if (message.role == "assistant") message.content = answer(example, std::move(message.content));
    return messages;
  }
  void check() const {
    require<ConfigError>(share_ == 0.0 || any_, fmt::format("sft.thought_dropout is {}, and no example has a thought", share_),
                         "there is no <think>...</think> that could be emptied", "set task.forms to [\"think\"], or name examples with thoughts in sft.file");
  }

 private:
  double share_;
  std::uint64_t seed_;
  std::atomic<bool> any_ = false;  // examples are made by threads
};

}  // namespace rollcall::stages
