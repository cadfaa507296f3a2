// A worked solution as tokens of the policy's vocabulary, with the verifier's verdict.
#include "run/update/experts.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "core/derived_prompt.hpp"
#include "method/columns.hpp"
#include "run/context/more_positions.hpp"
#include "run/context/question_forms.hpp"
#include "run/context/run_texts.hpp"
#include "run/context/stored_prompts.hpp"
#include "task/solutions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

std::vector<std::int32_t> solution_tokens(const RunTexts& texts, const Prompt& asked,
                                          std::size_t form) {
  const auto example = texts.format->supervised(asked, asked.solution, texts.forms[form]->opening);
  return {example.tokens.begin() + std::ptrdiff_t(example.learnt.front().first),
          example.tokens.end()};
}

/// The prompt in a form, with one of the task's worked solutions, the one with index `teacher`.
Prompt asked_by(const RunTexts& texts, const Prompt& prompt, std::size_t form,
                std::size_t teacher) {
  Prompt in_form = asked(texts, prompt, form);
  in_form.solution = text::worked_in(*texts.forms.at(form), task::solutions(prompt).at(teacher),
                                     texts.answer_marker);
  return in_form;
}

Rollout expert_rollout(const RunTexts& texts, const Prompt& asked, std::size_t form,
                       PolicyVersion policy) {
  auto tokens = solution_tokens(texts, asked, form);
  const std::size_t count = tokens.size();
  Rollout rollout{kExpertSample, FinishReason::stop, {}, asked.solution};
  rollout.turns.push_back({Role::prompt, prompt_tokens(texts, asked, form)});
  rollout.turns.push_back({Role::policy,
                           std::move(tokens),
                           {std::vector<float>(count, 0.0F), std::vector<float>(count, 0.0F)},
                           std::vector<std::uint64_t>(count, policy.value)});
  return rollout;
}

}  // namespace

void check_experts(const RunConfig& config, const method::Objective& objective) {
  const auto columns = objective.columns();
  const bool told_apart =
      std::find(columns.begin(), columns.end(), method::column::expert) != columns.end();
  require<ConfigError>(
      !told_apart || config.experts.share > 0.0,
      fmt::format("objective.recipe {} learns from an expert's rollouts, but experts.share is 0",
                  config.objective.recipe),
      "without them it would be a different method",
      "set experts.share, for example 1 for one worked solution a group");
  require<ConfigError>(
      told_apart || config.experts.share == 0.0,
      fmt::format(
          "experts.share is {}, but objective.recipe {} does not tell an expert's rollouts from its own",
          config.experts.share, config.objective.recipe),
      "it would treat answers that the policy never gave as sampled",
      "choose a recipe that reads the column expert (rollcall recipes NAME), or set experts.share=0");
}

void check_solutions(const RunConfig& config, const RunTexts& texts, std::int64_t positions) {
  if (config.experts.share == 0.0) return;
  for (const Prompt& prompt : texts.prompts.train) {
    require<ConfigError>(
        !prompt.solution.empty(),
        fmt::format("prompt {} of the task has no worked solution", prompt.id.value),
        "an expert's rollout is made from it", "use another task, or a recipe without experts");
    const std::size_t teachers = task::solutions(prompt).size();
    for (std::size_t i = 0; i < texts.forms.size() * teachers; ++i) {
      const std::size_t form = i / teachers;
      const auto tokens =
          prompt_tokens(texts, prompt, form).size() +
          solution_tokens(texts, asked_by(texts, prompt, form, i % teachers), form).size();
      require<ConfigError>(
          std::int64_t(tokens) <= positions,
          fmt::format("prompt {} and its worked solution have {} tokens, the model {} positions",
                      prompt.id.value, tokens, positions),
          "an expert's rollout is trained on whole", more_positions(config, std::int64_t(tokens)));
    }
  }
}

void add_experts(StepBatch& batch, const RunConfig& config, const RunTexts& texts,
                 const reward::Grader& grader, std::uint64_t step) {
  for (std::size_t g = 0; g < fresh_groups(batch); ++g) {
    Group& group = batch.groups[g];
    // No worked solution is known for foreign prompts, and derived groups ask other questions.
    if (is_foreign(group.id.prompt) || !is_plain(group.id, group.from)) continue;
    const RandomStream stream(std::uint64_t(config.run.seed), RandomPurpose::experts, step,
                              group.id.prompt.value, group.id.draw);
    if (stream.uniform(0) >= config.experts.share) continue;
    const Prompt& plain = texts.prompts.train.at(group.id.prompt.value);
    const std::size_t form = form_of(texts, Purpose::train, group.id);
    const Prompt prompt =
        asked_by(texts, plain, form, std::size_t(stream.below(1, task::solutions(plain).size())));
    group.rollouts.push_back(expert_rollout(texts, prompt, form, batch.policy));
    batch.scores[g].push_back(grader.score(prompt, prompt.solution, true));
  }
}

}  // namespace rollcall::run
