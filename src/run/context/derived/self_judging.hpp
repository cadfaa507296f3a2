// Judge tasks: questions to the policy about its own answers of the step before. They are made of
// groups with right and wrong answers.
// Source: SPARK, arXiv:2509.22624, and its released code (InternLM/Spark, new_data_gen.py):
// verdicts on one answer or on two, and reflection on a wrong one.
#pragma once

#include "core/derived_prompt.hpp"
#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "reward/verifier.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::run {

/// Throws ConfigError where the objective needs judge tasks and the run makes none, or where it
/// cannot train on them and the run makes some.
void check_self_judging(const RunConfig& config, const method::Objective& objective);

/// The grader of the verdicts that the policy gives. It looks for the letter or the words of an
/// option where it looks for the task's answers. Throws ConfigError where it could never find them.
reward::Grader verdict_grader(const TaskSection& task, const reward::Verifier& of_task);

/// Tokens of the longest judge task: a question, two answers and the words around them, at most
/// what the model has room for. Longer tasks are left out.
/// `positions`: how many tokens the policy can read (ModelConfig::max_position_embeddings).
std::int64_t longest_judge_task(const RunConfig& config, const RunTexts& texts,
                                std::int64_t positions);

/// Specimens of the groups of a shard that is trained on. Answers to judge tasks, answers that were
/// cut off and answers without a verdict are left out.
std::vector<Specimen> specimens(std::uint64_t seed, const RolloutShard& shard,
                                const ScoredShard& scores);
/// Merges the specimens of the fragments of each group; ascending by group.
std::vector<Specimen> merged(std::vector<Specimen> specimens);

/// The judge tasks of `step`, made of specimens of the step before it: at most self_judging.share
/// of the step's prompts, ascending by number. They are a function of seed, step and specimens.
std::vector<DerivedPrompt> make_judge_tasks(const RunConfig& config, const RunTexts& texts,
                                            std::int64_t positions, std::uint64_t step,
                                            const std::vector<Specimen>& specimens);

/// The metrics self_judging/tasks, /verdict_accuracy, /majority_share (the share of the label that
/// most tasks have) and /reflection_accuracy of a step; empty without judge tasks. Other derived
/// prompts, and reports on other groups, do not count.
std::map<std::string, double> judging_metrics(const std::vector<DerivedPrompt>& derived,
                                              const std::vector<GroupReport>& reports);

}  // namespace rollcall::run
