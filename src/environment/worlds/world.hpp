// The common base of the built-in worlds: conversations begin with the state at the end of their
// prompts, and actions are single words.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::environment {

/// Throws ConfigError if the run's prompts do not come from `task`.
void need_task(const RunConfig& config, const char* task);

/// The policy's text outside its closed thoughts, without surrounding white space. Points into
/// `action` or into `storage`.
std::string_view said_in(std::string_view action, std::string& storage);
/// The same in small letters.
std::string word_in(std::string_view action);

/// A world with prompts that end with the policy's first view of it.
class World : public Environment {
 public:
  const Traits& traits() const override;
  Answer start(const Prompt& prompt, const std::string& state, std::uint64_t seed) const final;
  Answer step(const Prompt& prompt, const std::string& state, std::string_view action,
              std::uint64_t seed, std::uint32_t turn) const final;
  std::optional<std::string> expert(const Prompt& prompt, const std::string& state,
                                    std::uint32_t turn) const final;

 private:
  /// Nothing if the prompt does not belong to this world.
  virtual std::optional<std::string> first_state(const Prompt& prompt,
                                                 std::uint64_t seed) const = 0;
  /// The policy's view of a state; nothing if the text is not a state.
  virtual std::optional<std::string> seen(const std::string& state) const = 0;
  /// The answer to an action, without its text. seen() must return something for `state`.
  virtual Answer act(const std::string& state, const std::string& word,
                     std::uint64_t seed) const = 0;
  /// The action of an expert in such a state in turn `turn`; nothing if no action helps.
  virtual std::optional<std::string> expert_word(const std::string& state,
                                                 std::uint32_t turn) const = 0;
};

}  // namespace rollcall::environment
