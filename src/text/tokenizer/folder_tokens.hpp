// The tokens that a model folder states beside tokenizer.json: tokenizer_config.json,
// special_tokens_map.json, added_tokens.json.
#pragma once

#include "text/json_tokenizer/stated_tokens.hpp"
#include "text/tokenizer/folder_file.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace rollcall::text {

/// Read in the order of transformers' PreTrainedTokenizerBase.from_pretrained (5.x): where
/// tokenizer_config.json has added_tokens_decoder, the two older files are not looked at. `config`
/// is the folder's tokenizer_config.json. A special token that is an object need not say "__type".
/// What
/// no file names is given by the class (text/tokenizer/tokenizer_class.hpp).
/// Throws InputError naming the file and the fault.
json_tokenizer::StatedTokens read_stated_tokens(const std::filesystem::path& folder,
                                                const FolderFile& config);

/// bos_token and kin by name, as templates read them.
std::map<std::string, std::string> template_tokens(const json_tokenizer::StatedTokens& stated);

}  // namespace rollcall::text
