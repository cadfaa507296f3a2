// How much memory the prompts and examples of a run take.
#pragma once

#include "stages/job.hpp"
#include "stages/memory.hpp"

namespace rollcall::stages {

/// Adds the bytes of the job's prompts, their tokens and its examples to `given`.
void count_bytes(const Job& job, GivenTexts& given);

}  // namespace rollcall::stages
