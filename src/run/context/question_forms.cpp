// Draws forms at their addresses and asks prompts in them.
#include "run/context/question_forms.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "core/judge_task.hpp"
#include "run/context/self_judging.hpp"
#include "task/solutions.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

namespace rollcall::run {

std::size_t form_of(const RunContext& context, Purpose purpose, const GroupId& group) {
  if (split_of(purpose) != Split::train || context.forms.size() == 1) return 0;
  const RandomStream stream(std::uint64_t(context.config.run.seed), RandomPurpose::forms,
                            group.step, group.prompt.value, group.draw);
  return std::size_t(stream.below(0, context.forms.size()));
}

Prompt question_in(const text::AnswerForm& form, const Prompt& prompt) {
  Prompt question;
  question.text = text::asked_in(form, prompt.text);
  if (!prompt.conversation.empty())
    question.conversation = text::asked_last(
        prompt.conversation, [&](std::string_view said) { return text::asked_in(form, said); });
  return question;
}

Prompt asked(const RunContext& context, const Prompt& prompt, std::size_t form) {
  Prompt in_form = prompt;
  Prompt question = question_in(*context.forms.at(form), prompt);
  in_form.text = std::move(question.text), in_form.conversation = std::move(question.conversation);
  in_form.solution = text::worked_in(*context.forms.at(form), task::solutions(prompt).front(),
                                     context.config.task.answer_marker);
  return in_form;
}

Prompt asked(const RunContext& context, Purpose purpose, const GroupId& group,
             const std::vector<Prompt>& judge_tasks) {
  if (is_judge_task(group.prompt)) return judge_task(group.prompt, judge_tasks);
  return asked(context, context.prompts.of(split_of(purpose)).at(group.prompt.value),
               form_of(context, purpose, group));
}

std::vector<io::ShardPrompt> stored_prompts(const RunContext& context, const RolloutShard& shard,
                                            const std::vector<Prompt>& judge_tasks) {
  std::vector<io::ShardPrompt> prompts;
  for (const Group& group : shard.groups) {
    Prompt prompt = asked(context, shard.purpose, group.id, judge_tasks);
    const bool of_task = !is_judge_task(group.id.prompt);
    std::string extra =
        of_task ? context.prompts.extra_of(
                      context.prompts.of(split_of(shard.purpose)).at(group.id.prompt.value))
                : "";
    std::string shown = context.format->prompt_text(
        prompt,
        of_task ? context.forms.at(form_of(context, shard.purpose, group.id))->opening : "");
    if (shown == prompt.text) shown.clear();
    prompts.push_back(
        {std::move(prompt.text), std::move(prompt.answer), std::move(shown), std::move(extra)});
  }
  return prompts;
}

const std::vector<std::int32_t>& prompt_tokens(const RunContext& context, Purpose purpose,
                                               const GroupId& group) {
  return prompt_tokens(context, context.prompts.of(split_of(purpose)).at(group.prompt.value),
                       form_of(context, purpose, group));
}

void check_forms(const RunContext& context) {
  const RunConfig& c = context.config;
  if (c.task.forms.empty() || context.prompts.train.empty() ||
      context.prompts.train.front().solution.empty())
    return;
  require<ConfigError>(!reward::runs_code(reward::find_verifier(context.grader->name())),
                       "task.forms is set for a task whose answers are programs",
                       "forms are about short answers", "leave task.forms out");
  for (std::size_t form = 0; form < context.forms.size(); ++form) {
    const Prompt prompt = asked(context, context.prompts.train.front(), form);
    const Score score = context.grader->score(prompt, prompt.solution, true);
    require<ConfigError>(
        score.correct || score.undecided,
        fmt::format("the worked answer \"{}\" in the form {} of task.forms is judged wrong",
                    excerpt(prompt.solution), context.forms[form]->name),
        "no answer in that form could be right",
        "leave the form out, or choose another task or verifier");
  }
}

}  // namespace rollcall::run
