// add_prefix_space of the files beside tokenizer.json, or of its class, against what tokenizer.json
// does.
#pragma once

#include "text/json_tokenizer/document.hpp"
#include "text/json_tokenizer/stated_tokens.hpp"

namespace rollcall::text::json_tokenizer {

/// Where the two differ and the folder's tokenizer class is one that takes the setting, the
/// ByteLevel pre-tokenizers of `document` get it; true: they were changed. Any other difference to
/// what a file says is refused: transformers itself follows the one file or the other, by version
/// and class.
bool apply_prefix_space(Document& document, const StatedTokens& stated);

}  // namespace rollcall::text::json_tokenizer
