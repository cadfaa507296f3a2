// Answers yes or no to letters and things, and ends with the right thing or the last question.
#include "task/worlds/twenty_questions.hpp"

#include "base/numbers/random.hpp"
#include "environment/worlds/world.hpp"
#include "environment/worlds/worlds.hpp"

#include <algorithm>

namespace rollcall::environment {
namespace {

constexpr std::int64_t kQuestion = 1, kGuess = 2;  // kinds of actions

class QuestionWorld final : public World {
 public:
  const Traits& traits() const override {
    static const Traits with_kinds{.kinds = {"question", "guess"}};
    return with_kinds;
  }

 private:
  std::optional<std::string> first_state(const Prompt& prompt, std::uint64_t seed) const override {
    auto riddle = task::read_riddle_reference(prompt.answer);
    if (!riddle) return std::nullopt;
    const RandomStream stream(seed, RandomPurpose::environment);
    riddle->secret = riddle->things[std::size_t(stream.below(0, riddle->things.size()))];
    return task::text_of(*riddle);
  }

  std::optional<std::string> seen(const std::string& state) const override {
    const auto riddle = task::read_riddle(state);
    if (!riddle) return std::nullopt;
    return task::view_of(*riddle);
  }

  Answer act(const std::string& state, const std::string& word, std::uint64_t) const override {
    auto riddle = *task::read_riddle(state);
    const auto is_in = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), word) != list.end();
    };
    const bool guesses = is_in(riddle.things);
    if (!guesses && !task::is_letter(word)) return {.state = state, .flags = turn_flag::invalid};
    Answer answer{.flags = is_in(riddle.asked) ? turn_flag::repeated : 0,
                  .kind = guesses ? kGuess : kQuestion};
    const bool found = word == riddle.secret;
    riddle.asked.push_back(word);
    answer.state = task::text_of(riddle);
    answer.done = found || std::int64_t(riddle.asked.size()) == riddle.questions;
    answer.reward = found ? 1.0 : 0.0;
    if (answer.done) answer.correct = found;
    return answer;
  }

  /// The question that parts the things which the answers leave most evenly.
  std::optional<std::string> expert_word(const std::string& state, std::uint32_t) const override {
    const auto riddle = *task::read_riddle(state);
    auto left = riddle.things;
    for (const std::string& asked : riddle.asked)
      std::erase_if(left, [&](const std::string& thing) {
        return task::is_true_of(thing, asked) != task::is_true_of(riddle.secret, asked);
      });
    return task::best_question(left);
  }
};

}  // namespace

std::unique_ptr<const Environment> make_twenty_questions(const RunConfig& config) {
  need_task(config, "twenty_questions");
  return std::make_unique<QuestionWorld>();
}

}  // namespace rollcall::environment
