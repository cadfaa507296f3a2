// Lets a wrong answer be given again, with nothing but the remark that it is wrong (UFO,
// arXiv:2507.14295).
#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "environment/worlds/world.hpp"
#include "environment/worlds/worlds.hpp"
#include "reward/verifier.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall::environment {
namespace {

using nlohmann::json;

constexpr const char* kWrong = "Incorrect. Please think again.";

/// The answers so far; nothing for a text that is no list of texts.
std::optional<std::vector<std::string>> read_answers(const std::string& state) {
  std::string fault;
  const json list = parse_foreign_value<json>(state, fault);
  if (!fault.empty() || !list.is_array()) return std::nullopt;
  std::vector<std::string> answers;
  for (const json& answer : list) {
    if (!answer.is_string()) return std::nullopt;
    answers.push_back(answer.get<std::string>());
  }
  return answers;
}

/// The answer as the state keeps it: bytes that are no UTF-8 are replaced.
std::string kept(const std::string& answer) {
  const std::string text = json(answer).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(text).get<std::string>();
}

class Retry final : public Environment {
 public:
  explicit Retry(reward::Grader grader) : grader_(std::move(grader)) {}

  const Traits& traits() const override {
    static const Traits none_paid{.rewards = false, .decides = false};
    return none_paid;
  }

  Answer start(const Prompt&, const std::string& state, std::uint64_t) const override {
    if (state.empty()) return {.state = json::array().dump()};
    if (!read_answers(state)) return unusable();
    return {.state = state};
  }

  Answer step(const Prompt& prompt, const std::string& state, std::string_view action,
              std::uint64_t, std::uint32_t) const override {
    auto answers = read_answers(state);
    if (!answers) return unusable();
    Score score;
    try {
      score = grader_.score(prompt, action, true);
    } catch (const InputError& fault) {  // the reference cannot be used
      return {.reason = fault.what(), .loss = Loss::malformed};
    }
    std::string storage,
        given = kept(score.answer.empty() ? std::string(said_in(action, storage)) : score.answer);
    const bool again = std::find(answers->begin(), answers->end(), given) != answers->end();
    answers->push_back(std::move(given));
    Answer answer{.state = json(*answers).dump()};
    answer.flags = again ? turn_flag::repeated : 0;
    answer.done = score.correct;
    if (!score.correct) answer.text = kWrong;
    return answer;
  }

 private:
  static Answer unusable() {
    return {.reason = "the state is no list of answers", .loss = Loss::malformed};
  }

  reward::Grader grader_;
};

}  // namespace

std::unique_ptr<const Environment> make_retry(const RunConfig& config) {
  const task::TaskRow& row = task::find_task(config.task.name);
  const char* why = "a wrong answer must be known as one while the conversation goes on";
  require<ConfigError>(row.environment == nullptr,
                       fmt::format("environment.name is retry, and task.name is {}", row.name), why,
                       "choose a task that is answered in one turn");
  require<ConfigError>(config.reward.command.empty(),
                       "environment.name is retry, and reward.command is set", why,
                       "leave reward.command out, or set environment.command");
  const reward::Verifier& verifier = reward::chosen_verifier(config.reward, row.verifier);
  require<ConfigError>(
      !reward::runs_code(verifier),
      fmt::format("environment.name is retry, and the verifier {} runs programs", verifier.name),
      why, "choose another task or reward.verifier, or set environment.command");
  return std::make_unique<Retry>(reward::Grader(verifier, config.task, config.reward));
}

}  // namespace rollcall::environment
