// Answers more or less to guesses, and ends with the number or the last guess.
#include "task/worlds/number_dialogue.hpp"

#include "base/numbers/random.hpp"
#include "environment/worlds/world.hpp"
#include "environment/worlds/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rollcall::environment {
namespace {

/// A whole number from 0 to 9999 without anything around it.
std::optional<std::int64_t> read_guess(const std::string& word) {
  std::int64_t guess = 0;
  const char* end = word.data() + word.size();
  const auto [after, fault] = std::from_chars(word.data(), end, guess);
  if (fault != std::errc() || after != end || word.size() > 4 || guess < 0) return std::nullopt;
  return guess;
}

class NumberWorld final : public World {
  std::optional<std::string> first_state(const Prompt& prompt, std::uint64_t seed) const override {
    auto riddle = task::read_number_riddle_reference(prompt.answer);
    if (!riddle) return std::nullopt;
    const RandomStream stream(seed, RandomPurpose::environment);
    riddle->secret += std::int64_t(stream.below(0, std::uint64_t(riddle->high - riddle->low + 1)));
    return task::text_of(*riddle);
  }

  std::optional<std::string> seen(const std::string& state) const override {
    const auto riddle = task::read_number_riddle(state);
    if (!riddle) return std::nullopt;
    return task::view_of(*riddle);
  }

  Answer act(const std::string& state, const std::string& word, std::uint64_t) const override {
    const auto guess = read_guess(word);
    if (!guess) return {.state = state, .flags = turn_flag::invalid};
    auto riddle = *task::read_number_riddle(state);
    auto& guessed = riddle.guessed;
    Answer answer;
    if (std::find(guessed.begin(), guessed.end(), *guess) != guessed.end())
      answer.flags = turn_flag::repeated;
    guessed.push_back(*guess);
    const bool found = *guess == riddle.secret;
    answer.state = task::text_of(riddle);
    answer.done = found || std::int64_t(guessed.size()) == riddle.guesses;
    answer.reward = found ? 1.0 : 0.0;
    if (answer.done) answer.correct = found;
    return answer;
  }

  /// The middle of what the guesses leave.
  std::optional<std::string> expert_word(const std::string& state, std::uint32_t) const override {
    const auto riddle = *task::read_number_riddle(state);
    std::int64_t low = riddle.low, high = riddle.high;
    for (const std::int64_t guess : riddle.guessed) {
      if (riddle.secret > guess) low = std::max(low, guess + 1);
      else high = std::min(high, guess - 1);
    }
    return fmt::format("{}", (low + high) / 2);
  }
};

}  // namespace

std::unique_ptr<const Environment> make_number_dialogue(const RunConfig& config) {
  need_task(config, "number_dialogue");
  return std::make_unique<NumberWorld>();
}

}  // namespace rollcall::environment
