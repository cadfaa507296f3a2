// In which of task.forms a question is put (Prompt Augmentation, arXiv:2602.03190): drawn anew each
// time a training question is drawn, for its whole group.
#pragma once

#include "io/shard_file.hpp"
#include "run/context/run_context.hpp"

#include <vector>

namespace rollcall::run {

/// Place among RunContext::forms: uniform by an addressed draw for training groups and their greedy
/// baselines; evaluations take the first.
std::size_t form_of(const RunContext& context, Purpose purpose, const GroupId& group);

/// A prompt of the job as it is asked in a form: its text and its worked solution. What answers are
/// judged by, and what the archive stores.
Prompt asked(const RunContext& context, const Prompt& prompt, std::size_t form);
/// Judge tasks, which a plan or a shard brings along (ascending), are asked as they stand.
Prompt asked(const RunContext& context, Purpose purpose, const GroupId& group,
             const std::vector<Prompt>& judge_tasks = {});

/// The prompts of a shard as the archive keeps them.
std::vector<io::ShardPrompt> stored_prompts(const RunContext& context, const RolloutShard& shard,
                                            const std::vector<Prompt>& judge_tasks);

/// Tokens of the same, with the form's opening: as the policy sees it.
const std::vector<std::int32_t>& prompt_tokens(const RunContext& context, Purpose purpose,
                                               const GroupId& group);

/// Throws ConfigError where a worked solution of the task would be judged wrong in a form.
void check_forms(const RunContext& context);

}  // namespace rollcall::run
