// The buffer of histories: answers of earlier steps from which some prompts of a step continue.
// Source: ExIt (Bootstrapping Task Spaces for Self-Improvement), arXiv:2509.04575: histories are
// drawn with chances that follow the variance of their groups' rewards.
#pragma once

#include "core/derived_prompt.hpp"
#include "core/plan.hpp"
#include "run/checkpoint/history.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::run {

/// The buffer after a step. A history that was continued (`asked`) gets the variance of that group.
/// Every group with varying rewards adds its wrong answer with the lowest sample number, whether it
/// is a group of the task or a continuation. If there are more than second_pass.buffer_size, those
/// with the smallest variance leave, and the latest of equal ones first. The result ascends by
/// parent and sample. `specimens`: merged; `reports`: of all groups of the step; both ascend by
/// group. A variance is that of the population.
std::vector<History> with_step(std::vector<History> histories, const RunConfig& config,
                               const RunTexts& texts, const std::vector<DerivedPrompt>& asked,
                               const std::vector<Specimen>& specimens,
                               const std::vector<GroupReport>& reports);

/// The prompts of `step` that continue from histories: at most second_pass.buffer of its prompts,
/// drawn without replacement in proportion to the variances, ascending by number. The text is
/// second_pass.refinement without feedback. Prompts that are too long for the model are left out.
/// They are a function of seed, step and histories. `positions`: how many tokens the policy can
/// read.
std::vector<DerivedPrompt> continuations(const std::vector<History>& histories,
                                         const RunConfig& config, const RunTexts& texts,
                                         std::int64_t positions, std::uint64_t step);

}  // namespace rollcall::run
