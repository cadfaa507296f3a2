// Draws forms at their addresses and asks prompts in them.
#include "run/context/question_forms.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "run/context/run_texts.hpp"
#include "run/messages/purposes.hpp"
#include "task/solutions.hpp"
#include "text/chat/prompt_conversation.hpp"

#include <fmt/format.h>

namespace rollcall::run {

std::size_t form_of(const RunTexts& texts, Purpose purpose, const GroupId& group) {
  if (split_of(purpose) != Split::train || texts.forms.size() == 1) return 0;
  const RandomStream stream(texts.forms_seed, RandomPurpose::forms, group.step, group.prompt.value,
                            group.draw);
  return std::size_t(stream.below(0, texts.forms.size()));
}

Prompt question_in(const text::AnswerForm& form, const Prompt& prompt) {
  Prompt question;
  question.text = text::asked_in(form, prompt.text);
  if (!prompt.conversation.empty())
    question.conversation = text::asked_last(
        prompt.conversation, [&](std::string_view said) { return text::asked_in(form, said); });
  return question;
}

Prompt asked(const RunTexts& texts, const Prompt& prompt, std::size_t form) {
  Prompt in_form = prompt;
  Prompt question = question_in(*texts.forms.at(form), prompt);
  in_form.text = std::move(question.text), in_form.conversation = std::move(question.conversation);
  in_form.solution =
      text::worked_in(*texts.forms.at(form), task::solutions(prompt).front(), texts.answer_marker);
  return in_form;
}

const std::vector<std::int32_t>& prompt_tokens(const RunTexts& texts, const Prompt& prompt,
                                               std::size_t form) {
  return texts.prompt_tokens[std::size_t(prompt.split)].at(
      form * texts.prompts.of(prompt.split).size() + prompt.id.value);
}

void check_forms(const RunConfig& config, const RunTexts& texts, const reward::Grader& grader) {
  if (config.task.forms.empty() || texts.prompts.train.empty() ||
      texts.prompts.train.front().solution.empty())
    return;
  require<ConfigError>(!reward::runs_code(reward::find_verifier(grader.name())),
                       "task.forms is set for a task whose answers are programs",
                       "forms are about short answers", "leave task.forms out");
  for (std::size_t form = 0; form < texts.forms.size(); ++form) {
    const Prompt prompt = asked(texts, texts.prompts.train.front(), form);
    const Score score = grader.score(prompt, prompt.solution, true);
    require<ConfigError>(
        score.correct || score.undecided,
        fmt::format("the worked answer \"{}\" in the form {} of task.forms is judged wrong",
                    excerpt(prompt.solution), texts.forms[form]->name),
        "no answer in that form could be right",
        "leave the form out, or choose another task or verifier");
  }
}

}  // namespace rollcall::run
