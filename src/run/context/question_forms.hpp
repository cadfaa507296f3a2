// The form in which a question is asked (Prompt Augmentation, arXiv:2602.03190). A run with several
// task.forms draws one each time it draws a training question, for the whole group.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "reward/verifier.hpp"
#include "run/context/run_texts.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::run {

/// Index of the form in RunTexts::forms. Training groups and their greedy baselines draw it
/// uniformly, by an addressed random number; evaluations take the first form.
std::size_t form_of(const RunTexts& texts, Purpose purpose, const GroupId& group);

/// The question of a prompt in a form: its text and its conversation, without answer and solution.
Prompt question_in(const text::AnswerForm& form, const Prompt& prompt);
/// A prompt of the task as it is asked in a form: its text and its worked solution. Answers are
/// graded by the returned prompt, and the archive stores it.
Prompt asked(const RunTexts& texts, const Prompt& prompt, std::size_t form);

/// The tokens of a prompt of the task as the policy sees it in a form.
const std::vector<std::int32_t>& prompt_tokens(const RunTexts& texts, const Prompt& prompt,
                                               std::size_t form);
/// Throws ConfigError where the verifier would give a worked solution of the task no full marks in
/// one of the forms.
void check_forms(const RunConfig& config, const RunTexts& texts, const reward::Grader& grader);

}  // namespace rollcall::run
