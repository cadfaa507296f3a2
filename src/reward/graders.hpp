// The judges behind the rows of verifiers.cpp, and what they are given.
#pragma once

#include "core/rollout.hpp"
#include "text/answer/extract.hpp"

#include <optional>
#include <string_view>

namespace rollcall::reward {

struct Response {
  std::string_view text;                  ///< what the policy said, without its end token
  bool finished = false;                  ///< false: the token limit cut it
  std::optional<text::Extracted> answer;  ///< what the extraction found
  bool whole = true;  ///< the answer is the response as it stands, and has to be spelt as the task
                      ///< asks
};

// All return the components {correct, format} first, in [0, 1], some more behind them. An answer
// that the token limit may have cut is no answer: a response that did not finish is correct only
// where its answer visibly ended before the cut (Extracted::complete). White space around an answer
// never matters.

/// correct: the answer is the reference. format: complete, and nothing but digits. Score::answer:
/// the digits.
Score judge_exact_match(const Prompt& prompt, const Response& response);

/// correct: the answer is the reference integer, or quotient "r" remainder for a division, in its
/// one canonical spelling (no leading zero, no plus, no "-0") but for thousands commas and U+2212;
/// one found within a longer response is brought into
/// it first (1,050. is 1050). format: complete and so spelt. Score::answer: the canonical text.
Score judge_integer_answer(const Prompt& prompt, const Response& response);

/// The reference is "3 5 7 25=40". correct: the answer is an expression (expression.hpp) of exactly
/// that value, each given number used at most as often as given and no other. format: complete and
/// an expression. Score::answer: its value, where the numbers were used rightly.
Score judge_countdown_expression(const Prompt& prompt, const Response& response);

/// correct: the answer equals the reference after normalisation (text/answer/answer_text.hpp:
/// 1,050.00 is 1050), marks around a number and remarks behind it aside. format, graded so that an
/// untrained policy's rollouts differ: the mean of the share of printable text, of having finished
/// (0 or 1) and of giving a non-empty answer (0 or 1). Score::answer: the normalised answer.
Score judge_marked_answer(const Prompt& prompt, const Response& response);

/// correct: the answer and the reference are equal as mathematics (math/decide.hpp). undecided: it
/// could not be told, and `reason` says why.
/// format: complete, and an answer was found. Score::answer: the answer as it was written.
Score judge_math_answer(const Prompt& prompt, const Response& response);
// The verifiers below say why an answer is not correct (Score::reason). Where the reference is a
// JSON object, it is shown; one that cannot be used throws InputError.

/// {"tags": [["think", null], ["answer", "42"]]}: sections <think>...</think> and so on; null: the
/// content is free, but not empty. format: these sections in this order, none within another,
/// nothing but white space around. structure: share of the tags that are opened once, closed once
/// after that, and hold something.
/// content: share of the given contents that stand in their tags; without any, as structure.
/// correct: all of it. Score::answer: what the last tag holds.
Score judge_tag_structure(const Prompt& prompt, const Response& response);

/// {"schema": {...}, "value": ...}, value optional. The components of RL-Struct (arXiv:2512.00319):
/// format: the answer is JSON and nothing else; validity: it holds JSON;
/// structure: share of the schema's demands that are met (json_schema.hpp); correctness: share of
/// the value's leaves that stand at their places; length: 1 up to twice the bytes of the value
/// written compactly, their share beyond. correct: JSON alone that meets every demand and equals
/// the value. A member twice is no JSON here.
Score judge_json(const Prompt& prompt, const Response& response);

/// {"instruction_id_list": [...], "kwargs": [...]} as in IFEval's input file
/// (instruction_checks.hpp). followed: share of the instructions that are followed;
/// correct: all are (IFEval's strict accuracy by prompt). format: the answer is not empty.
/// Score::answer is empty: texts are no votes.
Score judge_instructions(const Prompt& prompt, const Response& response);

/// {"answer": "B", "options": ["11", "12", "13"]}. format: one option is named, by its letter ("B",
/// "(b)", "B.", "The answer is B") or its text. Score::answer: the letter.
Score judge_multiple_choice(const Prompt& prompt, const Response& response);

/// "apple fig pear". format: these words, each as often. placed: share of the places that hold the
/// right word, of the longer list.
Score judge_word_order(const Prompt& prompt, const Response& response);

/// {"family": ..., "nodes": n, "edges": ["AB", ...], "answer": ...}; nodes are the letters from A
/// on. Families and answers: connected_component (the nodes of one, partial: their overlap |A & B|
/// / |A | B|), shortest_path (from and to; any shortest path is right, partial: shortest / length
/// of a path), cycle (any, or "none"; partial: share of steps that are edges), topological_order
/// (null; any, partial: share of edges that lead onwards), degree, triangles, max_flow (the
/// number). format: nodes or a number.
Score judge_graph(const Prompt& prompt, const Response& response);

/// "KNK": A and C are knights, B is a knave. The same as the answer, or "A is a knight, B and C are
/// knaves". partial: share of people called rightly, where all are called something once (format).
Score judge_knights_knaves(const Prompt& prompt, const Response& response);

/// {"value": "2500", "unit": ["m", "metre"]}: decimals, fractions and thousands commas, with one of
/// the spellings of the unit or none (format). correct: exactly the value. closeness: 1 - relative
/// error, not below 0. Score::answer: the value as a fraction in lowest terms.
Score judge_quantity(const Prompt& prompt, const Response& response);

/// {"next": ["It rains.", "We stay."], "masked": false}: the sentences from a place of a text on
/// (RLPT's prefix reward, arXiv:2509.19249, by words). correct: the answer is a beginning of them,
/// at least half as long as the first; the last word's punctuation may be missing. format: not
/// empty. closeness: 1 - edit distance in words to the nearest such beginning, over the longer.
/// masked: the question showed what stands behind, too; says what was asked, not how well.
Score judge_continuation(const Prompt& prompt, const Response& response);

/// {"error": 2, "steps": 5}: of a solution with five steps the third is the first wrong one; -1
/// where none is. correct: that index. format: an index of a step, or -1. verdict: 1 where it says
/// rightly whether there is a wrong step. distance: |index - error| / steps where both name a step.
/// Score::answer: the index.
Score judge_error_index(const Prompt& prompt, const Response& response);

/// The reference states tests (code_tests.hpp). correct: all of them pass, run in the sandbox.
/// format: a complete fenced block, or a finished response without any fence. A third component,
/// passed: the share of tests that pass. Undecided: no test failed, and of one nothing is known,
/// since the sandbox failed, the kernel ended a process for want of memory, or the machine starved
/// it of processors; no program can choose that. Score::reason names the first test that failed, or
/// the checks in which the program compared objects of its own. Score::clock_ended: a wall clock or
/// processor time ended a run. An undecided response has correct = 0. Score::answer: the code.
Score judge_code(const Prompt& prompt, const Response& response);

}  // namespace rollcall::reward
