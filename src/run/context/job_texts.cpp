// Turns prompts and examples into tokens, and checks their lengths.
#include "run/context/job_texts.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "run/context/more_positions.hpp"
#include "run/context/question_forms.hpp"
#include "run/context/thought_dropout.hpp"
#include "run/context/unread_keys.hpp"
#include "task/answer_source.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace rollcall::run {
namespace {

/// Fills the tokens of all prompts. Chat templates are rendered and tokenized once for the whole
/// run, and not in every step.
void fill_prompt_tokens(RunContext& context) {
  for (const Split split : {Split::train, Split::validation, Split::heldout}) {
    const auto& prompts = context.prompts.of(split);
    auto& tokens = context.prompt_tokens[std::size_t(split)];
    tokens.resize(prompts.size() * (split == Split::train ? context.forms.size() : 1));
    context.workers->run(std::int64_t(tokens.size()), [&](std::int64_t i, int) {
      const text::AnswerForm& form = *context.forms[std::size_t(i) / prompts.size()];
      tokens[std::size_t(i)] = context.format->prompt_tokens(
          question_in(form, prompts[std::size_t(i) % prompts.size()]), form.opening);
    });
  }
}

/// Fills the examples that supervised steps learn from. Examples for which the model has no room
/// are left out and never cut.
void fill_examples(RunContext& context, const task::ExampleSet& set) {
  if (context.config.sft.steps == 0) return;
  const bool own = context.config.sft.file.empty();
  const std::size_t conversations = set.conversations.size(),
                    prompts = context.prompts.train.size(),
                    count = own ? prompts * context.forms.size() : set.size();
  if (count == 0) return;  // another check reports why no prompt or example is left
  context.examples.resize(count);
  ThoughtDropout thoughts(context.config);
  UnreadKeys unread;
  const auto make = [&](std::size_t i) {
    if (own) {
      const std::string opening = context.forms[i / prompts]->opening;
      const Prompt prompt = asked(context, context.prompts.train[i % prompts], i / prompts);
      return context.format->supervised(
          prompt, thoughts.answer(i, opening + prompt.solution).substr(opening.size()), opening);
    }
    if (i < conversations) {
      unread.look(*context.format, set.conversations[i], set.lines[i]);
      return context.format->supervised(thoughts.conversation(i, set.conversations[i]));
    }
    return context.format->supervised(set.answers[i - conversations].first,
                                      thoughts.answer(i, set.answers[i - conversations].second));
  };
  context.workers->run(std::int64_t(count), [&](std::int64_t at, int) {
    const auto i = std::size_t(at);
    try {
      context.examples[i] = make(i);
    } catch (const InputError& e) {
      if (own) throw;
      throw InputError(fmt::format("{}:{}: {}", context.config.sft.file, set.lines[i], e.what()));
    }
  });
  thoughts.check();
  unread.tell(context.config.sft.file);
  for (const auto& [key, line] : set.unused)
    log_warning("{}:{}: nothing is learnt from the key \"{}\" of a line", context.config.sft.file,
                line, key);
  const std::int64_t positions = context.models.policy.max_position_embeddings;
  std::int64_t shortest = context.examples.empty() ? 0 : INT64_MAX;
  for (const auto& example : context.examples)
    shortest = std::min(shortest, std::int64_t(example.tokens.size()));
  const auto left_out = std::erase_if(context.examples, [&](const text::Supervised& e) {
    return std::int64_t(e.tokens.size()) > positions;
  });
  require<ConfigError>(
      !context.examples.empty(),
      fmt::format(
          "all {} examples of the supervised steps are longer than the model's {} positions", count,
          positions),
      "there is nothing to learn from",
      fmt::format("{} for the shortest, use shorter examples, or set sft.steps=0",
                  more_positions(context.config, shortest)));
  if (left_out > 0)
    log_warning(
        "{} of {} examples of the supervised steps are left out: they are longer than the model's {} positions",
        left_out, count, positions);
}

/// Names a prompt in messages: FILE:LINE where it was read from a file, else its beginning.
std::string named(const RunContext& context, const Prompt& prompt) {
  return task::reads_rows(context.config.task)
             ? task::places_of(context.config.task, {prompt.text}).front()
             : fmt::format("the prompt \"{}\"", excerpt(prompt.text));
}

/// Rows of some layouts, such as riddles and instructions, have no worked solution.
void check_worked(const RunContext& context) {
  const auto& prompts = context.prompts.train;
  const bool learns = context.config.sft.steps > 0 && context.config.sft.file.empty();
  if (!learns || prompts.empty() || !prompts.front().solution.empty()) return;
  throw ConfigError(
      error_message(fmt::format("sft.steps is {}, and {} has no worked solution",
                                context.config.sft.steps, named(context, prompts.front())),
                    "supervised steps would learn to say nothing",
                    "set sft.steps=0, or name a file of examples in sft.file"));
}

/// Removes prompts that leave no room for an answer in at least one of the forms in which they may
/// be asked.
void drop_overlong(RunContext& context) {
  const std::int64_t room =
      context.models.policy.max_position_embeddings - context.config.sampling.max_new_tokens;
  std::size_t dropped = 0;
  std::string example;
  for (auto* prompts :
       {&context.prompts.train, &context.prompts.validation, &context.prompts.heldout}) {
    const auto& tokens =
        context
            .prompt_tokens[std::size_t(prompts == &context.prompts.train        ? Split::train
                                       : prompts == &context.prompts.validation ? Split::validation
                                                                                : Split::heldout)];
    std::vector<bool> fits(prompts->size(), true);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (std::int64_t(tokens[i].size()) > room) fits[i % prompts->size()] = false;
    for (std::size_t i = 0; i < fits.size() && example.empty(); ++i)
      if (!fits[i]) example = named(context, (*prompts)[i]);
    dropped += std::size_t(std::count(fits.begin(), fits.end(), false));
    std::size_t i = 0, next = 0;
    std::erase_if(*prompts, [&](const Prompt&) { return !fits[i++]; });
    for (Prompt& prompt : *prompts) prompt.id = {next++};
  }
  if (dropped == 0) return;
  log_info("task.drop_overlong: {} prompts of more than {} tokens are left out, {} for example",
           dropped, room, example);
  require<ConfigError>(!context.prompts.train.empty(),
                       "task.drop_overlong leaves no training prompt",
                       "there is nothing to learn from",
                       "lower sampling.max_new_tokens, or use a model with more positions");
  fill_prompt_tokens(context);
}

/// Checks the lengths at the start, because a prompt of the last step that does not fit would end
/// the run after hours.
void check_lengths(const RunContext& context) {
  const std::int64_t positions = context.models.policy.max_position_embeddings,
                     room = positions - context.config.sampling.max_new_tokens;
  std::int64_t too_long = 0, all = 0, longest = 0;
  const Prompt* example = nullptr;
  for (const Split split : {Split::train, Split::validation, Split::heldout}) {
    const auto& prompts = context.prompts.of(split);
    const auto& tokens_of = context.prompt_tokens[std::size_t(split)];
    for (std::size_t i = 0; i < tokens_of.size(); ++i) {
      const auto tokens = std::int64_t(tokens_of[i].size());
      ++all, too_long += tokens > room ? 1 : 0;
      if (tokens > longest) longest = tokens, example = &prompts[i % prompts.size()];
    }
  }
  if (too_long == 0) return;
  throw ConfigError(error_message(
      fmt::format(
          "{} of {} prompts are too long: {} has {} tokens, and with {} new ones exceeds the model's {} positions",
          too_long, all, named(context, *example), longest, context.config.sampling.max_new_tokens,
          positions),
      "the model cannot read past its last position",
      fmt::format(
          "{}, lower sampling.max_new_tokens, or leave long prompts out: task.drop_overlong = true",
          more_positions(context.config, longest + context.config.sampling.max_new_tokens))));
}

}  // namespace

void fill_texts(RunContext& context, const task::ExampleSet& examples) {
  check_worked(context);
  fill_prompt_tokens(context);
  if (context.config.task.drop_overlong) drop_overlong(context);
  check_lengths(context);
  fill_examples(context, examples);
}

}  // namespace rollcall::run
