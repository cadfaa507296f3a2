// The addressed draw of a form, and what the form makes of a prompt.
#include "stages/question_forms.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "core/judge_task.hpp"
#include "stages/self_judging.hpp"
#include "task/solutions.hpp"

#include <fmt/format.h>

namespace rollcall::stages {

std::size_t form_of(const Job& job, Purpose purpose, const GroupId& group) {
  if (split_of(purpose) != Split::train || job.forms.size() == 1) return 0;
  const RandomStream stream(std::uint64_t(job.config.run.seed), RandomPurpose::forms, group.step, group.prompt.value, group.draw);
  return std::size_t(stream.below(0, job.forms.size()));
}

Prompt asked(const Job& job, const Prompt& prompt, std::size_t form) {
  Prompt in_form = prompt;
  in_form.text = text::asked_in(*job.forms.at(form), prompt.text);
  in_form.solution = text::worked_in(*job.forms.at(form), task::solutions(prompt).front(), job.config.task.answer_marker);
  return in_form;
}

Prompt asked(const Job& job, Purpose purpose, const GroupId& group, const std::vector<Prompt>& judge_tasks) {
  if (is_judge_task(group.prompt)) return judge_task(group.prompt, judge_tasks);
  return asked(job, job.prompts.of(split_of(purpose)).at(group.prompt.value), form_of(job, purpose, group));
}

std::vector<io::ShardPrompt> stored_prompts(const Job& job, const RolloutShard& shard, const std::vector<Prompt>& judge_tasks) {
  std::vector<io::ShardPrompt> prompts;
  for (const Group& group : shard.groups) {
    Prompt prompt = asked(job, shard.purpose, group.id, judge_tasks);
    const bool of_task = !is_judge_task(group.id.prompt);
    std::string extra = of_task ? job.prompts.extra_of(job.prompts.of(split_of(shard.purpose)).at(group.id.prompt.value)) : "";
    std::string shown = job.format->prompt_text(prompt.text, of_task ? job.forms.at(form_of(job, shard.purpose, group.id))->opening : "");
    if (shown == prompt.text) shown.clear();
    prompts.push_back({std::move(prompt.text), std::move(prompt.answer), std::move(shown), std::move(extra)});
  }
  return prompts;
}

const std::vector<std::int32_t>& prompt_tokens(const Job& job, Purpose purpose, const GroupId& group) {
  return prompt_tokens(job, job.prompts.of(split_of(purpose)).at(group.prompt.value), form_of(job, purpose, group));
}

void check_forms(const Job& job) {
  const RunConfig& c = job.config;
  require<ConfigError>(c.objective.recipe != "prompt-augmentation-grpo" || job.forms.size() > 1,
                       fmt::format("objective.recipe is {}, and task.forms names {}", c.objective.recipe, c.task.forms.empty() ? "none" : "one form alone"),
                       "every question would always be put alike", "name some in task.forms, for example [\"boxed\", \"answer_tag\", \"think\"]");
  require<ConfigError>(c.objective.recipe != "ton-thought-dropout" || c.sft.steps == 0 || c.sft.thought_dropout > 0.0,
                       fmt::format("objective.recipe is {}, and sft.thought_dropout is 0", c.objective.recipe),
                       "the policy would never learn to leave its thought empty", "set sft.thought_dropout, 0.5 in the paper");
  if (c.task.forms.empty() || job.prompts.train.empty() || job.prompts.train.front().solution.empty()) return;
  require<ConfigError>(!reward::runs_code(reward::find_verifier(job.judge->name())), "task.forms is set for a task whose answers are programs",
                       "forms are about short answers", "leave task.forms out");
  for (std::size_t form = 0; form < job.forms.size(); ++form) {
    const Prompt prompt = asked(job, job.prompts.train.front(), form);
    const Score score = job.judge->score(prompt, prompt.solution, true);
    require<ConfigError>(score.correct || score.undecided,
                         fmt::format("the worked answer \"{}\" in the form {} of task.forms is judged wrong", excerpt(prompt.solution), job.forms[form]->name),
                         "no answer in that form could be right", "leave the form out, or choose another task or verifier");
  }
}

}  // namespace rollcall::stages
