// The texts of a run and their tokens: what the policy is asked, in which forms, and the examples
// that supervised steps learn from.
#pragma once

#include "core/run_config.hpp"
#include "task/task.hpp"
#include "text/answer/answer_form.hpp"
#include "text/chat/prompt_format.hpp"
#include "text/chat/turn_texts.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

/// Every rank reads them itself, and nothing changes them after the start.
struct RunTexts {
  std::shared_ptr<const text::PromptFormat> format;
  std::shared_ptr<const text::Tokenizer> tokenizer;  ///< that of `format`
  std::shared_ptr<const text::TurnTexts> turns{};    ///< null in a run without an environment
  task::PromptSet prompts;
  /// The forms that task.forms names; plain where it names none.
  std::vector<const text::AnswerForm*> forms{&text::find_answer_form("plain")};
  std::uint64_t forms_seed = 0;  ///< run.seed, from which the form of each group is drawn
  std::string answer_marker = TaskSection().answer_marker;  ///< stands before the answer of a
                                                            ///< worked solution
  HintSection hints{};  ///< the help that further draws of a prompt give (derived/hints.hpp)
  /// [training prompts] tiers of help that each has, with room for them; empty in runs whose
  /// scheduler asks for none.
  std::vector<std::uint8_t> tiers{};
  std::int64_t longest_with_help = 0;  ///< tokens of the longest prompt with help; 0: there is none
  /// [split][form and prompt][tokens] as the policy sees a prompt. Training prompts are there in
  /// all forms.
  std::array<std::vector<std::vector<std::int32_t>>, 3> prompt_tokens;
  std::vector<text::Supervised> examples;  ///< what supervised steps draw from; empty in a run
                                           ///< without such steps
  std::string examples_hash;               ///< of sft.file; empty where no example is read from one
};

/// Digest of the held-out prompts in their order. Evaluations of two starts can be compared only if
/// it is the same, because they are compared prompt by prompt.
std::string heldout_digest(const std::vector<Prompt>& heldout);
/// Digest of everything that turns the texts of the task into tokens: prompt format and forms.
/// Empty where a built-in tokenizer reads the texts as they are.
std::string text_fingerprint(const RunTexts& texts);
/// The success that Prompt::prior expects of every prompt; empty when one prompt has none.
std::vector<float> predictions(const std::vector<Prompt>& prompts);
std::string excerpt(const std::string& text);  ///< the beginning of the first line of a text, for
                                               ///< messages

}  // namespace rollcall::run
