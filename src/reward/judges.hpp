// The judges behind the rows of verifiers.cpp, and what they are given.
#pragma once

#include "core/rollout.hpp"
#include "text/extract.hpp"

#include <optional>
#include <string_view>

namespace rollcall::reward {

struct Response {
  std::string_view text;                  ///< decoded policy text without special tokens
  bool finished = false;                  ///< false: the token limit cut it
  std::optional<text::Extracted> answer;  ///< what the extraction found
  bool whole = true;                      ///< the answer is the response as it stands, and has to be spelt as the task asks
};

// All return the components {correct, format}. An answer that the token limit may have cut is no answer: a response that did not finish is correct only
// where its answer visibly ended before the cut (Extracted::complete). White space around an answer never matters.

/// correct: the answer is the reference. format: complete, and nothing but digits. Score::answer: the digits.
Score judge_exact_match(const Prompt& prompt, const Response& response);

/// correct: the answer is the reference integer, or quotient "r" remainder for a division, in its one canonical spelling (no leading zero, no plus,
/// no "-0"), which one found within a longer response is brought into first (1,050. is 1050). format: complete and so spelt. Score::answer: the canonical text.
Score judge_integer_answer(const Prompt& prompt, const Response& response);

/// The reference is "3 5 7 25=40". correct: the answer is an expression (expression.hpp) of exactly that value, each given number used at most as
/// often as given and no other. format: complete and an expression. Score::answer: its value, where the numbers were used rightly.
Score judge_countdown_expression(const Prompt& prompt, const Response& response);

/// correct: the answer equals the reference after normalisation (text/answer_text.hpp: 1,050.00 is 1050).
/// format, graded so that an untrained policy's rollouts differ: the mean of the share of printable text, of having finished (0 or 1) and of giving a
/// non-empty answer (0 or 1). Score::answer: the normalised answer.
Score judge_marked_answer(const Prompt& prompt, const Response& response);

/// correct: the answer and the reference are equal as mathematics (math/decide.hpp). undecided: it could not be told, and `reason` says why.
/// format: complete, and an answer was found. Score::answer: the answer as it was written.
Score judge_math_answer(const Prompt& prompt, const Response& response);

}  // namespace rollcall::reward
