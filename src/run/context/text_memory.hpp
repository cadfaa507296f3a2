// The memory that the prompts and examples of a run need.
#pragma once

#include "run/context/run_texts.hpp"
#include "sizing/memory.hpp"

namespace rollcall::run {

/// Adds the bytes of the prompts, of their tokens and of the examples to `given`.
void count_bytes(const RunTexts& texts, sizing::GivenTexts& given);

}  // namespace rollcall::run
