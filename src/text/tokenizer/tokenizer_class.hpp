// The class of transformers that a model folder's tokenizer belongs to, which says what the files
// of the folder leave unsaid.
#pragma once

#include "text/tokenizer/folder_file.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace rollcall::text {

inline constexpr std::array<const char*, 7> kStandardTokens{
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

/// What the constructor of a class gives where no file does.
struct TokenizerClass {
  const char* names;      ///< apart by spaces, without "Fast"
  const char* of_types;   ///< of config.json (model_type) where no file names a class
  const char* for_types;  ///< among these, those for which a class that a file names does not count
  /// empty: none; null: the class leaves it to tokenizer.json
  std::array<const char*, kStandardTokens.size()> tokens;
  std::optional<bool> prefix_space = std::nullopt;  ///< of its ByteLevel pre-tokenizer, where it
                                                    ///< gives it one
  bool keeps_no_flags = false;  ///< its special tokens lose lstrip, rstrip and single_word
  /// special tokens of its own, by name
  std::vector<std::pair<const char*, const char*>> own = {};
};

/// In the order of transformers' AutoTokenizer (5.24): tokenizer_class of tokenizer_config.json,
/// which is `config`, or of config.json, against the class that model_type implies. Null:
/// tokenizer.json is taken as it is. Throws InputError for a config.json that is no JSON object.
const TokenizerClass* tokenizer_class(const std::filesystem::path& folder,
                                      const FolderFile& config);

}  // namespace rollcall::text
