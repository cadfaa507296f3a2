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
  bool follows_special = false;  ///< no file says `normalized`, which then is the opposite of special, however that comes to be
  bool operator==(const StatedToken&) const = default;
};

struct StatedTokens {
  std::map<std::int64_t, StatedToken> listed;              ///< added_tokens_decoder, else added_tokens.json; the ids only order them
  bool has_decoder = false;                                ///< `listed` is added_tokens_decoder, which speaks for the tokens of tokenizer.json too
  std::vector<std::pair<std::string, StatedToken>> named;  ///< bos_token and kin, then the model's own names, in the order in which they are added
  std::vector<StatedToken> extra;                          ///< extra_special_tokens, or additional_special_tokens
  bool split_special = false;                              ///< split_special_tokens: special tokens are not looked for in a text
  std::optional<bool> prefix_space;                        ///< add_prefix_space
  bool takes_prefix_space = false;                         ///< tokenizer_class is one that gives add_prefix_space to its pre-tokenizer
  std::optional<std::int64_t> rows;                        ///< embeddings of the model, as far as they are known
};

}  // namespace rollcall::text::json_tokenizer
