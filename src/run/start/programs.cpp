// Asks each program one question, and hashes the files that their command lines name.
#include "run/start/programs.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/json.hpp"
#include "base/time/clock.hpp"
#include "environment/chosen.hpp"
#include "environment/command/processes.hpp"
#include "reward/command/graders.hpp"
#include "run/context/derived/hints.hpp"
#include "task/task.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

/// A prompt to try programs with.
const Prompt& first_prompt(const RunContext& context) {
  const task::PromptSet& prompts = context.texts.prompts;
  return (prompts.train.empty() ? prompts.heldout : prompts.train).at(0);
}

void try_grader(const RunContext& context, reward::Spawner* spawner) {
  if (!context.grading.grader->is_command()) return;
  expect(spawner != nullptr, "a job with a command was given what starts it");
  const Prompt& prompt = first_prompt(context);
  const std::string answer = text::first_accepted(prompt.answer);
  const auto verdict = reward::try_command(*spawner, context.config.reward,
                                           {"check/0/0/0/0", prompt.text, answer, prompt.answer,
                                            context.texts.prompts.extra_of(prompt)});
  if (verdict.reply.undecided || !verdict.reply.correct)
    log_warning(
        "reward.command says of a response that is nothing but the reference answer \"{}\": {}{}",
        excerpt(answer), verdict.reply.undecided ? "no verdict" : "wrong",
        verdict.reply.reason.empty() ? "" : fmt::format(" ({})", verdict.reply.reason));
  else log_info("reward.command judged a reference answer in {:.2f} s", verdict.seconds);
}

/// The first training prompt that has help in its text, without the help and with it; nothing if no
/// prompt has help.
std::optional<std::pair<Prompt, Prompt>> helped_prompt(const RunTexts& texts) {
  if (texts.hints.as != "prompt") return std::nullopt;
  for (std::size_t i = 0; i < texts.tiers.size(); ++i) {
    const Prompt& prompt = texts.prompts.train.at(i);
    if (texts.tiers[i] > 0)
      return std::pair(with_hint(texts, prompt, 0, 0), with_hint(texts, prompt, 0, texts.tiers[i]));
  }
  return std::nullopt;
}

/// Throws ConfigError if the environment's first text leaves the policy no position.
void check_first_text(const RunContext& context, Prompt prompt, const std::string& text) {
  if (text.empty()) return;
  prompt.text = text;
  if (!prompt.conversation.empty())
    prompt.conversation =
        text::asked_last(prompt.conversation, [&](std::string_view) { return text; });
  const std::size_t tokens = context.texts.format->prompt_tokens(prompt).size();
  const std::int64_t positions = context.models.policy.max_position_embeddings;
  require<ConfigError>(
      std::int64_t(tokens) < positions,
      fmt::format(
          "environment.command begins a conversation with {} bytes, which make a prompt of {} "
          "tokens, and the model has {} positions",
          text.size(), tokens, positions),
      "no conversation would have a turn",
      "have it write a shorter \"text\", or use a model with more positions");
}

void try_environment(const RunContext& context, reward::Spawner* spawner) {
  if (context.config.environment.command.empty()) return;
  expect(spawner != nullptr, "a job with an environment's command was given what starts it");
  const Stopwatch clock;
  const auto helped = helped_prompt(context.texts);
  const Prompt& prompt = helped ? helped->first : first_prompt(context);
  const std::string text = environment::try_command(*spawner, context.config, prompt,
                                                    helped ? &helped->second : nullptr);
  check_first_text(context, prompt, text);
  log_info("environment.command answered in {:.2f} s", clock.seconds());
}

/// The files that an environment reads.
std::vector<GraderFile> find_environment_files(const EnvironmentSection& section) {
  std::vector<GraderFile> files = find_grader_files(section.command);
  if (section.command.empty() && !section.index.empty())
    files.push_back({section.index, file_checksum64(section.index)});
  return files;
}

/// The archive's description of the environment.
std::string environment_identity(const RunContext& context, const std::vector<GraderFile>& files) {
  if (!context.texts.turns) return {};
  const RunConfig& config = context.config;
  const auto traits = environment::traits_of_run(config, *context.texts.format);
  nlohmann::ordered_json said;
  const std::string name = task::built_in_environment(config);
  if (!name.empty()) said["name"] = name;
  if (name == environment::kToolsName) said["tools"] = config.environment.tools;
  if (!files.empty()) said["files"] = nlohmann::ordered_json::parse(to_json(files));
  said["components"] = traits.components, said["kinds"] = traits.kinds;
  return said.dump();
}

void tell_changes(const std::string& changes, const char* what, const char* then) {
  if (!changes.empty())
    log_warning("{} is not what it was at the last start: {}; {}", what, changes, then);
}

}  // namespace

void try_programs(const RunContext& context, const JobRequest& request) {
  try_grader(context, request.spawner);
  try_environment(context, request.environment_spawner);
}

void note_programs(RunContext& context, const CoordinatorState* before) {
  RankZero& known = context.rank_zero;
  known.graders = find_grader_files(context.config.reward.command);
  known.environment = find_environment_files(context.config.environment);
  if (before != nullptr && !before->graders.empty())
    tell_changes(changes_of(before->graders, known.graders), "the grader",
                 "answers from here on may be judged otherwise than those before");
  if (before != nullptr && !before->environment_files.empty())
    tell_changes(changes_of(before->environment_files, known.environment), "the environment",
                 "conversations from here on may go otherwise than those before");
  if (!known.graders.empty()) context.identity.grader = to_json(known.graders);
  context.identity.environment = environment_identity(context, known.environment);
}

}  // namespace rollcall::run
