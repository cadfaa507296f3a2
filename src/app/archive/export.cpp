// rollcall archive export: writes rollouts as JSON lines, for tools that cannot read HDF5.
#include "app/archive/choice.hpp"
#include "app/archive/conversation_text.hpp"
#include "app/archive/output.hpp"
#include "app/archive/turn_words.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/process/stop_signals.hpp"
#include "base/text/json.hpp"
#include "io/schema.hpp"
#include "text/answer/accepted_answers.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace rollcall::app::archive {
namespace {

using nlohmann::ordered_json;

struct Flags {
  Choice choice;
  std::string out;
  bool tokens = false;
};

constexpr const char* kRoles[] = {"prompt", "policy", "environment"};

/// For each token of the turn, the ids over which the softmax of its log-prob goes; null for all
/// ids.
ordered_json lists_of(const Turn& turn) {
  auto lists = ordered_json::array();
  for (std::size_t t = 0; t < turn.tokens.size(); ++t) {
    const auto kept = turn.kept.of(t);
    lists.push_back(kept.empty()
                        ? ordered_json()
                        : ordered_json(std::vector<std::int32_t>(kept.begin(), kept.end())));
  }
  return lists;
}

void add_tokens(ordered_json& line, const Turn& turn) {
  line["tokens"] = turn.tokens;
  if (turn.role == Role::policy)
    line["logprob"] = turn.columns.logprob, line["entropy"] = turn.columns.entropy,
    line["policy_version"] = turn.policy_version;
  if (!turn.kept_mass.empty()) line["kept_mass"] = turn.kept_mass;
  if (!turn.kept.empty()) line["kept"] = lists_of(turn);
}

/// A text, or null where there is none.
ordered_json text_or_null(const std::optional<std::string>& text) {
  return text ? ordered_json(*text) : ordered_json();
}

/// With what was said, what environments made of it, and with their tokens if `tokens`.
ordered_json turns_of(const io::ShardPrompt& prompt, const Rollout& rollout, bool tokens,
                      TurnWords& words) {
  const auto texts = words.of(prompt, rollout);
  auto turns = ordered_json::array();
  for (std::size_t t = 0; t < rollout.turns.size(); ++t) {
    ordered_json line{{"role", kRoles[std::size_t(rollout.turns[t].role)]},
                      {"text", text_or_null(texts[t])}};
    if (!rollout.facts.empty()) add_facts(line, rollout.facts.at(t));
    if (tokens) add_tokens(line, rollout.turns[t]);
    turns.push_back(std::move(line));
  }
  return turns;
}

/// The reference answer: a list if the row of the file has one, otherwise a text.
ordered_json reference_of(const std::string& stored) {
  const auto accepted = text::accepted_answers(stored);
  return accepted.empty() ? ordered_json(text::only_answer(stored)) : ordered_json(accepted);
}

/// The prompt's row in its file; null if the prompt does not come from a file.
ordered_json extra_of(const io::ShardPrompt& prompt) {
  const ordered_json extra = ordered_json::parse(prompt.extra, nullptr, false);
  return extra.is_discarded() ? ordered_json() : extra;
}

ordered_json line_of(const io::ArchivedGroup& g, std::size_t i,
                     const std::vector<std::string>& component_names, bool tokens,
                     TurnWords& words) {
  const Rollout& rollout = g.group.rollouts[i];
  const Score& score = g.scores[i];
  ordered_json line{{"purpose", io::text_of(g.purpose)},
                    {"step", g.step},
                    {"prompt_id", g.group.id.prompt.value},
                    {"draw", g.group.id.draw},
                    {"sample", rollout.sample},
                    {"level", g.group.level},
                    {"bin", g.group.bin},
                    {"temperature", g.temperature},
                    {"prompt", g.prompt.text},
                    {"reference", reference_of(g.prompt.answer)},
                    {"shown", text_or_null(words.shown(g.prompt, rollout))},
                    {"extra", extra_of(g.prompt)},
                    {"completion", rollout.text},
                    {"finish", name_of(rollout.finish)},
                    {"reward", score.reward},
                    {"correct", score.correct},
                    {"extracted", score.answer},
                    {"undecided", score.undecided},
                    {"clock_ended", score.clock_ended},
                    {"reason", score.reason}};
  if (!g.training.empty()) {  // null if the group was not trained on
    line["trained"] = g.training[i].trained, line["weight"] = g.training[i].weight,
    line["advantage"] = g.training[i].advantage;
    if (g.training[i].left) line["left"] = true;
  }
  add_origin(line, g.group, rollout);
  for (std::size_t k = 0; k < component_names.size(); ++k)
    line["components"][component_names[k]] = score.components.at(k);
  if (tokens || !rollout.facts.empty()) line["turns"] = turns_of(g.prompt, rollout, tokens, words);
  return line;
}

/// Writes lines as text, and counts those in which bytes were replaced: a byte-level tokenizer may
/// cut a character in two, but JSON text must be UTF-8.
class Utf8Lines {
 public:
  std::string text_of(const ordered_json& line) {
    try {
      return line.dump() + "\n";
    } catch (const ordered_json::type_error&) {
      ++replaced_;
      return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    }
  }
  void tell() const {
    if (replaced_ > 0)
      log_warning(
          "{} of the lines have U+FFFD in the place of bytes that are no UTF-8 text, where an answer ends within a character or has none; --tokens writes "
          "tokens, which are whole",
          replaced_);
  }

 private:
  std::uint64_t replaced_ = 0;
};

ExitCode export_lines(const Flags& flags) {
  const bool to_file = !flags.out.empty();
  end_on_stop_signals(
      to_file ? flags.out + " is as it was before; what was written is beside it, as .partial"
              : "what is printed is not complete");
  Output out(flags.out, "{\"purpose\":");
  Utf8Lines texts;
  TurnWords words(flags.choice.source);
  std::atomic<std::uint64_t> lines = 0;
  std::optional<LongPhase> phase;  // no progress is shown where the lines themselves are printed
  if (to_file)
    phase.emplace("exporting to " + flags.out,
                  [&] { return fmt::format("{} rollouts", lines.load()); });
  bool is_read = true;  // by somebody, up to its end
  each_chosen(flags.choice, [&](const io::ArchivedGroup& group, const auto& component_names) {
    lines += group.group.rollouts.size();
    for (std::size_t i = 0; is_read && i < group.group.rollouts.size(); ++i)
      is_read = out.write(texts.text_of(line_of(group, i, component_names, flags.tokens, words)));
    return is_read;
  });
  out.finish();
  if (is_read) texts.tell(), words.tell();
  return ExitCode::done;
}

}  // namespace

void add_export(Command command) {
  auto flags = std::make_shared<Flags>();
  auto verb =
      command.command("export", "JSON lines, one rollout each, to standard output or a file");
  add_source(verb, flags->choice);
  verb.option("--out", flags->out, "file to write; an earlier export of that name is replaced");
  add_purpose(verb, flags->choice);
  add_scores(verb, flags->choice);
  add_step(verb, flags->choice);
  add_prompt(verb, flags->choice);
  verb.flag(
      "--tokens", flags->tokens,
      "with token ids, log-probs, entropies, policy versions and what the draws kept, by turn");
  verb.runs([flags] { return export_lines(*flags); });
}

}  // namespace rollcall::app::archive
