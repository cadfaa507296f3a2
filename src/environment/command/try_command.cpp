// A conversation of one turn, before anything is trained.
#include "environment/command/processes.hpp"

#include "base/errors/error.hpp"
#include "reward/command/json_line.hpp"
#include "reward/command/message.hpp"

#include <fmt/format.h>

#include <mutex>

namespace rollcall::environment {
namespace {

constexpr double kLook_s = 0.25;

Answer await(Partner& partner, const Talk& talk) {
  AnswerQueue queue;
  if (auto answer = partner.ask(talk, 0, queue)) return *std::move(answer);
  for (;;)
    if (auto answers = queue.take(kLook_s); !answers.empty())
      return std::move(answers.front().second);
}

}  // namespace

std::string try_command(reward::Spawner& spawner, const RunConfig& config, const Prompt& prompt,
                        const Prompt* helped) {
  const EnvironmentSection& section = config.environment;
  if (!section.sandbox) (void)spawner.end(spawner.start(section.command).pid);
  RunConfig alone = config;
  alone.environment.processes = 1;
  std::string errors;
  std::mutex mutex;
  const auto partner =
      section.sandbox
          ? make_confined(alone)
          : make_processes(
                spawner, alone, {.errors = [&](std::size_t, std::string_view bytes) {
                  const std::lock_guard lock(mutex);
                  if (errors.size() < reward::kLongestReason)
                    errors.append(bytes.substr(0, reward::kLongestReason - errors.size()));
                }});
  Talk talk;
  talk.id = "try/0/0/0/0", talk.prompt = &prompt, talk.seeds = {1, 2};
  const auto demand = [&](const Answer& answer, const char* what, const std::string& wrong) {
    if (answer.loss == Loss::none && wrong.empty()) return;
    partner->close(talk);
    const std::lock_guard lock(mutex);
    std::string command;
    for (const auto& word : section.command) command += (command.empty() ? "" : " ") + word;
    require<ConfigError>(
        false,
        fmt::format("environment.command ({}) does not answer a {} as it must: {}", command, what,
                    answer.loss == Loss::none ? wrong : answer.reason),
        "it was asked before anything is trained",
        answer.loss == Loss::none
            ? "answer a reset with id, state and text alone: reward, done and correct are for steps"
        : errors.empty()
            ? "it must write one JSON object a line, with id, state and text, and flush it (docs/guide/environments.md)"
            : fmt::format("it wrote to standard error: {}", errors));
  };
  Answer answer = await(*partner, talk);
  demand(answer, "reset", wrong_start(answer));
  std::string first = answer.text;
  if (helped != nullptr) {
    Talk other = talk;
    other.id = "try/0/0/0/1", other.prompt = helped;
    const Answer with = await(*partner, other);
    partner->close(other);
    demand(with, "reset", wrong_start(with));
    require<ConfigError>(
        with.text.empty() || with.text != answer.text,
        fmt::format("environment.command begins a prompt with help as it does without: {}",
                    reward::shown_line(with.text)),
        "the scheduler asks again with help, which the policy would not see",
        "have it show the \"prompt\" of the reset line, or answer with an empty \"text\", or set "
        "hints.as=beginning");
  }
  talk.said = {answer.text}, talk.state = answer.state, talk.actions = {"?"};
  require<ConfigError>(answer.state || section.forks.empty(),
                       "environment.command keeps its states to itself",
                       "environment.forks begins conversations in the states of others",
                       "have it hand out its state, or unset environment.forks");
  answer = await(*partner, talk);
  if (answer.loss != Loss::told) demand(answer, "step", "");
  partner->close(talk);
  return first;
}

}  // namespace rollcall::environment
