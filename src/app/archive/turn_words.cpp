// The archive holds one text of the prompt for a group. Where an environment begins a conversation
// with words of its own, or an opening adds some, each rollout may be shown another one, which its
// tokens alone hold.
#include "app/archive/turn_words.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "core/run_config.hpp"
#include "run/folder/run_folder.hpp"
#include "run/messages/actions.hpp"
#include "text/chat/prompt_format.hpp"

#include <algorithm>
#include <string_view>

namespace rollcall::app::archive {
namespace {

namespace fs = std::filesystem;

/// The run folder that `source` is or lies in: an archive file is in RUN/archive, a shard deeper.
/// Empty if there is none.
fs::path folder_of(const fs::path& source) {
  constexpr int kDeepest = 3;
  fs::path folder = fs::absolute(source).lexically_normal();
  for (int up = 0; up <= kDeepest && folder.has_relative_path(); ++up) {
    if (fs::exists(folder / "config.toml")) return folder;
    folder = folder.parent_path();
  }
  return {};
}

/// Whether something may have taken the place of the prompt's stored text.
bool may_differ(const Rollout& rollout) { return !rollout.facts.empty() || rollout.opening != 0; }

bool is_prompt(const Rollout& rollout, std::size_t turn) {
  return turn == 0 && rollout.turns.front().role == Role::prompt;
}

}  // namespace

const std::string& TurnWords::stored(const io::ShardPrompt& prompt) {
  return prompt.shown.empty() ? prompt.text : prompt.shown;
}

const text::Tokenizer* TurnWords::tokenizer() {
  if (is_read_) return tokenizer_.get();
  is_read_ = true;
  const fs::path run = folder_of(source_);
  if (run.empty()) {
    why_not_ = "there is no config.toml around it that names the tokenizer";
    return nullptr;
  }
  try {
    const RunConfig config = load_run_config(run / "config.toml", run::kept_settings(run));
    tokenizer_ = text::PromptFormat(config.text, run::text_folder(run.string())).tokenizer();
  } catch (const Error& error) {  // everything else can still be shown
    why_not_ = error.what();
  }
  return tokenizer_.get();
}

std::optional<std::string> TurnWords::decoded(const Turn& turn) {
  if (turn.tokens.empty()) return std::string();
  if (tokenizer() == nullptr) return std::nullopt;
  const std::string plain = tokenizer_->decode(turn.tokens);
  if (is_spelt_by(plain, turn.tokens)) return plain;
  return tokenizer_->decode(turn.tokens, text::Tokenizer::Special::keep);
}

/// Whether the tokens are those of the text, perhaps with the tokens around a sequence.
bool TurnWords::is_spelt_by(const std::string& text, const std::vector<std::int32_t>& tokens) {
  return tokens == tokenizer_->encode_sequence(text) || tokens == tokenizer_->encode(text);
}

std::optional<std::string> TurnWords::shown(const io::ShardPrompt& prompt, const Rollout& rollout) {
  if (rollout.turns.empty()) return std::nullopt;
  if (!may_differ(rollout) || !is_prompt(rollout, 0)) return stored(prompt);
  const Turn& turn = rollout.turns.front();
  const bool is_stored = tokenizer() != nullptr && is_spelt_by(stored(prompt), turn.tokens);
  return is_stored ? stored(prompt) : decoded(turn);
}

std::vector<std::optional<std::string>> TurnWords::of(const io::ShardPrompt& prompt,
                                                      const Rollout& rollout) {
  std::vector<std::optional<std::string>> texts(rollout.turns.size());
  for (std::size_t t = 0; t < texts.size(); ++t)
    if (rollout.turns[t].role != Role::policy)
      texts[t] = is_prompt(rollout, t) ? shown(prompt, rollout) : decoded(rollout.turns[t]);
  const auto actions = run::actions_of(rollout);
  std::string_view rest = rollout.text;
  for (const run::ActionTurns& action : actions) {
    const bool is_last = &action == &actions.back();
    const std::string_view said = is_last ? rest : rest.substr(0, rest.find(run::kNextAction));
    rest.remove_prefix(std::min(rest.size(), said.size() + 1));
    const bool has_turn = action.first < action.last && action.last <= texts.size();
    if (has_turn && rollout.turns[action.last - 1].role == Role::policy)
      texts[action.last - 1] = said;
  }
  return texts;
}

void TurnWords::tell() const {
  if (!why_not_.empty())
    log_warning(
        "what environments said, and prompts that words of theirs or of an opening replace, cannot "
        "be decoded from the tokens of {}: {}",
        source_.string(), why_not_);
}

}  // namespace rollcall::app::archive
