// How much memory the prompts and examples of a run take.
#pragma once

#include "run/context/run_context.hpp"
#include "sizing/memory.hpp"

namespace rollcall::run {

/// Adds the bytes of the job's prompts, their tokens and its examples to `given`.
void count_bytes(const RunContext& context, sizing::GivenTexts& given);

}  // namespace rollcall::run
