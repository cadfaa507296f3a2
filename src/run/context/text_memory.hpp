// The memory that the prompts and examples of a run need.
#pragma once

#include "run/context/run_context.hpp"
#include "sizing/memory.hpp"

namespace rollcall::run {

/// Adds the bytes of the prompts, of their tokens and of the examples to `given`.
void count_bytes(const RunContext& context, sizing::GivenTexts& given);

}  // namespace rollcall::run
