// Looks through the reference answers of a file before the run, because a response can only be as
// right as they are.
#pragma once

#include "core/run_config.hpp"
#include "reward/verifier.hpp"
#include "task/task.hpp"

#include <functional>
#include <string>

namespace rollcall::run {

/// A prompt, the problem with its reference, and whether the reference can be used nevertheless. If
/// it cannot be read as an answer, only the same text is right.
using EachReferenceProblem = std::function<void(const Prompt&, std::string problem, bool usable)>;
/// Goes through the references of all splits, in their order.
void each_reference_problem(const task::PromptSet& prompts, const reward::Grader& grader,
                            const EachReferenceProblem& each);

/// Throws InputError, naming lines, for references of a file with which no response can be
/// compared: one mistake for each, or a single one if most rows have such a reference, because then
/// the verifier does not fit. Warns of references that cannot be read as an answer.
void check_references(const TaskSection& section, const task::PromptSet& prompts,
                      const reward::Grader& grader);

}  // namespace rollcall::run
