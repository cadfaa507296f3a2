// Judge tasks: what the policy is asked about its own answers of the step before, made of groups
// that hold right and wrong ones.
// Source: SPARK, arXiv:2509.22624, and its released code (InternLM/Spark, new_data_gen.py):
//   verdicts on one answer or on two, and reflection on a wrong one.
#pragma once

#include "method/method.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// Throws ConfigError where the objective needs judge tasks and there are none, or cannot do with
/// them.
void check_self_judging(const RunConfig& config, const method::Objective& objective);

/// What judges verdicts: the letter or the words of an option, found in the response as the task's
/// answers are. Throws ConfigError where they never could be.
reward::Grader verdict_grader(const TaskSection& task, const reward::Verifier& of_task);

/// Tokens of the longest that is asked: a question, two answers and the words around them, and what
/// the model has room for. Longer ones are left out.
std::int64_t longest_judge_task(const RunContext& context);

/// Of the groups of a shard to be trained on; answers to judge tasks, cut ones and those without a
/// verdict are none.
std::vector<Specimen> specimens(std::uint64_t seed, const RolloutShard& shard,
                                const ScoredShard& scores);
/// One a group, ascending, from those of its fragments.
std::vector<Specimen> merged(std::vector<Specimen> specimens);

/// The judge tasks of `step`, made of the step before: up to self_judging.share of its prompts.
/// Ascending by number. A function of seed, step and specimens.
std::vector<Prompt> make_judge_tasks(const RunContext& context, std::uint64_t step,
                                     const std::vector<Specimen>& specimens);

/// One of those that a plan or a shard brings along (ascending).
const Prompt& judge_task(PromptId prompt, const std::vector<Prompt>& judge_tasks);
/// Those of `judge_tasks` (ascending) that some of the groups ask.
std::vector<Prompt> asked_by(std::span<const GroupPlan> groups,
                             const std::vector<Prompt>& judge_tasks);

/// self_judging/tasks, /verdict_accuracy, /majority_share (of the label that most tasks have) and
/// /reflection_accuracy of a step; nothing without tasks.
std::map<std::string, double> judging_metrics(const std::vector<Prompt>& judge_tasks,
                                              const std::vector<GroupReport>& reports);

}  // namespace rollcall::run
