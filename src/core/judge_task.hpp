// Numbers of judge tasks, which are prompts made of the policy's own answers
// (run/context/self_judging.hpp). They are larger than the number of any prompt of a task, and each
// number is used once in a run.
#pragma once

#include "base/numbers/id.hpp"

#include <cstdint>

namespace rollcall {

inline constexpr std::uint64_t kJudgeTasksOfAStep = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kJudgedSteps = std::uint64_t{1} << 22;
// The address of a random stream has 40 bits for a prompt (run/generation/generation.hpp).
inline constexpr std::uint64_t kFirstVerdict = std::uint64_t{1} << 39;
inline constexpr std::uint64_t kFirstReflection = kFirstVerdict + kJudgeTasksOfAStep * kJudgedSteps;

inline bool is_judge_task(PromptId prompt) { return prompt.value >= kFirstVerdict; }
/// Whether a prompt is a judge task whose answer is a verdict. The other judge tasks ask for a
/// better answer to the task's question.
inline bool asks_verdict(PromptId prompt) {
  return is_judge_task(prompt) && prompt.value < kFirstReflection;
}
/// The number of the judge task with this index among those of `step` that ask for a verdict.
inline PromptId verdict_task(std::uint64_t step, std::uint64_t index) {
  return {kFirstVerdict + step * kJudgeTasksOfAStep + index};
}
inline PromptId reflection_task(std::uint64_t step, std::uint64_t index) {
  return {kFirstReflection + step * kJudgeTasksOfAStep + index};
}

}  // namespace rollcall
