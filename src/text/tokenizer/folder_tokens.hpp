// The tokens that a model folder states in files other than tokenizer.json: tokenizer_config.json,
// special_tokens_map.json and added_tokens.json.
#pragma once

#include "text/json_tokenizer/stated_tokens.hpp"
#include "text/tokenizer/folder_file.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace rollcall::text {

/// Reads the files in the order of transformers' PreTrainedTokenizerBase.from_pretrained (5.x). If
/// tokenizer_config.json, which is `config`, has added_tokens_decoder, the two older files are not
/// read. A special token that is an object need not have "__type". Tokens that no file names are
/// those of the tokenizer's class (text/tokenizer/tokenizer_class.hpp). Throws InputError naming
/// the file and the fault.
json_tokenizer::StatedTokens read_stated_tokens(const std::filesystem::path& folder,
                                                const FolderFile& config);

/// The texts of bos_token, eos_token and the other special tokens, by the names that templates use.
std::map<std::string, std::string> template_tokens(const json_tokenizer::StatedTokens& stated);

}  // namespace rollcall::text
