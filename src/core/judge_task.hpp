// Numbers of judge tasks: prompts made of the policy's own answers (run/context/self_judging.hpp).
// They lie behind those of any task, and each occurs once in a run.
#pragma once

#include "base/id.hpp"

#include <cstdint>

namespace rollcall {

inline constexpr std::uint64_t kJudgeTasksOfAStep = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kJudgedSteps = std::uint64_t{1} << 22;
// The address of random streams has 40 bits for a prompt (run/generation/generation.hpp).
inline constexpr std::uint64_t kFirstVerdict = std::uint64_t{1} << 39;
inline constexpr std::uint64_t kFirstReflection = kFirstVerdict + kJudgeTasksOfAStep * kJudgedSteps;

inline bool is_judge_task(PromptId prompt) { return prompt.value >= kFirstVerdict; }
/// Of judge tasks: whether a verdict is the answer, or a better answer to the task's own question.
inline bool asks_verdict(PromptId prompt) {
  return is_judge_task(prompt) && prompt.value < kFirstReflection;
}
/// Number `index` of those asked in `step`.
inline PromptId verdict_task(std::uint64_t step, std::uint64_t index) {
  return {kFirstVerdict + step * kJudgeTasksOfAStep + index};
}
inline PromptId reflection_task(std::uint64_t step, std::uint64_t index) {
  return {kFirstReflection + step * kJudgeTasksOfAStep + index};
}

}  // namespace rollcall
