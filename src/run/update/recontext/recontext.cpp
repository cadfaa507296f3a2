// Makes the questions of each column, the batch that carries them, and the column of the answers.
#include "run/update/recontext/recontext.hpp"

#include "base/errors/error.hpp"
#include "core/derived_prompt.hpp"
#include "environment/chosen.hpp"
#include "method/columns.hpp"
#include "run/context/more_positions.hpp"
#include "run/context/prompt_book.hpp"
#include "run/messages/actions.hpp"
#include "run/step/placed_groups.hpp"
#include "sizing/lengths.hpp"
#include "task/task.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/chat/turn_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace rollcall::run {
namespace {

namespace column = method::column;

void extend(std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

void extend(std::vector<std::int32_t>& tokens, const Rollout& rollout, std::size_t first,
            std::size_t last) {
  for (std::size_t t = first; t < last; ++t) extend(tokens, rollout.turns[t].tokens);
}

/// Calls `ask(g, i)` for each rollout of the batch, in order.
template <class Ask>
void each_rollout(const StepBatch& batch, const Ask& ask) {
  for (std::size_t g = 0; g < batch.groups.size(); ++g)
    for (std::size_t i = 0; i < batch.groups[g].rollouts.size(); ++i) ask(g, i);
}

/// The texts between two turns of the policy, in the same form as in generation.
text::TurnTexts turn_texts(const RunConfig& config, const RunTexts& texts) {
  return {*texts.format, environment::traits_of_run(config, *texts.format).role,
          environment::tool_schemas(config)};
}

/// The tokens that replace the environment's text after `turn`.
std::vector<std::int32_t> masked_after(const text::TurnTexts& texts, const Turn& turn) {
  const text::Said said{texts.role(), kMasked};
  return texts.between(turn.tokens, std::span(&said, 1));
}

bool ends_with(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& end) {
  return end.size() <= tokens.size() && std::equal(end.rbegin(), end.rend(), tokens.rbegin());
}

/// Adds the policy's tokens of turns [first, last), which follow each other, to the targets.
void aim(Recontext& question, const Rollout& rollout, std::size_t first, std::size_t last) {
  for (std::size_t t = first; t < last; ++t) {
    const Turn& turn = rollout.turns[t];
    if (turn.role != Role::policy) continue;
    for (std::size_t token = 0; token < turn.tokens.size(); ++token)
      question.kept.put(question.target.size() + token, turn.kept.of(token));
    extend(question.target, turn.tokens);
  }
}

std::size_t policy_tokens_before(const Rollout& rollout, std::size_t turn) {
  std::size_t count = 0;
  for (std::size_t t = 0; t < turn; ++t)
    count += rollout.turns[t].role == Role::policy ? rollout.turns[t].tokens.size() : 0;
  return count;
}

std::vector<Recontext> gold_questions(const RunConfig& config, const RunTexts& texts,
                                      const StepBatch& batch) {
  const auto opener = texts.tokenizer->encode(config.probes.opener);
  const PromptBook book(texts, {});
  std::vector<Recontext> questions;
  each_rollout(batch, [&](std::size_t g, std::size_t i) {
    const Group& group = batch.groups[g];
    const Rollout& rollout = group.rollouts[i];
    const auto reference = reference_tokens(texts, group.id.prompt);
    // A conversation may begin with a text of its environment.
    if (!task::has_environment(config)) expect_prompt(book, group, rollout);
    const auto ask = [&](std::size_t turns, std::size_t place) {
      Recontext& question = questions.emplace_back();
      question.group = g, question.rollout = i, question.place = place;
      extend(question.context, rollout, 0, turns);
      extend(question.context, opener);
      question.target = reference;
    };
    ask(1, 0);
    const auto actions = actions_of(rollout);
    for (std::size_t k = 0; k < actions.size(); ++k)
      ask(k + 1 < actions.size() ? actions[k + 1].first : rollout.turns.size(), k + 1);
  });
  return questions;
}

std::vector<Recontext> masked_questions(const RunConfig& config, const RunTexts& texts,
                                        const StepBatch& batch) {
  std::optional<text::TurnTexts> between;
  std::vector<Recontext> questions;
  each_rollout(batch, [&](std::size_t g, std::size_t i) {
    const Rollout& rollout = batch.groups[g].rollouts[i];
    const auto actions = actions_of(rollout);
    for (std::size_t k = 1; k < actions.size(); ++k) {
      const std::size_t told = actions[k - 1].last, first = actions[k].first;
      if (!between) between.emplace(turn_texts(config, texts));
      const auto masked = masked_after(*between, rollout.turns[told - 1]);
      std::vector<std::int32_t> heard;
      extend(heard, rollout, told, first);
      Recontext question{.group = g, .rollout = i, .place = policy_tokens_before(rollout, first)};
      aim(question, rollout, first, actions[k].last);
      if (heard.empty() || heard == masked || question.target.empty()) continue;
      extend(question.context, rollout, 0, told);
      extend(question.context, masked);
      questions.push_back(std::move(question));
    }
  });
  return questions;
}

std::vector<Recontext> unhinted_questions(const RunConfig& config, const RunTexts& texts,
                                          const StepBatch& batch) {
  const PromptBook book(texts, {});
  std::vector<Recontext> questions;
  each_rollout(batch, [&](std::size_t g, std::size_t i) {
    const Group& group = batch.groups[g];
    const Rollout& rollout = group.rollouts[i];
    const Derivation with = asked_for(group, rollout);
    if (with.tier == 0 || is_expert(rollout)) return;
    Derivation without = with;
    without.tier = 0;
    const GroupId& sampled = sampled_in(group, rollout);
    const std::vector<std::int32_t>& shown = rollout.turns.front().tokens;
    // The text that a command gives in place of the question is not the help, and stays.
    const bool is_own =
        !config.environment.command.empty() && shown != book.tokens(Purpose::train, sampled, with);
    std::vector<std::int32_t> context =
        is_own ? shown : book.tokens(Purpose::train, sampled, without);
    const std::vector<std::int32_t> help = book.given(Purpose::train, sampled, with);
    bool differs = context != shown;
    for (const ActionTurns& action : actions_of(rollout)) {
      // A beginning that was given is the help, unless its words belong to the question. If it
      // trains, it is a separate turn, and otherwise it is the end of the environment's text.
      std::vector<std::int32_t> heard;
      bool trains = false;
      std::size_t spoken = action.first;
      for (; spoken < action.last &&
             (was_given(rollout, spoken) || rollout.turns[spoken].role != Role::policy);
           ++spoken) {
        if (was_given(rollout, spoken)) trains = true;
        else extend(heard, rollout, spoken, spoken + 1);
      }
      const bool is_told = !trains && !help.empty() && action.first == 1 && ends_with(heard, help);
      if (is_told) heard.resize(heard.size() - help.size());
      differs = differs || trains || is_told;
      extend(context, heard);
      Recontext question{.group = g, .rollout = i};
      question.place = policy_tokens_before(rollout, spoken);
      aim(question, rollout, spoken, action.last);
      question.context = context;
      if (differs && !question.target.empty()) questions.push_back(std::move(question));
      std::size_t next = action.last;
      while (next < rollout.turns.size() && rollout.turns[next].role != Role::policy) ++next;
      extend(context, rollout, spoken, next);
    }
  });
  return questions;
}

/// The log-probs that the policy tokens of a group had before the update, rollout by rollout.
std::vector<float> old_logprobs(const StepBatch& batch, std::size_t g) {
  const auto proximal = batch.columns.find(kProximalLogprob);
  if (proximal != batch.columns.end() && !proximal->second.at(g).empty())
    return proximal->second[g];
  std::vector<float> old;
  for (const Rollout& rollout : batch.groups[g].rollouts)
    for (const Turn& turn : rollout.turns)
      old.insert(old.end(), turn.columns.logprob.begin(), turn.columns.logprob.end());
  return old;
}

/// [rollouts] the place in a column of the group at which each rollout begins. Each rollout has
/// `count(rollout)` numbers.
template <class Count>
std::vector<std::size_t> begins(const Group& group, const Count& count) {
  std::vector<std::size_t> places;
  std::size_t place = 0;
  for (const Rollout& rollout : group.rollouts) {
    places.push_back(place);
    place += count(rollout);
  }
  return places;
}

void add_gold(StepBatch& batch, std::span<const Recontext> questions,
              std::span<const std::vector<float>> logprobs) {
  std::vector<std::vector<float>> after(batch.groups.size()), before(batch.groups.size());
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const auto& of = logprobs[q];
    const auto mean = float(std::accumulate(of.begin(), of.end(), 0.0) / double(of.size()));
    (questions[q].place == 0 ? before : after)[questions[q].group].push_back(mean);
  }
  batch.columns[column::gold_logprob] = std::move(after);
  batch.columns[column::gold_logprob_before] = std::move(before);
}

bool reads(const std::vector<std::string>& columns, const char* name) {
  return std::find(columns.begin(), columns.end(), name) != columns.end();
}

}  // namespace

std::vector<std::string> recontext_columns() {
  return {column::gold_logprob, column::masked_logprob, column::unhinted_logprob};
}

std::int64_t longest_reference(const RunConfig& config, const RunTexts& texts,
                               const std::string& where) {
  std::int64_t longest = 0;
  bool said = false;
  for (const Prompt& p : texts.prompts.train) {
    const std::string answer = text::first_accepted(p.answer);
    const auto tokens = std::int64_t(texts.tokenizer->encode(answer).size());
    require<ConfigError>(
        tokens > 0, fmt::format("prompt {} of the task has no reference answer", p.id.value),
        fmt::format("objective.recipe {} asks how likely it is {}", config.objective.recipe, where),
        "use another task or recipe");
    said = said || p.solution.find(answer) != std::string::npos;
    longest = std::max(longest, tokens);
  }
  require<ConfigError>(
      said,
      fmt::format("no worked solution of task.name {} holds its reference answer",
                  config.task.name),
      fmt::format(
          "the reference says what to check and is not an answer, so that objective.recipe {} cannot ask how likely it is",
          config.objective.recipe),
      "use a task with one right answer, or another recipe");
  return longest;
}

std::vector<std::int32_t> reference_tokens(const RunTexts& texts, PromptId prompt) {
  const auto& known = texts.prompts.train;
  require(prompt.value < known.size(),
          fmt::format("prompt {} is not a training prompt of the task", prompt.value),
          "its reference answer is not known",
          "set task and text as the run did whose archive is trained from");
  return texts.tokenizer->encode(text::first_accepted(known[prompt.value].answer));
}

void expect_prompt(const PromptBook& book, const Group& group, const Rollout& rollout) {
  if (rollout.placed || rollout.opening != 0 || is_expert(rollout)) return;
  require(rollout.turns.front().tokens == book.tokens(Purpose::train, group.id, group.from),
          fmt::format("prompt {} of step {} is not the task's prompt of that number",
                      group.id.prompt.value, group.id.step),
          "its rollouts would be held against another prompt's reference answer",
          "set task and text as the run did whose archive is trained from");
}

void check_recontext(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                     const method::Objective& objective) {
  const auto columns = objective.columns();
  std::int64_t more = 0;  // tokens that a question may have beyond the longest rollout
  if (reads(columns, column::gold_logprob) || reads(columns, column::gold_logprob_before))
    more = std::int64_t(texts.tokenizer->encode(config.probes.opener).size()) +
           longest_reference(config, texts, "behind each turn");
  if (reads(columns, column::masked_logprob) && task::has_environment(config)) {
    more = std::max(more, std::int64_t(masked_after(turn_texts(config, texts), Turn{}).size()));
  }
  if (more == 0) return;
  const std::int64_t prompt = longest_asked(config, texts, positions),
                     needed = prompt + sizing::answer_tokens(config, positions, prompt) + more;
  if (needed <= positions) return;
  const bool fills = task::has_environment(config) && config.environment.max_tokens == 0;
  throw ConfigError(error_message(
      fmt::format(
          "objective.recipe {} asks how likely tokens are behind a rollout, which may take {} positions, and the model has {}",
          config.objective.recipe, needed, positions),
      "the model cannot read past its last position",
      fills ? fmt::format("set environment.max_tokens to at most {}, so that conversations leave "
                          "room",
                          std::max<std::int64_t>(positions - prompt - more, 1))
            : fmt::format("{}, or lower {}", more_positions(config, needed),
                          sizing::answer_limit_key(config))));
}

StepBatch as_batch(std::span<const Recontext> questions, const StepBatch& batch) {
  StepBatch asked;
  for (const Recontext& question : questions) {
    const Group& group = batch.groups[question.group];
    const auto& prompt = group.rollouts[question.rollout].turns.front().tokens;
    const auto& context = question.context;
    const bool alike = prompt.size() <= context.size() &&
                       std::equal(prompt.begin(), prompt.end(), context.begin());
    const auto end = context.begin() + std::ptrdiff_t(alike ? prompt.size() : context.size());
    const std::size_t count = question.target.size();
    Rollout rollout;
    rollout.turns = {{Role::prompt, {context.begin(), end}},
                     {Role::environment, {end, context.end()}},
                     {.role = Role::policy,
                      .tokens = question.target,
                      .columns = {std::vector<float>(count), std::vector<float>(count)},
                      .policy_version = std::vector<std::uint64_t>(count),
                      .kept = question.kept}};
    asked.groups.push_back(
        {.id = group.id, .level = group.level, .rollouts = {std::move(rollout)}});
    asked.scores.push_back({Score{}});
  }
  return asked;
}

std::vector<Recontext> questions_of(const std::string& column, const RunConfig& config,
                                    const RunTexts& texts, const StepBatch& batch) {
  if (column == column::gold_logprob) return gold_questions(config, texts, batch);
  if (column == column::masked_logprob) return masked_questions(config, texts, batch);
  expect(column == column::unhinted_logprob, "questions are asked for columns of this file");
  return unhinted_questions(config, texts, batch);
}

void add_recontext_column(StepBatch& batch, const std::string& column,
                          std::span<const Recontext> questions,
                          std::span<const std::vector<float>> logprobs) {
  expect(questions.size() == logprobs.size(), "each question has an answer");
  if (column == column::gold_logprob) return add_gold(batch, questions, logprobs);
  std::vector<std::vector<float>> values;
  std::vector<std::vector<std::size_t>> begin;  // [groups][rollouts]
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    values.push_back(old_logprobs(batch, g));
    begin.push_back(
        begins(batch.groups[g], [](const Rollout& r) { return std::size_t(policy_tokens(r)); }));
  }
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const auto& [group, rollout, context, target, place, kept] = questions[q];
    std::copy(logprobs[q].begin(), logprobs[q].end(),
              values[group].begin() + std::ptrdiff_t(begin[group][rollout] + place));
  }
  batch.columns[column] = std::move(values);
}

}  // namespace rollcall::run
