// The texts of a second pass, in which the policy is asked about its own answer. Sources:
// Critique-GRPO (refinement with feedback), arXiv:2506.03106; InT (intervention on the first wrong
// step), arXiv:2601.14209; ExIt (histories), arXiv:2509.04575.
#pragma once

#include "core/run_config.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// Asks for a better answer (second_pass.refinement). `question` is the prompt of the task;
/// `feedback` replaces {feedback}. Special tokens that the texts spell out are removed.
std::string refinement_text(const SecondPassSection& settings, const RunTexts& texts,
                            const Prompt& question, const std::string& response,
                            const std::string& feedback);
/// Asks for what is wrong with an answer (second_pass.error).
std::string error_text(const SecondPassSection& settings, const RunTexts& texts,
                       const Prompt& question, const std::string& response);

/// The text of {feedback} about an answer. It depends on second_pass.feedback, which is verdict,
/// reference or reason. The verdict is used if the verifier gives no reason. A critique is another
/// answer of the policy.
std::string feedback_on(const SecondPassSection& settings, const Prompt& question,
                        const Exhibit& answer);

/// The beginning of an answer whose wrong line was replaced: the tokens up to that line as they were
/// sampled, then those of the new line. `error` names the lines: the first of its lines that occurs
/// exactly once in the answer, and the line after it. White space around lines does not count.
/// Nothing where no line of the answer is quoted, where nothing new follows the quotation, or where
/// a token reaches across the beginning of the line.
std::optional<std::vector<std::int32_t>> mended_beginning(const text::PromptFormat& format,
                                                          const Exhibit& answer,
                                                          const std::string& error);

/// Throws ConfigError where the texts that the run asks have no room in the model even around the
/// shortest question, without an answer.
void check_second_pass_room(const RunConfig& config, const RunTexts& texts, std::int64_t positions);

/// Tokens of the longest prompt of a second pass or of the buffer. It has a question, the words
/// around it, an answer, and feedback of the length of an answer or a reference. The result is at
/// most what the model has room for, and longer prompts are left out. It is 0 if the run makes no
/// such prompts.
std::int64_t longest_second_pass(const RunConfig& config, const RunTexts& texts,
                                 std::int64_t positions);

}  // namespace rollcall::run
