// Looks through the reference answers of a file before the run, because a response can only be as
// right as they are.
#pragma once

#include "core/run_config.hpp"
#include "reward/verifier.hpp"
#include "task/task.hpp"

namespace rollcall::run {

/// Throws InputError, naming lines, for references of a file with which no response can be
/// compared: one mistake for each, or a single one where most rows have such a reference, since the
/// verifier does not fit then. Warns of those that cannot be read as an answer.
void check_references(const TaskSection& section, const task::PromptSet& prompts,
                      const reward::Grader& grader);

}  // namespace rollcall::run
