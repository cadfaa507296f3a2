// The functions named in the rows of verifiers.cpp, and their arguments.
#pragma once

#include "core/rollout.hpp"
#include "text/answer/extract.hpp"

#include <optional>
#include <string_view>

namespace rollcall::reward {

struct Response {
  std::string_view text;                  ///< the policy's text, without the end token
  bool finished = false;                  ///< false if the token limit cut the text
  std::optional<text::Extracted> answer;  ///< the answer in the text, if the extraction found one
  bool whole = true;  ///< whether `answer` is the whole response, which must then be spelt as the
                      ///< task asks
};

// All return the components {correct, format} first, in [0, 1], and some return more after them. An
// answer that the token limit may have cut does not count: a response that did not finish is
// correct only if its answer visibly ended before the cut (Extracted::complete). White space around
// an answer never matters. Each comment begins with the form of the reference.

/// correct: the answer is the reference. format: it is complete and has only digits. Score::answer:
/// the digits.
Score judge_exact_match(const Prompt& prompt, const Response& response);

/// correct: the answer is the reference integer, or quotient "r" remainder for a division, in
/// canonical spelling (no leading zero, no plus, no "-0"), apart from thousands commas and U+2212.
/// An answer found within a longer response is first brought into that spelling (1,050. becomes
/// 1050). format: it is complete and spelt that way. Score::answer: the canonical text.
Score judge_integer_answer(const Prompt& prompt, const Response& response);

/// The reference is "3 5 7 25=40". correct: the answer is an expression (expression.hpp) with the
/// exact value 40 that uses each given number at most as often as it is given, and no other number.
/// format: it is complete and an expression. Score::answer: its value, if it uses the numbers
/// correctly.
Score judge_countdown_expression(const Prompt& prompt, const Response& response);

/// correct: the answer equals the reference after normalisation (text/answer/answer_text.hpp:
/// 1,050.00 is 1050), apart from marks around a number and remarks after it. format is graded, so
/// that an untrained policy's rollouts differ: the mean of the fraction of printable text, whether
/// the response finished (0 or 1) and whether it has a non-empty answer (0 or 1). Score::answer:
/// the normalised answer.
Score judge_marked_answer(const Prompt& prompt, const Response& response);

/// correct: the answer and the reference are equal as mathematics (math/decide.hpp). undecided:
/// this could not be decided, and `reason` says why. format: the response is complete and an answer
/// was found. Score::answer: the answer as it was written.
Score judge_math_answer(const Prompt& prompt, const Response& response);
// The verifiers below say why an answer is not correct (Score::reason). If the reference is a JSON
// object, its form is shown. A reference that cannot be used throws InputError.

/// {"tags": [["think", null], ["answer", "42"]]}: sections <think>...</think> and so on, where null
/// means that the content is free but not empty. format: these sections in this order, not nested,
/// with nothing but white space around. structure: fraction of the tags that are opened once,
/// closed once after that, and not empty. content: fraction of the given contents that are in their
/// tags; if no content is given, the same as structure. correct: everything is right.
/// Score::answer: the content of the last tag.
Score judge_tag_structure(const Prompt& prompt, const Response& response);

/// {"schema": {...}, "value": ...}, value optional. The components follow RL-Struct
/// (arXiv:2512.00319). format: the answer is JSON and nothing else. validity: it contains JSON.
/// structure: fraction of the schema's demands that are met (json_schema.hpp). correctness:
/// fraction of the value's leaves that are in their places. length: 1 up to twice the size of the
/// value in compact form; beyond that, twice that size divided by the length. Without a value, both
/// are 1. correct: the answer is nothing but JSON, meets every demand and equals the value, if
/// there is one. JSON with a repeated member does not count as JSON.
Score judge_json(const Prompt& prompt, const Response& response);

/// {"calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]}. The answer is a JSON list of such
/// calls, one such object, or objects between <tool_call> and </tool_call>; `arguments` may be called
/// `parameters`. format: it is nothing else. name: size of the intersection of the two multisets of
/// names divided by that of their union. Each requested call is then matched with the best
/// remaining one of its name. parameters: mean overlap of the parameters' names. values: fraction
/// of the parameters with the right value. match: S / S_max of ToolRL (arXiv:2504.13958), S = name
/// + sum of overlaps + equal values, S_max = 1 + sum over calls of (1 + parameters). correct: the
/// same calls, in any order.
Score judge_call_answer(const Prompt& prompt, const Response& response);

/// {"instruction_id_list": [...], "kwargs": [...]} as in IFEval's input file
/// (instruction_checks.hpp). followed: fraction of the instructions that are followed. correct: all
/// of them are (IFEval's strict prompt-level accuracy). format: the answer is not empty.
/// Score::answer is empty, because whole texts cannot be votes.
Score judge_instructions(const Prompt& prompt, const Response& response);

/// {"answer": "B", "options": ["11", "12", "13"]}. format: one option is named, by its letter ("B",
/// "(b)", "B.", "The answer is B") or its text. Score::answer: the letter.
Score judge_multiple_choice(const Prompt& prompt, const Response& response);

/// "apple fig pear". format: the answer has these words, each equally often. placed: fraction of
/// the positions that have the right word, relative to the longer of the two lists.
Score judge_word_order(const Prompt& prompt, const Response& response);

/// {"family": ..., "nodes": n, "edges": ["AB", ...], "answer": ...}; nodes are letters from A on.
/// Families and their answers: connected_component (the nodes of one component; partial: their
/// overlap |A & B| / |A | B|), shortest_path (from and to; any shortest path is right; partial:
/// shortest length / length of the path), cycle (any, or "none"; partial: fraction of steps that
/// are edges), topological_order (null; any valid order; partial: fraction of edges that lead
/// forwards), degree, triangles and max_flow (the number). format: nodes or a number.
Score judge_graph(const Prompt& prompt, const Response& response);

/// "KNK": A and C are knights, B is a knave. The answer is the same, or "A is a knight, B and C are
/// knaves". partial: fraction of people named correctly, if each is named once (format).
Score judge_knights_knaves(const Prompt& prompt, const Response& response);

/// {"value": "2500", "unit": ["m", "metre"]}. format: a decimal, a fraction or a number with
/// thousands commas, with one of the unit's spellings or without a unit. correct: exactly the
/// value. closeness: 1 - relative error, not below 0. Score::answer: the value as a fraction in
/// lowest terms.
Score judge_quantity(const Prompt& prompt, const Response& response);

/// {"next": ["It rains.", "We stay."], "masked": false}: the sentences of a text after some point
/// (RLPT's prefix reward, arXiv:2509.19249, in words). correct: the answer is a prefix of them, at
/// least half as long as the first; the last word's punctuation may be missing. format: not empty.
/// closeness: 1 - edit distance in words to the nearest such prefix, divided by the longer length
/// of the two. masked: the question also showed the text after the missing sentence. This component
/// describes the question, not the quality of the answer.
Score judge_continuation(const Prompt& prompt, const Response& response);

/// {"error": 2, "steps": 5}: in a solution of five steps the third is the first wrong one; error is
/// -1 if no step is wrong. correct: that index. format: the index of a step, or -1. verdict: 1 if
/// the answer is right about whether there is a wrong step. distance: |index - error| / steps if
/// both name a step. Score::answer: the index.
Score judge_error_index(const Prompt& prompt, const Response& response);

/// No response is correct: this is for conversations that the environment decides, and it judges
/// those that end before it has. format: always 0, so that there is nothing to gain from remaining
/// undecided. Score::answer is empty.
Score judge_episode(const Prompt& prompt, const Response& response);

/// The reference states tests (code_tests.hpp). correct: all of them pass when run in the sandbox.
/// format: a complete fenced block, or a finished response without any fence. passed, a third
/// component: the fraction of tests that pass. Undecided, with correct = 0: no test failed, and the
/// outcome of one is unknown because the sandbox failed, the kernel ended a process for lack of
/// memory, or the machine was short of processors. No program can bring that about by choice.
/// Score::reason names the first test that failed, or the checks in which the program compared its
/// own objects. Score::clock_ended: a wall-clock or processor-time limit ended a run.
/// Score::answer: the code.
Score judge_code(const Prompt& prompt, const Response& response);

}  // namespace rollcall::reward
