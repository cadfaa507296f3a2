// Starts, what is seen, and the words of actions.
#include "environment/worlds/world.hpp"

#include "base/errors/error.hpp"
#include "text/answer/answer_text.hpp"
#include "text/chat/thoughts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::environment {

void need_task(const RunConfig& config, const char* task) {
  require<ConfigError>(
      config.task.name == task,
      fmt::format("environment.name is {}, and task.name is {}", task, config.task.name),
      fmt::format("this environment plays the prompts of the task {} alone", task),
      fmt::format("set task.name={}, which needs no environment.name", task));
}

std::string_view said_in(std::string_view action, std::string& storage) {
  return text::trim(text::without_thoughts(action, storage));
}

std::string word_in(std::string_view action) {
  std::string storage, word(said_in(action, storage));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return word;
}

const Traits& World::traits() const {
  static const Traits plain{};
  return plain;
}

Answer World::start(const Prompt& prompt, const std::string& state, std::uint64_t seed) const {
  const auto first = first_state(prompt, seed);
  const auto shown = first ? seen(*first) : std::nullopt;
  if (!shown)
    return {.reason = "the prompt's reference is no beginning of this environment",
            .loss = Loss::malformed};
  if (state.empty()) return {.state = first};
  const auto now = seen(state);
  if (!now) return {.reason = "the start is no state of this environment", .loss = Loss::malformed};
  const std::string& text = prompt.text;
  const std::size_t rules = text.ends_with(*shown) ? text.size() - shown->size() : 0;
  return {.state = state, .text = text.substr(0, rules) + *now};
}

Answer World::step(const Prompt&, const std::string& state, std::string_view action,
                   std::uint64_t seed, std::uint32_t) const {
  if (!seen(state))
    return {.reason = "the state is none of this environment", .loss = Loss::malformed};
  Answer answer = act(state, word_in(action), seed);
  if (!answer.done) answer.text = seen(*answer.state).value_or("");
  return answer;
}

std::optional<std::string> World::expert(const Prompt&, const std::string& state,
                                         std::uint32_t turn) const {
  if (!seen(state)) return std::nullopt;
  return expert_word(state, turn);
}

}  // namespace rollcall::environment
