// rollcall archive show: prints the groups of a prompt for people.
#include "app/archive/choice.hpp"
#include "app/archive/conversation_text.hpp"
#include "app/archive/output.hpp"
#include "app/archive/turn_words.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/error.hpp"
#include "base/errors/visible.hpp"
#include "core/policy_sums.hpp"
#include "io/row_name.hpp"
#include "io/schema.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace rollcall::app::archive {
namespace {

/// Puts every line of a text after a bar, so that the policy's text cannot be mistaken for the
/// program's.
std::string barred(const std::string& text) {
  constexpr const char* kBar = "      | ";
  return kBar + visible_lines(text, kBar) + "\n";
}

/// What the update of the step did with the rollout.
std::string text_of(const io::RolloutTraining& training) {
  if (training.left) return ", left its group";
  if (!training.trained) return ", left out";
  std::string text =
      std::isnan(training.advantage) ? "" : fmt::format(", advantage {:.3g}", training.advantage);
  return training.weight == 1.0 ? text : text + fmt::format(", weight {:.3g}", training.weight);
}

/// How the rollout ended, where it was not by itself.
const char* end_of(const Rollout& rollout) {
  switch (rollout.finish) {
    case FinishReason::stop: return "";
    case FinishReason::length: return " (cut at the limit)";
    case FinishReason::turns: return " (at the limit of turns)";
    case FinishReason::lost: return " (lost by its environment)";
  }
  return "";
}

constexpr const char* kShown = "  as the policy was shown it\n";

/// What was said in a rollout, and what it was asked where that is not its prompt's stored text.
std::string words_of(const io::ShardPrompt& prompt, const Rollout& rollout, TurnWords& words) {
  if (rollout.facts.empty()) {
    const auto shown = words.shown(prompt, rollout);
    const bool differs = shown && *shown != TurnWords::stored(prompt);
    return (differs ? kShown + barred(*shown) : "") + barred(rollout.text);
  }
  auto texts = words.of(prompt, rollout);
  const bool is_stored = !texts.empty() && texts.front() == TurnWords::stored(prompt);
  if (is_stored) texts.front().reset();  // it is printed once for the group
  return turns_text(rollout, texts);
}

std::string text_of(const io::ShardPrompt& prompt, const Rollout& rollout, const Score& score,
                    const std::vector<std::string>& component_names, const std::string& training,
                    TurnWords& words) {
  const PolicySums sums = policy_sums(rollout);
  std::string parts;
  for (std::size_t k = 0; k < component_names.size(); ++k)
    parts +=
        visible_format("{}{} {:g}", k == 0 ? "" : ", ", component_names[k], score.components.at(k));
  std::string text = fmt::format(
      "  sample {}: reward {:g} ({}), {}, {} tokens{}, log-prob {:.3f}, mean entropy {:.3f}, "
      "{}{}\n",
      rollout.sample, score.reward, parts,
      score.undecided ? "undecided"
      : score.correct ? "correct"
                      : "wrong",
      sums.tokens, end_of(rollout), sums.logprob,
      sums.sampled == 0 ? 0.0 : sums.entropy / double(sums.sampled),
      score.answer.empty() ? "no answer found" : visible_format("extracted \"{}\"", score.answer),
      training);
  if (!score.reason.empty())
    text += visible_format("  {}{}\n", score.correct ? "" : "because ", score.reason);
  if (rollout.parent >= 0)
    text += fmt::format("  forked from sample {} after {} tokens\n", rollout.parent,
                        rollout.fork_token);
  if (rollout.opening != 0) text += fmt::format("  opening {}\n", rollout.opening);
  return text + words_of(prompt, rollout, words);
}

std::string text_of(const io::ArchivedGroup& g, const std::vector<std::string>& component_names,
                    TurnWords& words) {
  const auto& group = g.group;
  const io::RowName row = io::row_name(g.prompt.extra);
  std::string text = fmt::format("{} step {}, prompt {}{}, draw {}: level {}, {} rollouts",
                                 io::text_of(g.purpose), g.step, group.id.prompt.value,
                                 row.name.empty() ? "" : visible_format(" ({})", brief(row.text())),
                                 group.id.draw, group.level, group.rollouts.size());
  if (group.planned > 0) text += fmt::format(" ({} planned)", group.planned);
  if (group.bin >= 0) text += fmt::format(", bin {}", group.bin);
  text += fmt::format(", temperature {:g}\n  prompt\n{}  reference\n{}", g.temperature,
                      barred(g.prompt.text), barred(text::shown_reference(g.prompt.answer)));
  const bool was_shown =
      std::any_of(group.rollouts.begin(), group.rollouts.end(), [&](const Rollout& rollout) {
        return words.shown(g.prompt, rollout) == TurnWords::stored(g.prompt);
      });
  if (was_shown && !g.prompt.shown.empty()) text += kShown + barred(g.prompt.shown);
  text += origin_text(group);
  if (!g.prompt.extra.empty()) text += visible_format("  row of the file  {}\n", g.prompt.extra);
  for (std::size_t i = 0; i < group.rollouts.size(); ++i)
    text += text_of(g.prompt, group.rollouts[i], g.scores[i], component_names,
                    g.training.empty() ? "" : text_of(g.training[i]), words);
  return text + "\n";
}

ExitCode show(const Choice& choice) {
  require<ConfigError>(
      choice.prompt || !choice.row.empty(), "neither --prompt nor --row is given",
      "a whole run is too much to read",
      "name a prompt by --prompt N, its position in its split, or by --row ID, its row of "
      "task.file");
  Output out;
  TurnWords words(choice.source);
  each_chosen(choice, [&](const io::ArchivedGroup& group, const auto& component_names) {
    return out.write(text_of(group, component_names, words));
  });
  out.finish();
  words.tell();
  return ExitCode::done;
}

}  // namespace

void add_show(Command command) {
  auto choice = std::make_shared<Choice>();
  auto verb = command.command(
      "show",
      "the groups of a prompt or row: prompt, completions, rewards by component, extracted "
      "answers");
  add_source(verb, *choice);
  add_prompt(verb, *choice);
  add_step(verb, *choice);
  add_purpose(verb, *choice);
  verb.runs([choice] { return show(*choice); });
}

}  // namespace rollcall::app::archive
