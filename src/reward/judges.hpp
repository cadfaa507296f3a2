// The judges behind the rows of verifiers.cpp. `response` is the decoded policy text without special tokens.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"

#include <string_view>

namespace rollcall::reward {

// All return the components {correct, format}. An answer that the token limit may have cut is no answer: a response that did not finish is correct only
// where its answer visibly ended before the cut (marked_answer). White space around an answer never matters.

/// correct: the response is the reference answer. format: finished, and nothing but digits. Score::answer: the digits.
Score judge_exact_match(const Prompt& prompt, std::string_view response, bool finished, const TaskSection& section);

/// correct: the response is the reference integer, or quotient "r" remainder for a division, in its one canonical spelling (no leading zero, no plus,
/// no "-0"). format: finished and so spelt. Score::answer: the canonical text.
Score judge_integer_answer(const Prompt& prompt, std::string_view response, bool finished, const TaskSection& section);

/// The reference is "3 5 7 25=40". correct: the response is an expression (expression.hpp) of exactly that value, each given number used at most as
/// often as given and no other. format: finished and an expression. Score::answer: its value, where the numbers were used rightly.
Score judge_countdown_expression(const Prompt& prompt, std::string_view response, bool finished, const TaskSection& section);

/// correct: what follows the last task.answer_marker equals the reference after normalisation (text/answer_text.hpp: 1,050.00 is 1050).
/// format, graded so that an untrained policy's rollouts differ: the mean of the share of printable text, of having finished (0 or 1) and of giving a
/// non-empty marked answer (0 or 1). Score::answer: the normalised answer.
Score judge_marked_answer(const Prompt& prompt, std::string_view response, bool finished, const TaskSection& section);

}  // namespace rollcall::reward
