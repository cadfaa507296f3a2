// The setting add_prefix_space, which other files or the tokenizer's class may set, and what
// tokenizer.json does.
#pragma once

#include "text/json_tokenizer/document.hpp"
#include "text/json_tokenizer/stated_tokens.hpp"

namespace rollcall::text::json_tokenizer {

/// If the setting differs from what tokenizer.json does and the folder's tokenizer class follows
/// the setting, changes the ByteLevel pre-tokenizers of `document` and returns true. Otherwise, if
/// the differing setting comes from a file, throws InputError, because the file that counts depends
/// on the version of transformers and on the class.
bool apply_prefix_space(Document& document, const StatedTokens& stated);

}  // namespace rollcall::text::json_tokenizer
