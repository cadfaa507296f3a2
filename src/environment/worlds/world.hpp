// What the built-in worlds share: conversations that begin as their prompts end, and actions of one
// word.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::environment {

/// Throws ConfigError where the run's prompts are not those of `task`.
void need_task(const RunConfig& config, const char* task);

/// What the policy says beside its closed thoughts, without white space around it. Points into
/// `action` or into `storage`.
std::string_view said_in(std::string_view action, std::string& storage);
/// The same in small letters.
std::string word_in(std::string_view action);

/// A world whose prompts end with what the policy sees at the start.
class World : public Environment {
 public:
  const Traits& traits() const override;
  Answer start(const Prompt& prompt, const std::string& state, std::uint64_t seed) const final;
  Answer step(const Prompt& prompt, const std::string& state, std::string_view action,
              std::uint64_t seed, std::uint32_t turn) const final;
  std::optional<std::string> expert(const Prompt& prompt, const std::string& state,
                                    std::uint32_t turn) const final;

 private:
  /// Nothing for a prompt that is none of this world.
  virtual std::optional<std::string> first_state(const Prompt& prompt,
                                                 std::uint64_t seed) const = 0;
  /// What the policy sees in a state; nothing for a text that is no state.
  virtual std::optional<std::string> seen(const std::string& state) const = 0;
  /// The answer to an action, without its text. `state` is one in which seen() sees something.
  virtual Answer act(const std::string& state, const std::string& word,
                     std::uint64_t seed) const = 0;
  /// What an expert says in such a state in turn `turn`; nothing where no action helps.
  virtual std::optional<std::string> expert_word(const std::string& state,
                                                 std::uint32_t turn) const = 0;
};

}  // namespace rollcall::environment
