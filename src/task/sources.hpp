// The makers behind the rows of tasks.cpp, each in the file of its name.
#pragma once

#include "task/task.hpp"

namespace rollcall::task {

// The built-in tasks' texts as the wording "plain" has them; others ask the same in words. The answer is the same.

/// "7391>" -> "1379". Level: number of digits, 1 to 64.
PromptSet make_sorting(const TaskSection& section, std::uint64_t seed);

/// "12+345=" -> "357"; "12-345=" -> "-333"; "12*345=" -> "4140"; "345/12=" -> "28r9" (quotient r remainder, "r0" included).
/// Level: digits of the larger operand, 1 to 8; the other operand has 1 to that many, each count equally likely. With task.digits, the digit count of
/// either operand is drawn from that list instead, and levels follow; task.min_level, max_level and tail_exponent then do not apply.
PromptSet make_arithmetic(const TaskSection& section, std::uint64_t seed);

/// "3 5 7 25=40:" -> "25+3*5": an expression in + - * / and parentheses that reaches 40 with each number at most once; quotients may be fractions.
/// Level: how many numbers, 3 to 6. Solvable by construction: the target is what a random expression over all the numbers gives.
/// The reference answer is the prompt without its colon.
PromptSet make_countdown(const TaskSection& section, std::uint64_t seed);

/// Questions and worked answers from files of one JSON object a line, in file order; repeated questions are dropped. The prompt is the question and a
/// line break, the solution the whole answer text, the reference answer what follows task.answer_marker. Level: lines of reasoning before
/// the marker (0 when there are none). task.min_level, max_level and tail_exponent do not apply. `seed` changes nothing.
/// Held-out prompts come from task.heldout_file, and task.file is then split in training and validation without the questions found there; without
/// one all three splits come from task.file by content.
PromptSet make_jsonl(const TaskSection& section, std::uint64_t seed);

}  // namespace rollcall::task
