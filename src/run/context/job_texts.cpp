// Turns prompts and examples into tokens, and checks their lengths.
#include "run/context/job_texts.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/text/joined.hpp"
#include "run/context/examples/expert_examples.hpp"
#include "run/context/examples/thought_dropout.hpp"
#include "run/context/examples/unread_keys.hpp"
#include "run/context/more_positions.hpp"
#include "run/context/question_forms.hpp"
#include "run/context/run_texts.hpp"
#include "sizing/lengths.hpp"
#include "task/answer_source.hpp"
#include "task/rows/file_task.hpp"
#include "task/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace rollcall::run {
namespace {

/// Fills the tokens of all prompts. Chat templates are rendered and tokenized once for the whole
/// run, and not in every step.
void fill_prompt_tokens(RunTexts& texts, WorkerPool& pool) {
  for (const Split split : {Split::train, Split::validation, Split::heldout}) {
    const auto& prompts = texts.prompts.of(split);
    auto& tokens = texts.prompt_tokens[std::size_t(split)];
    tokens.resize(prompts.size() * (split == Split::train ? texts.forms.size() : 1));
    pool.run(std::int64_t(tokens.size()), [&](std::int64_t i, int) {
      const text::AnswerForm& form = *texts.forms[std::size_t(i) / prompts.size()];
      tokens[std::size_t(i)] = texts.format->prompt_tokens(
          question_in(form, prompts[std::size_t(i) % prompts.size()]), form.opening);
    });
  }
}

/// Fills the examples that supervised steps learn from. Examples for which the model has no room
/// are left out and never cut, except for the last turns of an expert's conversation.
void fill_examples(RunTexts& texts, const RunConfig& config, WorkerPool& pool,
                   std::int64_t positions, const task::ExampleSet& set) {
  if (config.sft.steps == 0) return;
  const bool own = config.sft.file.empty();
  const std::size_t conversations = set.conversations.size(), prompts = texts.prompts.train.size(),
                    count = own ? prompts * texts.forms.size() : set.size();
  if (count == 0) return;  // another check reports why no prompt or example is left
  texts.examples.resize(count);
  ThoughtDropout thoughts(config);
  UnreadKeys unread;
  const ExpertExamples experts(config, texts, positions);
  const auto make = [&](std::size_t i) {
    if (own && experts) return experts.of(texts.prompts.train[i % prompts]);
    if (own) {
      const std::string opening = texts.forms[i / prompts]->opening;
      const Prompt prompt = asked(texts, texts.prompts.train[i % prompts], i / prompts);
      return texts.format->supervised(
          prompt, thoughts.answer(i, opening + prompt.solution).substr(opening.size()), opening);
    }
    if (i < conversations) {
      unread.look(*texts.format, set.conversations[i], set.lines[i]);
      return texts.format->supervised(thoughts.conversation(i, set.conversations[i]));
    }
    return texts.format->supervised(set.answers[i - conversations].first,
                                    thoughts.answer(i, set.answers[i - conversations].second));
  };
  pool.run(std::int64_t(count), [&](std::int64_t at, int) {
    const auto i = std::size_t(at);
    try {
      texts.examples[i] = make(i);
    } catch (const InputError& e) {
      if (own) throw;
      throw InputError(fmt::format("{}:{}: {}", config.sft.file, set.lines[i], e.what()));
    }
  });
  thoughts.check();
  unread.tell(config.sft.file);
  for (const auto& [key, line] : set.unused)
    log_warning("{}:{}: nothing is learnt from the key \"{}\" of a line", config.sft.file, line,
                key);
  std::int64_t shortest = texts.examples.empty() ? 0 : INT64_MAX;
  for (const auto& example : texts.examples)
    shortest = std::min(shortest, std::int64_t(example.tokens.size()));
  const auto left_out = std::erase_if(texts.examples, [&](const text::Supervised& e) {
    return std::int64_t(e.tokens.size()) > positions;
  });
  require<ConfigError>(
      !texts.examples.empty(),
      fmt::format(
          "all {} examples of the supervised steps are longer than the model's {} positions", count,
          positions),
      "there is nothing to learn from",
      fmt::format("{} for the shortest, use shorter examples, or set sft.steps=0",
                  more_positions(config, shortest)));
  if (left_out > 0)
    log_warning(
        "{} of {} examples of the supervised steps are left out: they are longer than the model's {} positions",
        left_out, count, positions);
}

/// Rows of some layouts, such as riddles and instructions, have no worked solution.
void check_worked(const RunTexts& texts, const RunConfig& config) {
  const auto& prompts = texts.prompts.train;
  const bool learns = config.sft.steps > 0 && config.sft.file.empty();
  if (!learns || prompts.empty() || !prompts.front().solution.empty()) return;
  throw ConfigError(
      error_message(fmt::format("sft.steps is {}, and {} has no worked solution", config.sft.steps,
                                prompt_name(config.task, prompts.front())),
                    "supervised steps would learn to say nothing",
                    "set sft.steps=0, or name a file of examples in sft.file"));
}

/// Removes prompts that leave no room for an answer in at least one of the forms in which they may
/// be asked.
void drop_overlong(RunTexts& texts, const RunConfig& config, WorkerPool& pool,
                   std::int64_t positions) {
  const std::int64_t room = positions - sizing::least_answer_tokens(config);
  std::size_t dropped = 0;
  std::string example;
  for (auto* prompts : {&texts.prompts.train, &texts.prompts.validation, &texts.prompts.heldout}) {
    const auto& tokens =
        texts.prompt_tokens[std::size_t(prompts == &texts.prompts.train        ? Split::train
                                        : prompts == &texts.prompts.validation ? Split::validation
                                                                               : Split::heldout)];
    std::vector<bool> fits(prompts->size(), true);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (std::int64_t(tokens[i].size()) > room) fits[i % prompts->size()] = false;
    for (std::size_t i = 0; i < fits.size() && example.empty(); ++i)
      if (!fits[i]) example = prompt_name(config.task, (*prompts)[i]);
    dropped += std::size_t(std::count(fits.begin(), fits.end(), false));
    std::size_t i = 0, next = 0;
    std::erase_if(*prompts, [&](const Prompt&) { return !fits[i++]; });
    for (Prompt& prompt : *prompts) prompt.id = {next++};
  }
  if (dropped == 0) return;
  log_info("task.drop_overlong: {} prompts of more than {} tokens are left out, {} for example",
           dropped, room, example);
  require<ConfigError>(!texts.prompts.train.empty(), "task.drop_overlong leaves no training prompt",
                       "there is nothing to learn from",
                       fmt::format("lower {}, or use a model with more positions",
                                   sizing::answer_limit_key(config)));
  fill_prompt_tokens(texts, pool);
}

/// Prompts that leave no room for an answer.
struct TooLong {
  std::int64_t count = 0, all = 0, longest = 0;  ///< `longest` in tokens
  std::vector<const Prompt*> prompts{};          ///< some of them, the longest first
};

/// Adds the prompts of a split, in one form or several, that have more than `room` tokens.
void find_too_long(const std::vector<Prompt>& prompts,
                   const std::vector<std::vector<std::int32_t>>& tokens_of, std::int64_t room,
                   TooLong& found) {
  constexpr std::size_t kNamed = 6;
  std::vector<std::int64_t> lengths(prompts.size());  // in the longest of its forms
  for (std::size_t i = 0; i < tokens_of.size(); ++i) {
    std::int64_t& length = lengths[i % prompts.size()];
    length = std::max(length, std::int64_t(tokens_of[i].size()));
  }
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    ++found.all;
    if (lengths[i] <= room) continue;
    ++found.count;
    const bool longer = lengths[i] > found.longest;
    found.longest = std::max(found.longest, lengths[i]);
    found.prompts.insert(longer ? found.prompts.begin() : found.prompts.end(), &prompts[i]);
    if (found.prompts.size() > kNamed) found.prompts.pop_back();
  }
}

/// "; FILE:LINE, FILE:LINE are too long as well, and 3 others": the prompts other than the longest.
std::string others_of(const TooLong& found, const TaskSection& section) {
  if (found.prompts.size() < 2 || !task::reads_rows(section)) return {};
  std::vector<std::string> texts;
  for (std::size_t i = 1; i < found.prompts.size(); ++i) texts.push_back(found.prompts[i]->text);
  const auto more = found.count - std::int64_t(found.prompts.size());
  return fmt::format("; {} {} too long as well{}", joined(task::places_of(section, texts), ", "),
                     texts.size() == 1 ? "is" : "are",
                     more > 0 ? fmt::format(", and {} others", more) : "");
}

/// Throws ConfigError if prompts are too long.
void refuse_too_long(const TooLong& found, const RunConfig& config, std::int64_t positions) {
  if (found.count == 0) return;
  const std::int64_t answer = sizing::least_answer_tokens(config);
  throw ConfigError(error_message(
      fmt::format(
          "{} of {} prompts {} too long: {} has {} tokens, and with {} new ones exceeds the model's {} positions{}",
          found.count, found.all, found.count == 1 ? "is" : "are",
          prompt_name(config.task, *found.prompts.front()), found.longest, answer, positions,
          others_of(found, config.task)),
      "the model cannot read past its last position",
      fmt::format("{}, lower {}, or leave long prompts out: task.drop_overlong = true",
                  more_positions(config, found.longest + answer),
                  sizing::answer_limit_key(config))));
}

/// Checks the lengths at the start, because otherwise a prompt of the last step that does not fit
/// would end the run after hours.
void check_lengths(const RunTexts& texts, const RunConfig& config, std::int64_t positions) {
  const std::int64_t room = positions - sizing::least_answer_tokens(config);
  TooLong found;
  for (const Split split : {Split::train, Split::validation, Split::heldout})
    find_too_long(texts.prompts.of(split), texts.prompt_tokens[std::size_t(split)], room, found);
  refuse_too_long(found, config, positions);
}

}  // namespace

std::string prompt_name(const TaskSection& section, const Prompt& prompt) {
  return task::reads_rows(section) ? task::places_of(section, {prompt.text}).front()
                                   : fmt::format("the prompt \"{}\"", excerpt(prompt.text));
}

void check_good_rows(const RunTexts& texts, const RunConfig& config, WorkerPool& pool,
                     std::int64_t positions) {
  if (!task::reads_rows(config.task) || config.task.drop_overlong) return;
  const std::vector<Prompt> prompts = task::good_rows(config.task);
  std::vector<std::vector<std::int32_t>> tokens(prompts.size() * texts.forms.size());
  pool.run(std::int64_t(tokens.size()), [&](std::int64_t i, int) {
    const text::AnswerForm& form = *texts.forms[std::size_t(i) / prompts.size()];
    tokens[std::size_t(i)] = texts.format->prompt_tokens(
        question_in(form, prompts[std::size_t(i) % prompts.size()]), form.opening);
  });
  TooLong found;
  find_too_long(prompts, tokens, positions - sizing::least_answer_tokens(config), found);
  refuse_too_long(found, config, positions);
}

void fill_texts(RunTexts& texts, const RunConfig& config, WorkerPool& pool, std::int64_t positions,
                const task::ExampleSet& examples) {
  check_worked(texts, config);
  fill_prompt_tokens(texts, pool);
  if (config.task.drop_overlong) drop_overlong(texts, config, pool, positions);
  check_lengths(texts, config, positions);
  fill_examples(texts, config, pool, positions, examples);
}

}  // namespace rollcall::run
