// The prompts and examples of a run as tokens.
#pragma once

#include "run/context/run_context.hpp"
#include "task/examples.hpp"

namespace rollcall::run {

/// Fills the tokens of all prompts, and of the examples that supervised steps draw from, into the
/// context. Throws ConfigError or InputError where a text does not fit the model or the chat
/// template.
void fill_texts(RunContext& context, const task::ExampleSet& examples);

}  // namespace rollcall::run
