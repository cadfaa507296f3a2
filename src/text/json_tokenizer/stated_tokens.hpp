// The statements of a folder's other files about the tokens of tokenizer.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::text::json_tokenizer {

/// A token as a file states it. The flags are those of AddedToken in Hugging Face's tokenizers.
struct StatedToken {
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
  /// Whether no file says `normalized`. It is then the opposite of `special`, even if `special` is
  /// set later.
  bool follows_special = false;
  bool operator==(const StatedToken&) const = default;
};

struct StatedTokens {
  /// added_tokens_decoder, else added_tokens.json. The ids only say in which order they are added.
  std::map<std::int64_t, StatedToken> listed;
  /// Whether `listed` is added_tokens_decoder, which also changes the tokens of tokenizer.json.
  bool has_decoder = false;
  /// bos_token, eos_token and so on, then names that only this model has, in the order in which
  /// they are added.
  std::vector<std::pair<std::string, StatedToken>> named;
  std::vector<StatedToken> extra;    ///< extra_special_tokens, or additional_special_tokens
  bool class_gives_end = false;      ///< whether eos_token comes from the class and not from a file
  bool split_special = false;        ///< split_special_tokens: text is not searched for them
  bool plain_special = false;        ///< special tokens are added again, without flags
  std::optional<bool> prefix_space;  ///< add_prefix_space
  /// add_prefix_space of the tokenizer's class, for folders whose files do not set it. If the class
  /// has one, the ByteLevel pre-tokenizers follow the setting.
  std::optional<bool> class_prefix_space;
  std::optional<std::int64_t> rows;  ///< how many embeddings the model has, if that is known
};

}  // namespace rollcall::text::json_tokenizer
