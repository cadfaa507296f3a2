// What the files beside tokenizer.json say of its tokens.
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
  bool follows_special = false;  ///< no file says `normalized`, which then is the opposite of
                                 ///< special, however that comes to be
  bool operator==(const StatedToken&) const = default;
};

struct StatedTokens {
  std::map<std::int64_t, StatedToken> listed;  ///< added_tokens_decoder, else added_tokens.json;
                                               ///< the ids only order them
  bool has_decoder = false;  ///< `listed` is added_tokens_decoder, which speaks for the tokens of
                             ///< tokenizer.json too
  /// bos_token and kin, then the model's own names, in the order in which they are added
  std::vector<std::pair<std::string, StatedToken>> named;
  std::vector<StatedToken> extra;  ///< extra_special_tokens, or additional_special_tokens
  bool class_gives_end = false;    ///< eos_token is the tokenizer class's: no file names it
  bool split_special = false;      ///< split_special_tokens: special tokens are not looked for in a
                                   ///< text
  bool plain_special = false;      ///< special tokens are added again, without flags
  std::optional<bool> prefix_space;        ///< add_prefix_space
  std::optional<bool> class_prefix_space;  ///< what it is where no file says it; set: the ByteLevel
                                           ///< pre-tokenizers follow it
  std::optional<std::int64_t> rows;        ///< embeddings of the model, as far as they are known
};

}  // namespace rollcall::text::json_tokenizer
