// What was said in each turn of a stored rollout. Texts of the policy are stored; what the policy
// was shown in place of its prompt, and what an environment said, are decoded from their tokens.
#pragma once

#include "core/rollout.hpp"
#include "io/archive.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::app::archive {

class TurnWords {
 public:
  /// `source`: a run folder, or one file of a run. The tokenizer of the run is read when a rollout
  /// first needs it: that of the folder, or of the run folder that the file lies in.
  explicit TurnWords(std::filesystem::path source) : source_(std::move(source)) {}

  /// What a group's prompt would be shown as, if nothing took its place.
  static const std::string& stored(const io::ShardPrompt& prompt);
  /// The prompt as the rollout was shown it, with special tokens spelt out. Nothing where no turn
  /// began, or where the words of an environment or an opening cannot be decoded.
  std::optional<std::string> shown(const io::ShardPrompt& prompt, const Rollout& rollout);
  /// A text for each turn, with special tokens of prompts and environments spelt out. Nothing where
  /// tokens cannot be decoded, and for a turn of the policy that does not end its action: the text
  /// of the last one has the whole action (run/messages/actions.hpp).
  std::vector<std::optional<std::string>> of(const io::ShardPrompt& prompt, const Rollout& rollout);
  /// Warns if words are missing that could not be decoded.
  void tell() const;

 private:
  const text::Tokenizer* tokenizer();
  std::optional<std::string> decoded(const Turn& turn);
  bool is_spelt_by(const std::string& text, const std::vector<std::int32_t>& tokens);

  std::filesystem::path source_;
  bool is_read_ = false;
  std::shared_ptr<const text::Tokenizer> tokenizer_{};
  std::string why_not_{};  ///< why there is no tokenizer
};

}  // namespace rollcall::app::archive
