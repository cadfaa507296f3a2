// The functions named in the rows of tasks.cpp, each in the file of the same name.
#pragma once

#include "task/task.hpp"

namespace rollcall::task {

// The built-in tasks' texts in the wording "plain". Other wordings ask the same in words, with the
// same answer.

/// "7391>" -> "1379". Level: number of digits, 1 to 64.
PromptSet make_sorting(const TaskSection& section, std::uint64_t seed);

/// "12+345=" -> "357"; "12-345=" -> "-333"; "12*345=" -> "4140"; "345/12=" -> "28r9" (quotient r
/// remainder, "r0" included).
/// Level: digits of the larger operand, 1 to 8; the other operand has between 1 and this number of
/// digits, all equally likely. With task.digits, the digit count of either operand is drawn from
/// that list instead, and levels follow; task.min_level, max_level and tail_exponent then do not
/// apply.
PromptSet make_arithmetic(const TaskSection& section, std::uint64_t seed);

/// "3 5 7 25=40:" -> "25+3*5": an expression in + - * / and parentheses that gives 40 with each
/// number used at most once; quotients may be fractions. Level: number of numbers, 3 to 6. Every
/// prompt can be solved, because the target is the value of a random expression over all the
/// numbers. The reference answer is the prompt without its colon.
PromptSet make_countdown(const TaskSection& section, std::uint64_t seed);

/// "+3*2-1>" -> "def f(x):return ((x+3)*2)-1": a function that does these operations in this order.
/// Level: number of operations, 1 to 8. The reference is five asserts; any code that passes them is
/// right.
PromptSet make_code(const TaskSection& section, std::uint64_t seed);

// The tasks below have references in the form expected by the verifiers in their rows
// (reward/graders.hpp).

/// "think,answer=cd:" -> "<think>so</think><answer>cd</answer>": a section with no = holds any
/// text. Level: number of sections, 1 to 8.
PromptSet make_tags(const TaskSection& section, std::uint64_t seed);

/// "a=3+4,b=xy,c=3<5:" -> {"a":7,"b":"xy","c":true}. Level: number of values, 1 to 12; sums at
/// level 1, strings from 2, booleans from 3, lists from 4, a nested object from 5.
PromptSet make_json(const TaskSection& section, std::uint64_t seed);

/// "number_words 5 at least;no_comma:" -> a text that follows both. Level: number of instructions,
/// 1 to 8, of the kinds in task/instruction_kinds.cpp.
PromptSet make_instructions(const TaskSection& section, std::uint64_t seed);

/// "max A7 B9 C3:" -> "B"; "7+5 A11 B12:", "min ...", "next 2 5 8 ...". Level: number of options, 2
/// to 10; numbers grow with it. Domain: largest, smallest, sum, next.
PromptSet make_multiple_choice(const TaskSection& section, std::uint64_t seed);

/// "pe fig ap:" -> "ap fig pe". Level: number of words, 2 to 12; they have between 2 and 2 + level
/// / 3 letters.
PromptSet make_word_sorting(const TaskSection& section, std::uint64_t seed);

/// "sp 4 AB BC CD A>C:" -> "ABC": family, number of nodes, edges, what is asked. Level: number of
/// nodes, 3 to 12. Domain: the family.
/// cc: nodes that can be reached from one; sp: a shortest path; cy: a cycle or none; to: a
/// topological order; dg: edges at a node; tr: triangles; mf: maximum flow, where edges have
/// capacities (AB3). Edges in to and mf are directed.
PromptSet make_graph(const TaskSection& section, std::uint64_t seed);

/// "A:BN B:A=C C:1K>" -> "KNK": A says that B is a knave, B says that A and C are of one kind (#:
/// of different kinds), and C says that exactly one of all people is a knight. Level: number of
/// people, 2 to 8. Exactly one assignment fits the statements.
PromptSet make_knights_knaves(const TaskSection& section, std::uint64_t seed);

/// "2.5km=m:" -> "2500". Level: 1 to 12. Values have up to 2 + level / 3 digits, and higher levels
/// have more units. Domain: the dimension. Answers are exact decimals.
PromptSet make_units(const TaskSection& section, std::uint64_t seed);

// The tasks below are played in the environments of the same names (src/environment/worlds). Their
// prompts show how a conversation begins, and their solutions are the first action of a good one.
// The wording "question" puts the rules before the plain text. The largest possible reward is 1 in
// all of them except bandit.

/// ".k#../@.D../..#.G>" -> "up": a map of two rooms with the player at @, a key, a door and a goal.
/// Level n, 1 to 10: rooms of n + 1 rows and n columns. Reference: the position
/// (task/worlds/grid.hpp).
PromptSet make_key_door(const TaskSection& section, std::uint64_t seed);

/// ".a.#..G/@..A.../...#...>" -> "up": rooms of 3 by 3 cells in a row, with doors A, B, ... between
/// them. Level: number of rooms, 2 to 7. The key to a door, its lower-case letter, is in a room
/// before it, and the solution is a step towards the first one. Reference: the position.
PromptSet make_rooms(const TaskSection& section, std::uint64_t seed);

/// "@~O/~~~/O~G>" -> "right": a lake of firm ice (.) or slippery ice (~) with holes (O). Level: the
/// length of its side, 2 to 10. Domain: firm, slippery. Reference: the position.
PromptSet make_frozen_lake(const TaskSection& section, std::uint64_t seed);

/// "ba 0/0 ko 0/0 8>" -> "ba": machines, each with its numbers of payments and pulls, and the pulls
/// left. Level: number of machines, 2 to 10, with four pulls for each. Reference: {"arms": [...],
/// "pulls": 8}; the start of a conversation draws which machine is the best.
PromptSet make_bandit(const TaskSection& section, std::uint64_t seed);

/// "src hgo: 2>" -> "s": things with a size, a colour and a shape, and the questions left. Level:
/// number of things, 2 to 16, with just enough questions for splitting them evenly. Reference:
/// {"things": [...], "questions": 2}; the start of a conversation draws the thing that is meant.
PromptSet make_twenty_questions(const TaskSection& section, std::uint64_t seed);

/// "12-18: 3>" -> "15": the bounds of a number, and the guesses left. Level n, 2 to 12: n guesses
/// among 2^n - 1 numbers, and halving finds the number in time. Reference: {"low": 12, "high": 18,
/// "guesses": 3}; the start of a conversation draws the number.
PromptSet make_number_dialogue(const TaskSection& section, std::uint64_t seed);

/// "red huge mug: 1 pot 2 mug>" -> "click[2]": a wish, and the things in a shop. Level: number of
/// things, 2 to 12. Reference: {"wish": ["red", "huge", "mug"], "kinds": [...]}; the start of a
/// conversation draws colours and sizes, and one thing matches the wish exactly.
PromptSet make_shop(const TaskSection& section, std::uint64_t seed);

/// "city=oslo name=ann: name= city=>" -> "fill[name=ann]": the values to be entered, and a form.
/// Level: number of fields, 1 to 12. Reference: the state, {"fields": [...], "wanted": [...],
/// "filled": [...]}.
PromptSet make_forms(const TaskSection& section, std::uint64_t seed);

/// The question for a countdown in words, with the rules and the form of an answer, which the plain
/// text leaves out. Its example cannot occur as a prompt.
std::string countdown_question(const std::vector<std::int64_t>& numbers, std::int64_t target);

/// Questions and answers from files (task/rows/file_task.hpp). `seed` changes nothing.
PromptSet make_file_task(const TaskSection& section, std::uint64_t seed);
/// From a text file with an empty line between documents: "3+4=7. 7+2=9.>" -> "9+5=14.", its next
/// sentence, or "3+4=7. _ 9+5=14.>" -> "7+2=9.", the missing sentence. An addressed draw decides
/// which of the two is asked. Every sentence of a document from task.min_level on is asked for
/// once, with the task.max_level sentences before it, or with all of them if there are fewer.
/// Level: number of sentences shown before it. Domain: next, middle. Whole documents belong to one
/// split. Reference: {"next": [the sentences from there on], "masked": false}.
PromptSet make_corpus(const TaskSection& section, std::uint64_t seed);

/// The FILE:LINE from which make_file_task() made each prompt with one of these texts, in the order
/// of `prompts`; empty for a text found in no row. Each file is read once.
std::vector<std::string> places_of(const TaskSection& section,
                                   const std::vector<std::string>& prompts);

}  // namespace rollcall::task
